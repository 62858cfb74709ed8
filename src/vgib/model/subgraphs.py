"""Chosen nodes as subgraphs that people read: score, share and, of molecules, the fragment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vgib.chem.blocks import blocks_of
from vgib.chem.mol import Mol
from vgib.data.capped import atom_features
from vgib.data.packed import PackedGraphs
from vgib.model.fragments import fragments_of
from vgib.model.results import Subgraph
from vgib.select import masks as select
from vgib.select.policy import Nodes, Selection

Array = npt.NDArray[Any]


def find_subgraphs(
    graphs: PackedGraphs,
    scores: Any,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    rule: str | None = None,
    mols: Sequence[Mol] | None = None,
) -> list[list[Subgraph]]:
    """For each graph its ranked subgraphs, by node scores from any method.

    Args:
        graphs: The graphs that were scored.
        scores: One number in [0, 1] for each node, packed like the graphs.
        n: How many at each size.
        keep_ratio: The share of the nodes to keep, or several; see
            :class:`vgib.select.policy.Selection`.
        rule: Which sets of nodes are allowed, a name of :data:`vgib.select.policy.RULES`.
        mols: The molecules themselves, where they were kept, so that no SMILES is read again.
    """
    is_molecule = atom_features(graphs) is not None
    selection = Selection.of(keep_ratio, rule, "scores", n).for_graphs(molecules=is_molecule)
    blocks = blocks_of(graphs, graphs.x, graphs.edge_attr) if is_molecule else None
    found = selection.by_scores(scores, graphs, blocks)
    return as_subgraphs(graphs, select.as_numpy(scores), found, blocks, mols)


def as_subgraphs(
    graphs: PackedGraphs,
    scores: Array,
    found: Sequence[Sequence[Nodes]],
    blocks: Array | None,
    mols: Sequence[Mol] | None = None,
) -> list[list[Subgraph]]:
    """Sets of nodes with their mean score and share and, with ``blocks``, with their fragments."""
    starts, values = graphs.node_ptr.tolist(), scores.astype(np.float64)
    written: Sequence[Sequence[str | None]]
    if blocks is None:
        written = [[None] * len(ranked) for ranked in found]
    else:
        written = fragments_of(graphs, found, blocks, mols)
    answer = []
    for number, (ranked, names) in enumerate(zip(found, written, strict=True)):
        own = values[starts[number] : starts[number + 1]]
        answer.append(
            [
                Subgraph(
                    nodes,
                    float(np.add.reduce(own[list(nodes)])) / len(nodes),
                    len(nodes) / len(own),
                    name,
                )
                for nodes, name in zip(ranked, names, strict=True)
            ]
        )
    return answer
