"""What a model says of a graph, as small values that show themselves in a notebook."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from vgib.chem.draw import draw
from vgib.data.capped import atom_features
from vgib.data.packed import PackedGraphs
from vgib.metrics import Array
from vgib.page.graphs import draw_graph
from vgib.page.html import embedded, figure, short

DECIMALS = 4
"""Of scores and shares, wherever they are shown."""

DIGITS = 5
"""Of predictions, their probabilities and spreads, where people read them."""

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
        value: What the model predicts from it alone: the value, or the probability of the class
            that it predicts for the whole.
        effect: By how much it raises the prediction; see :meth:`vgib.model.answer.Answer.effects`.
    """

    nodes: tuple[int, ...]
    score: float
    keep_ratio: float
    smiles: str | None = None
    value: float | None = None
    effect: float | None = None

    def __str__(self) -> str:
        return f"nodes {', '.join(map(str, self.nodes))}; score {self.score:.2f}"

    def _repr_html_(self) -> str | None:
        """The fragment in a notebook; a part of a plain graph is shown with its graph only."""
        if not self.smiles:
            return None
        lines = f"score {self.score:.2f}", f"{self.keep_ratio:.0%} of the atoms"
        return embedded([figure(draw(self.smiles, size=PICTURE), *lines, code=self.smiles)])


@dataclass(frozen=True)
class Recognition:
    """Everything a model says about one graph.

    Attributes:
        name: Its SMILES or name, when it has one.
        prediction: Class or value (several, when the model predicts several).
        scores: One number in [0, 1] for each node.
        subgraphs: The ranked subgraphs.
        edges: ``int [edges, 2]``, to draw it by; ``None`` for a molecule, which its name describes.
        why_none: Why no part suffices, where none does; what is shown has the largest effect.
        statement: The prediction in words, such as ``"mutagenic 98.7 %"``.
        effects: By how much each node raises the prediction, where that was asked for.
    """

    name: str | None
    prediction: int | float | list[float]
    scores: tuple[float, ...]
    subgraphs: tuple[Subgraph, ...]
    edges: Array | None = field(default=None, repr=False, compare=False)
    why_none: str | None = None
    statement: str = ""
    effects: tuple[float, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, rounded as everywhere; see :func:`rounded`."""
        return rounded(
            {
                "name": self.name,
                "prediction": self.prediction,
                "statement": self.statement,
                "effects": self.effects,
                "scores": self.scores,
                "subgraphs": [asdict(subgraph) for subgraph in self.subgraphs],
                "why_none": self.why_none,
            }
        )

    def svg(self, rank: int = 0, *, size: tuple[int, int] = PICTURE) -> str:
        """The graph, its nodes colored by score, the subgraph of this rank in an outline."""
        nodes = self.subgraphs[rank].nodes if self.subgraphs else ()
        if self.edges is None:
            return draw(
                self.name or "", self.scores, nodes, effects=self.effects, size=size, legend=False
            )
        pairs: list[tuple[int, int]] = self.edges.tolist()
        return draw_graph(pairs, self.scores, nodes, size=size, title=self.name or "")

    def figure(self, title: str = "", rank: int = 0) -> str:
        """Its picture with a caption, as HTML."""
        chosen = self.subgraphs[rank : rank + 1]
        lines = [f"{part.keep_ratio:.0%} kept, mean score {part.score:.2f}" for part in chosen]
        why = "why this part" if chosen else "no part found"
        lines += [f"{why}: {self.why_none}"] if self.why_none else []
        fragments = [part.smiles for part in chosen if part.smiles]
        told = self.statement or f"prediction {short(self.prediction)}"
        title = title or (self.name if self.edges is not None and self.name else told)
        heads = [] if title == told else [told]
        return figure(self.svg(rank), title, *heads, *lines, code=" ".join(fragments) or None)

    def _repr_html_(self) -> str:
        """In a notebook: the picture, and what was predicted."""
        return embedded([self.figure()])


class Recognitions(list[Recognition]):
    """What a model says about several graphs; in a notebook, a gallery."""

    def __getitem__(self, index: Any) -> Any:
        """One of them, or some, which are shown as a gallery too."""
        found = super().__getitem__(index)
        return Recognitions(found) if isinstance(index, slice) else found

    def _repr_html_(self) -> str:
        more = len(self) - MOST_SHOWN
        text = f"<p>... and {more} more</p>" if more > 0 else ""
        return embedded(one.figure() for one in self[:MOST_SHOWN]) + text


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """What was recognized in one graph, with the decimals that every output shows.

    Scores and shares get :data:`DECIMALS`; predictions are given in full. Whoever writes JSON, the
    command line, the service or Python, comes by here.
    """
    told = ("score", "keep_ratio", "value", "effect")
    return row | {
        "scores": [round(score, DECIMALS) for score in row["scores"]],
        "effects": row["effects"] and [round(effect, DECIMALS) for effect in row["effects"]],
        "subgraphs": [
            part | {name: part[name] and round(part[name], DECIMALS) for name in told}
            for part in row["subgraphs"]
        ],
    }


def recognitions(
    graphs: PackedGraphs,
    predictions: Iterable[int | float | list[float]],
    scores: Array,
    subgraphs: Iterable[Sequence[Subgraph]],
    why_none: Sequence[str | None] | None = None,
    statements: Sequence[str] | None = None,
    effects: Array | None = None,
) -> Recognitions:
    """What was found of each graph; ``scores`` and ``effects`` are packed like the graphs."""
    cuts, nothing = graphs.node_ptr.numpy()[1:-1], [None] * len(graphs)
    told = zip(
        graphs.ids or nothing,
        predictions,
        (tuple(own.tolist()) for own in np.split(scores, cuts)),
        map(tuple, subgraphs),
        nothing if atom_features(graphs) else edges(graphs),  # a molecule's SMILES is drawn
        why_none or nothing,
        statements or [""] * len(graphs),
        nothing if effects is None else (tuple(own.tolist()) for own in np.split(effects, cuts)),
        strict=True,
    )
    return Recognitions(Recognition(*each) for each in told)


def edges(graphs: PackedGraphs) -> list[Array]:
    """The edges of each graph, ``[edges, 2]``, their nodes numbered within it."""
    degree = graphs.indptr.diff().numpy()
    first = np.repeat(graphs.node_ptr[:-1].numpy(), graphs.sizes.numpy())
    receiver = np.repeat(np.arange(graphs.num_nodes) - first, degree)
    pairs = np.stack([graphs.col.numpy(), receiver], axis=1)
    return np.split(pairs, graphs.edge_ptr.numpy()[1:-1])
