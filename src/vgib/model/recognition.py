"""Node scores to subgraphs that people can read: the last step, the same for every method."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from vgib.chem.blocks import blocks_of, ring_bonds
from vgib.chem.draw import draw
from vgib.chem.fragment import clean_fragment, fragment
from vgib.chem.mol import Mol, as_mol
from vgib.chem.vocabulary import BOND, VOCABULARIES
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, unknown_name
from vgib.page.graphs import draw_graph
from vgib.page.html import embedded, figure, short
from vgib.select import masks as select

Rule = Literal["ring_intact", "connected", "largest_part", "nodes"]
Array = npt.NDArray[Any]

MARKS = re.compile(r"[@/\\]|\[\d")
"""What a SMILES with stereo centers, stereo bonds or isotopes has."""

PICTURE = (310, 240)
MOST_SHOWN = 60
"""Pictures of a list in a notebook."""


@dataclass(frozen=True)
class Subgraph:
    """A recognized subgraph.

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

    def __str__(self) -> str:
        return f"nodes {', '.join(map(str, self.nodes))}; score {self.score:.2f}"

    def _repr_html_(self) -> str | None:
        """The fragment in a notebook; a part of a plain graph is shown with its graph only."""
        if not self.smiles:
            return None
        lines = f"score {self.score:.2f}", f"{self.keep_ratio:.0%} of the atoms"
        return embedded([figure(draw(self.smiles, size=PICTURE), *lines, code=self.smiles)])


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
    found = find_rationales(graphs, scores, n, keep_ratio=keep_ratio, rule=rule)
    return as_subgraphs(graphs, found, mols)


def find_rationales(
    graphs: PackedGraphs,
    scores: Array,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    rule: Rule | None = None,
) -> list[list[select.Rationale]]:
    """The same without the SMILES, which cost most of the time."""
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
        return select.ranked(scores, graphs, sizes=sizes, blocks=blocks, n=n)
    sizes = wanted_sizes(graphs, scores, keep_ratio)
    masks = [select.size(scores, graphs.node_ptr, k) for k in sizes]
    if rule == "largest_part":
        masks = [select.largest_connected(mask, graphs, scores) for mask in masks]
    return select.rationales(masks, scores, graphs.node_ptr)


def as_subgraphs(
    graphs: PackedGraphs,
    found: Sequence[Sequence[select.Rationale]],
    mols: Sequence[Mol] | None = None,
) -> list[list[Subgraph]]:
    """Rationales of each graph for people: those of molecules with their SMILES."""
    if atom_features(graphs) is None or graphs.ids is None:
        return [[Subgraph(r.nodes, r.score, r.keep_ratio) for r in ranked] for ranked in found]
    written = _fragments(graphs, found, mols or [as_mol(smiles) for smiles in graphs.ids])
    return [
        [
            Subgraph(r.nodes, r.score, r.keep_ratio, smiles)
            for r, smiles in zip(ranked, names, strict=True)
        ]
        for ranked, names in zip(found, written, strict=True)
    ]


def _fragments(
    graphs: PackedGraphs, found: Sequence[Sequence[select.Rationale]], mols: Sequence[Mol]
) -> list[list[str]]:
    """The SMILES of the parts of molecules.

    The cut bonds of all molecules are found at once: to ask RDKit for them, molecule by molecule,
    would take as long as to write the SMILES.
    """
    node_ptr, indptr, col = (a.numpy() for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    assert graphs.edge_attr is not None
    receiver = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    first = np.repeat(node_ptr[:-1], np.diff(indptr[node_ptr]))
    firm = ring_bonds(graphs) | (graphs.edge_attr.numpy() != BOND.codes["single"])
    starts = node_ptr.tolist()
    marked = [MARKS.search(smiles) is not None for smiles in graphs.ids or ()]
    written: list[list[str]] = [[] for _ in found]
    for rank in range(max(map(len, found), default=0)):
        some = [number for number, ranked in enumerate(found) if len(ranked) > rank]
        chosen = np.zeros(node_ptr[-1], dtype=bool)
        chosen[[starts[g] + node for g in some for node in found[g][rank].nodes]] = True
        cut = np.flatnonzero(chosen[receiver] & ~chosen[first + col])
        cuts = list(zip((receiver - first)[cut].tolist(), col[cut].tolist(), strict=True))
        bounds = np.searchsorted(receiver[cut], node_ptr)
        broken = np.diff(np.concatenate([[0], np.cumsum(firm[cut])])[bounds]).tolist()
        bounds = bounds.tolist()
        for g in some:
            mol, nodes = mols[g], found[g][rank].nodes
            if broken[g]:
                written[g].append(fragment(mol, nodes, capped=False).smiles)
            else:
                own = cuts[bounds[g] : bounds[g + 1]]
                written[g].append(clean_fragment(mol, nodes, own, stereo=marked[g]))
    return written


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
        edges: ``int [edges, 2]``, to draw it by; ``None`` for a molecule, which its name describes.
    """

    name: str | None
    prediction: int | float | list[float]
    scores: tuple[float, ...]
    subgraphs: tuple[Subgraph, ...]
    edges: Array | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values, scores with four decimals."""
        return {
            "name": self.name,
            "prediction": self.prediction,
            "scores": [round(score, 4) for score in self.scores],
            "subgraphs": [asdict(subgraph) for subgraph in self.subgraphs],
        }

    def svg(self, rank: int = 0, *, size: tuple[int, int] = PICTURE) -> str:
        """The graph, its nodes colored by score, the subgraph of this rank in an outline."""
        nodes = self.subgraphs[rank].nodes if self.subgraphs else ()
        if self.edges is None:
            return draw(self.name or "", self.scores, nodes, size=size, legend=False)
        pairs: list[tuple[int, int]] = self.edges.tolist()
        return draw_graph(pairs, self.scores, nodes, size=size, title=self.name or "")

    def figure(self, title: str = "", rank: int = 0) -> str:
        """Its picture with a caption, as HTML."""
        chosen = self.subgraphs[rank : rank + 1]
        lines = [f"{part.keep_ratio:.0%} kept, mean score {part.score:.2f}" for part in chosen]
        fragments = [part.smiles for part in chosen if part.smiles]
        told = f"prediction {short(self.prediction)}"
        title = title or (self.name if self.edges is not None and self.name else told)
        heads = [] if title == told else [told]
        return figure(self.svg(rank), title, *heads, *lines, code=" ".join(fragments) or None)

    def _repr_html_(self) -> str:
        """In a notebook: the picture, and what was predicted."""
        return embedded([self.figure()])


class Recognitions(list[Recognition]):
    """What a model says about several graphs; in a notebook, a gallery."""

    def __getitem__(self, index: Any) -> Any:
        """One of them, or some, which show themselves likewise."""
        found = super().__getitem__(index)
        return Recognitions(found) if isinstance(index, slice) else found

    def _repr_html_(self) -> str:
        more = len(self) - MOST_SHOWN
        text = f"<p>... and {more} more</p>" if more > 0 else ""
        return embedded(one.figure() for one in self[:MOST_SHOWN]) + text


def recognitions(
    graphs: PackedGraphs,
    predictions: Iterable[int | float | list[float]],
    scores: Array,
    subgraphs: Iterable[Sequence[Subgraph]],
) -> Recognitions:
    """What was found of each graph, put together; ``scores`` are packed like the graphs."""
    parts = np.split(scores, graphs.node_ptr.numpy()[1:-1])
    edges = [None] * len(graphs) if atom_features(graphs) else _edges(graphs)
    names = graphs.ids or [None] * len(graphs)
    return Recognitions(
        Recognition(name, prediction, tuple(part.tolist()), tuple(found), own)
        for name, prediction, part, found, own in zip(
            names, predictions, parts, subgraphs, edges, strict=True
        )
    )


def _edges(graphs: PackedGraphs) -> list[Array]:
    """The edges of each graph, ``[edges, 2]``, their nodes numbered within it."""
    degree = graphs.indptr.diff().numpy()
    first = np.repeat(graphs.node_ptr[:-1].numpy(), graphs.sizes.numpy())
    receiver = np.repeat(np.arange(graphs.num_nodes) - first, degree)
    pairs = np.stack([graphs.col.numpy(), receiver], axis=1)
    return np.split(pairs, graphs.edge_ptr.numpy()[1:-1])
