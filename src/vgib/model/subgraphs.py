"""Chosen nodes as subgraphs that people read: score, share and, of molecules, the fragment."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import clean_fragment, fragment
from vgib.chem.mol import Mol, as_mol
from vgib.data.capped import atom_features
from vgib.data.packed import PackedGraphs
from vgib.model.results import Subgraph
from vgib.select import masks as select
from vgib.select.blocktree import Array
from vgib.select.policy import Nodes, Selection

MARKS = re.compile(r"[@/\\]|\[\d")
"""What a SMILES with stereo centers, stereo bonds or isotopes has."""


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

    def subgraph(own: Array, nodes: Nodes, name: str | None) -> Subgraph:
        mean = float(np.add.reduce(own[list(nodes)])) / len(nodes)
        return Subgraph(nodes, mean, len(nodes) / len(own), name)

    return [
        [subgraph(values[low:high], *each) for each in zip(ranked, names, strict=True)]
        for (low, high), ranked, names in zip(pairwise(starts), found, written, strict=True)
    ]


def fragments_of(
    graphs: PackedGraphs,
    found: Sequence[Sequence[Nodes]],
    blocks: Array,
    mols: Sequence[Mol] | None = None,
) -> list[list[str]]:
    """The fragment of each subgraph, with ``*`` where bonds were cut; ``""`` if it is no molecule.

    The cut bonds of all molecules are found at once: to ask RDKit for them, molecule by molecule,
    would take as long as to write the SMILES.
    """
    assert graphs.ids is not None
    mols = mols or [as_mol(smiles) for smiles in graphs.ids]
    node_ptr, indptr, col = (a.numpy() for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    receiver = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    first = np.repeat(node_ptr[:-1], np.diff(indptr[node_ptr]))
    # Between blocks every bond is single and in no ring.
    firm = blocks[receiver] == blocks[first + col]
    starts = node_ptr.tolist()
    marked = [MARKS.search(smiles) is not None for smiles in graphs.ids]
    written: list[list[str]] = [[] for _ in found]
    for rank in range(max(map(len, found), default=0)):
        some = [number for number, ranked in enumerate(found) if len(ranked) > rank]
        chosen = np.zeros(node_ptr[-1], dtype=bool)
        chosen[[starts[g] + node for g in some for node in found[g][rank]]] = True
        cut = np.flatnonzero(chosen[receiver] & ~chosen[first + col])
        cuts = list(zip((receiver - first)[cut].tolist(), col[cut].tolist(), strict=True))
        bounds = np.searchsorted(receiver[cut], node_ptr)
        broken = np.diff(np.concatenate([[0], np.cumsum(firm[cut])])[bounds]).tolist()
        bounds = bounds.tolist()
        for g in some:
            mol, nodes = mols[g], found[g][rank]
            if broken[g]:
                written[g].append(fragment(mol, nodes, capped=False).smiles)
            else:
                own = cuts[bounds[g] : bounds[g + 1]]
                written[g].append(clean_fragment(mol, nodes, own, stereo=marked[g]))
    return written
