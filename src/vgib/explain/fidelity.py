"""Fidelity: what the model says of the explanation alone, and of the graph without it.

Everything is computed on node-induced subgraphs, which are exact for every model; all shares of a
whole test set go through the model in one pass. Four definitions are in use, so that a number is
never printed without the name of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
import torch
from torch import Tensor, nn

from vgib.data.from_pyg import labels_of, one_by_one
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Graphs, as_graphs
from vgib.explain.frozen import Frozen, predictions
from vgib.explain.outputs import ModelTask, Returns
from vgib.metrics import Array, Estimate, bootstrap_rows, mean
from vgib.select import masks as select

Definition = Literal["accuracy", "agreement", "probability", "change"]
Induced = Callable[[PackedGraphs, Tensor], PackedGraphs]
DEFINITIONS: tuple[Definition, ...] = get_args(Definition)
KEEP_RATIOS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
MOST_EDGES = 20_000_000
"""Of all copies of the graphs in memory at once."""


class Judging(TypedDict, total=False):
    """How a model judges parts of graphs; every measure of fidelity takes these by name.

    Attributes:
        definition: See :func:`fidelity`; ``accuracy`` for a classifier with labels, ``agreement``
            without, ``change`` for values, when left out.
        y: Labels, where the graphs carry none.
        task: What the model predicts; see :class:`vgib.explain.outputs.Outputs`.
        returns: What the outputs of a classifier are: logits (``"raw"``), probabilities or their
            logarithm.
    """

    definition: Definition | None
    y: Tensor | None
    task: ModelTask | None
    returns: Returns


@dataclass(frozen=True)
class Fidelity:
    """Both fidelities at one share, beside those of as many random nodes.

    Attributes:
        definition: Which of the definitions in use.
        keep_ratio: The share of nodes in the explanation.
        plus: Of the graph without the explanation; more is better.
        minus: Of the explanation alone; less is better.
        characterization: Their harmonic mean (Amara et al., GraphFramEx, 2022), of ``plus`` and
            ``1 - minus``; it means something where both lie in [0, 1].
        flipped: The share of graphs of another predicted class without the explanation; ``None``
            for values. High values can mean "split into halves for and against".
        random_plus: ``plus`` of random nodes, of the same number in each graph.
        random_minus: ``minus`` of random nodes.
    """

    definition: Definition
    keep_ratio: float
    plus: Estimate
    minus: Estimate
    characterization: Estimate
    flipped: Estimate | None
    random_plus: Estimate
    random_minus: Estimate

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.definition} at {self.keep_ratio:g}: Fidelity+ {self.plus} "
            f"(random {self.random_plus.value:.3f}), Fidelity- {self.minus} "
            f"(random {self.random_minus.value:.3f})"
        )


def fidelity(
    model: nn.Module,
    graphs: Graphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    seed: int = 0,
    **judging: Unpack[Judging],
) -> list[Fidelity]:
    r"""Fidelity+ and Fidelity- of node scores, at each share.

    ``accuracy``, the paper's: against the true label, signed,

    .. math:: \mathrm{Fid}^+ = \overline{1(y = \hat y) - 1(y = \hat y_{G \setminus S})}, \quad
              \mathrm{Fid}^- = \overline{1(y = \hat y) - 1(y = \hat y_S)}

    ``agreement``: the share of graphs whose predicted class changes. ``probability``: the drop of
    the predicted class's probability. ``change``, for values: :math:`|f(G) - f(\cdot)|`.

    Args:
        model: Called as ``model(x, edge_index, batch)``; left as it is.
        graphs: The graphs, with labels for ``accuracy``.
        scores: ``[nodes]``, in the order of the graphs.
        keep_ratios: Shares of nodes in the explanation.
        seed: Of the random control.
        **judging: ``definition``, ``y``, ``task`` and ``returns``; see :class:`Judging`.

    Returns:
        One result for each share. A graph that is kept whole has no complement and is left out of
        ``plus``; ``n`` says how many count.
    """
    judge = Judge(model, graphs, **judging)
    kept, chance = with_control(judge.graphs, scores, keep_ratios, torch.Generator(), seed)
    return judge.fidelities(kept, chance, keep_ratios)


def fidelity_of(
    model: nn.Module,
    graphs: Graphs,
    masks: Tensor,
    controls: Tensor,
    *,
    shares: Sequence[float] | None = None,
    **judging: Unpack[Judging],
) -> list[Fidelity]:
    """Fidelity+ and Fidelity- of subgraphs however they were chosen.

    Args:
        model: Called as ``model(x, edge_index, batch)``; left as it is.
        graphs: The graphs, with labels for ``accuracy``.
        masks: ``bool [choices, nodes]``, each choice with a subgraph of every graph.
        controls: ``bool [choices, nodes]``, random subgraphs of the same sizes.
        shares: What each choice is called; the mean share of its nodes when ``None``.
        **judging: ``definition``, ``y``, ``task`` and ``returns``; see :class:`Judging`.
    """
    judge = Judge(model, graphs, **judging)
    named = mean_shares(masks, judge.graphs) if shares is None else shares
    return judge.fidelities(masks, controls, named)


def beside_control(
    definition: Definition,
    shares: Sequence[float],
    plus: Tensor,
    minus: Tensor,
    flips: Tensor | None = None,
) -> list[Fidelity]:
    """One result for each share, from the numbers of each graph: ``[2 * shares, graphs]``.

    The second half of the rows are those of the control.
    """
    found = []
    for place, share in enumerate(shares):
        high, low, random_high, random_low = (
            values[row].numpy() for row in (place, place + len(shares)) for values in (plus, minus)
        )
        found.append(
            Fidelity(
                definition,
                float(share),
                plus=mean(high),
                minus=mean(low),
                characterization=_characterization(high, low),
                flipped=None if flips is None else mean(flips[place].numpy()),
                random_plus=mean(random_high),
                random_minus=mean(random_low),
            )
        )
    return found


def with_control(
    graphs: PackedGraphs,
    scores: Tensor,
    keep_ratios: Sequence[float],
    generator: torch.Generator,
    seed: int,
) -> tuple[Tensor, Tensor]:
    """The best-scored nodes at each share, and as many random ones, ``bool [shares, nodes]``."""
    control = torch.rand(graphs.num_nodes, generator=generator.manual_seed(seed))
    kept, chance = (
        torch.stack([select.keep_ratio(s, graphs.node_ptr, r) for r in keep_ratios])
        for s in (scores, control)
    )
    return kept, chance


class Judge:
    """The model's word on whole graphs, against its word on parts of them; see :class:`Judging`.

    Args:
        induced: Makes the subgraphs on a node mask, where features are to follow the cut.

    Attributes:
        whole: What the model says of the whole graphs, ``[graphs, outputs]``.
    """

    def __init__(
        self,
        model: nn.Module,
        graphs: Graphs,
        *,
        definition: Definition | None = None,
        y: Tensor | None = None,
        task: ModelTask | None = None,
        returns: Returns = "raw",
        induced: Induced = PackedGraphs.induced,
    ) -> None:
        self.graphs, self.y = with_labels(graphs, y)
        self.frozen = Frozen(model, task=task, returns=returns)
        self.induced = induced
        self.whole = predictions(self.frozen, self.graphs)
        self.definition = self._checked(definition)

    def _checked(self, definition: Definition | None) -> Definition:
        """The definition that was asked for, or the usual one for such a model and labels."""
        is_classifier = self.frozen.is_classifier
        if definition is None:
            if not is_classifier:
                return "change"
            return "agreement" if self.y is None else "accuracy"
        if definition not in DEFINITIONS:
            known = ", ".join(DEFINITIONS)
            raise InputError(f"no definition of fidelity named {definition!r}. Known: {known}")
        if (definition == "change") == is_classifier:
            kind = "a classifier" if is_classifier else "a regression model"
            raise InputError(f"{definition!r} is not defined for {kind}")
        if definition == "accuracy" and self.y is None:
            raise InputError("'accuracy' needs true labels; pass y, or use 'agreement'")
        return definition

    def fidelities(
        self,
        masks: Tensor,
        controls: Tensor,
        shares: Sequence[float],
        definitions: Sequence[Definition] = (),
    ) -> list[Fidelity]:
        """Both fidelities of some subgraphs by each definition, all parts in one pass.

        Args:
            masks: ``bool [shares, nodes]``, the subgraphs.
            controls: ``bool [shares, nodes]``, random subgraphs of the same sizes.
            shares: What each row of ``masks`` is called.
            definitions: Several of them; the one that this judge was made with when empty.
        """
        kept = torch.cat([masks, controls])
        outputs = self.outputs(torch.cat([kept, ~kept]))
        rest = outputs[len(kept) :]
        flips = self.differences(rest, "agreement") if self.frozen.is_classifier else None
        found = []
        for definition in definitions or (self.definition,):
            minus, plus = self.differences(outputs, definition).chunk(2)
            found += beside_control(definition, shares, plus, minus, flips)
        return found

    def differences(self, outputs: Tensor, definition: Definition | None = None) -> Tensor:
        """Of each graph, whole and in parts: ``[masks, graphs, outputs] -> [masks, graphs]``.

        NaN where nothing is left of a graph. The precision is that of ``outputs``.
        """
        definition = definition or self.definition
        whole = self.whole.to(outputs)
        if definition == "change":
            return (outputs - whole).abs().mean(2)
        said = [self._measured(output, definition).to(outputs) for output in (whole, *outputs)]
        return torch.where(outputs.isnan().any(2), torch.nan, said[0] - torch.stack(said[1:]))

    def _measured(self, output: Tensor, definition: Definition) -> Tensor:
        """What a definition compares: whether the class is right or that of the whole graph, or
        the probability of the latter, ``[graphs]``.
        """
        if definition == "accuracy":
            return self.is_right(output)
        of_whole = self._class(self.whole)
        if definition == "agreement":
            return torch.eq(self._class(output), of_whole)
        chances = self.frozen.log_probabilities(output).exp()
        return chances.gather(1, of_whole.unsqueeze(1)).squeeze(1)

    def outputs(self, masks: Tensor) -> Tensor:
        """``[masks, graphs, outputs]``: all parts of all graphs as one set, or a few large ones."""

        def of(some: Tensor) -> Tensor:
            copies = self.graphs[torch.arange(len(self.graphs)).repeat(len(some))]
            output = predictions(self.frozen, self.induced(copies, some.flatten()))
            return output.view(len(some), len(self.graphs), -1)

        at_once = max(1, MOST_EDGES // max(self.graphs.num_edges, 1))
        return torch.cat([of(some) for some in torch.split(masks, at_once)])

    def is_right(self, output: Tensor) -> Tensor:
        """Whether the predicted class of each graph is the true one, ``bool [graphs]``."""
        return torch.eq(self._class(output), torch.as_tensor(self.y))

    def _class(self, output: Tensor) -> Tensor:
        return self.frozen.log_probabilities(output).argmax(1)


def with_labels(graphs: Graphs, y: Tensor | None) -> tuple[PackedGraphs, Tensor | None]:
    """The graphs as one set, with their own labels where no others are given."""
    items = graphs if isinstance(graphs, PackedGraphs) else one_by_one(graphs)
    data = as_graphs(items)
    if y is None:
        y = items.y if isinstance(items, PackedGraphs) else labels_of(items)
    if y is not None and len(y) != len(data):
        raise InputError(f"{len(data)} graphs, but {len(y)} labels")
    return data, y


def mean_shares(masks: Tensor, graphs: PackedGraphs) -> list[float]:
    """The mean share of kept nodes of each choice."""
    kept = torch.cumsum(nn.functional.pad(masks.long(), (1, 0)), 1)[:, graphs.node_ptr].diff()
    shares: list[float] = (kept / graphs.sizes).nanmean(1).tolist()
    return shares


def _characterization(plus: Array, minus: Array) -> Estimate:
    """The harmonic mean of Fidelity+ and 1 - Fidelity-; 0 where either is not positive."""

    def scores(rows: Array) -> Array:
        high, low = (_row_means(values, rows) for values in (plus, 1 - minus))
        with np.errstate(invalid="ignore", divide="ignore"):
            both = np.where((high > 0) & (low > 0), 2 * high * low / (high + low), 0.0)
        return np.where(np.isnan(high + low), np.nan, both)

    return bootstrap_rows(scores, len(plus))


def _row_means(values: Array, rows: Array) -> Array:
    """The mean of each resample, NaNs left out; NaN where there is nothing else."""
    known = np.isfinite(values)
    count = known[rows].sum(1)
    total = np.where(known, values, 0.0)[rows].sum(1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
