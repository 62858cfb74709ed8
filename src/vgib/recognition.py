"""Node scores to subgraphs that people can read: the last step, the same for every method."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from vgib import select
from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.chem.mol import Mol
from vgib.chem.vocabulary import VOCABULARIES
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, unknown_name

Rule = Literal["ring_intact", "connected", "largest_part", "nodes"]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Subgraph:
    """A recognised subgraph.

    Attributes:
        nodes: Node (atom) numbers within the graph, ascending.
        score: The mean of their scores.
        keep_ratio: Their share of the graph.
        smiles: For molecules, the fragment with ``*`` where bonds were cut.
    """

    nodes: tuple[int, ...]
    score: float
    keep_ratio: float
    smiles: str | None = None


def find_subgraphs(
    graphs: PackedGraphs,
    scores: Array,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    rule: Rule | None = None,
    mols: Sequence[Mol] | None = None,
) -> list[list[Subgraph]]:
    """For each graph its ranked subgraphs.

    Args:
        graphs: The graphs that were scored.
        scores: One number in [0, 1] for each node, packed like the graphs.
        n: How many at each size.
        keep_ratio: The share of the nodes to keep, or several; by default the size of the largest
            connected part that scores at least one half (the paper), whole rings counted by
            their mean where rings stay whole.
        rule: ``"ring_intact"`` (connected, no ring and no multiple bond cut: the default for
            molecules), ``"connected"`` (the default otherwise), ``"largest_part"`` (the paper's:
            the best-scored nodes, of these the largest connected part) or ``"nodes"`` (the
            best-scored nodes, connected or not). The last two give one subgraph a size.
        mols: The molecules themselves, where they were kept, so that no SMILES is read again.
    """
    if n < 1:
        raise InputError(f"n is {n}; expected at least one subgraph at each size")
    is_molecule = atom_features(graphs) is not None
    rule = rule or ("ring_intact" if is_molecule else "connected")
    if rule not in get_args(Rule):
        raise unknown_name("selection rule", rule, get_args(Rule))
    if rule == "ring_intact" and not is_molecule:
        raise InputError("only molecules have rings to keep whole; use rule='connected'")
    if rule in ("ring_intact", "connected"):
        blocks = blocks_of(graphs, graphs.edge_attr) if rule == "ring_intact" else None
        smooth = scores if blocks is None else select.block_means(scores, graphs, blocks)
        sizes = wanted_sizes(graphs, smooth, keep_ratio, connected=True)
        found = select.ranked(scores, graphs, sizes=sizes, blocks=blocks, n=n)
    else:
        sizes = wanted_sizes(graphs, scores, keep_ratio)
        masks = [select.size(scores, graphs.node_ptr, k) for k in sizes]
        if rule == "largest_part":
            masks = [select.largest_connected(mask, graphs, scores) for mask in masks]
        found = select.rationales(masks, scores, graphs.node_ptr)
    if not is_molecule or graphs.ids is None:
        return [[Subgraph(r.nodes, r.score, r.keep_ratio) for r in ranked] for ranked in found]
    return [
        [
            Subgraph(r.nodes, r.score, r.keep_ratio, fragment(mol, r.nodes, capped=False).smiles)
            for r in ranked
        ]
        for mol, ranked in zip(mols or graphs.ids, found, strict=True)
    ]


def wanted_sizes(
    graphs: PackedGraphs,
    scores: Array,
    keep_ratio: float | Sequence[float] | None,
    *,
    connected: bool = False,
) -> list[Array]:
    """How many nodes to keep of each graph, for each share; ``None``: as many as score one half.

    At least one, also of a graph without nodes, which is then taken whole. ``connected``: only the
    largest connected part of those that score one half.
    """
    if keep_ratio is not None:
        ratios = np.atleast_1d(np.asarray(keep_ratio, dtype=float)).tolist()
        if not ratios:
            raise InputError("no keep_ratio was given; leave it out for scores of one half")
        return [select.sizes_of_ratio(graphs.node_ptr, ratio) for ratio in ratios]
    kept = select.threshold(scores, graphs.node_ptr)
    if connected:
        kept = select.largest_connected(kept, graphs, scores)
    before = np.concatenate([[0], np.cumsum(kept)])
    return [np.maximum(1, np.diff(before[graphs.node_ptr.numpy()]))]


def atom_features(graphs: PackedGraphs) -> str | None:
    """The atom vocabulary that these graphs are written in; ``None`` for other graphs.

    Molecules are graphs with SMILES for names, bond types on their edges, and the columns of one of
    our vocabularies.
    """
    if graphs.ids is None or graphs.edge_attr is None:
        return None
    known = {words.cardinalities: name for name, words in VOCABULARIES.items()}
    return known.get(graphs.cardinalities or ())


@dataclass(frozen=True)
class Recognition:
    """Everything a model says about one graph.

    Attributes:
        name: Its SMILES or name, when it has one.
        prediction: Class or value (several, when the model predicts several).
        scores: One number in [0, 1] for each node.
        subgraphs: The ranked subgraphs.
    """

    name: str | None
    prediction: int | float | list[float]
    scores: tuple[float, ...]
    subgraphs: tuple[Subgraph, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, scores with four decimals."""
        return {
            "name": self.name,
            "prediction": self.prediction,
            "scores": [round(score, 4) for score in self.scores],
            "subgraphs": [asdict(subgraph) for subgraph in self.subgraphs],
        }
