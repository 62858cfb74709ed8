"""Fidelity: what the model says of the explanation alone, and of the graph without it.

Everything is computed on node-induced subgraphs, which are exact for every model; all shares of a
whole test set go through the model in one pass. Four definitions are in use, so that a number is
never printed without the name of its own.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Explainer, Graphs, as_graphs
from vgib.explain.frozen import Frozen, ModelTask, Returns, predictions
from vgib.explain.lift import ranks
from vgib.metrics import Array, Estimate, bootstrap_rows, mean
from vgib.nn.pyg_layers import open_to_pyg
from vgib.nn.sparse import Segments
from vgib.select import masks as select
from vgib.train.loop import seeded

Definition = Literal["accuracy", "agreement", "probability", "change"]
Induced = Callable[[PackedGraphs, Tensor], PackedGraphs]
DEFINITIONS: tuple[Definition, ...] = ("accuracy", "agreement", "probability", "change")
KEEP_RATIOS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
MOST_EDGES = 20_000_000
"""Of all copies of the graphs in memory at once."""


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
        """The fields by name."""
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
    definition: Definition | None = None,
    y: Tensor | None = None,
    task: ModelTask | None = None,
    returns: Returns = "raw",
    seed: int = 0,
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
        definition: See above; ``accuracy`` for a classifier with labels, ``agreement`` without,
            ``change`` for values, when ``None``.
        y: Labels, where the graphs carry none.
        task: What the model predicts; see :class:`vgib.explain.frozen.Frozen`.
        returns: What the outputs of a classifier are: logits, probabilities or their logarithm.
        seed: Of the random control.

    Returns:
        One result for each share. A graph that is kept whole has no complement and is left out of
        ``plus``; ``n`` says how many count.
    """
    data, labels = _with_labels(graphs, y)
    control = torch.rand(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    kept, chance = (
        torch.stack([select.keep_ratio(s, data.node_ptr, r) for r in keep_ratios])
        for s in (scores, control)
    )
    return fidelity_of(
        model,
        data,
        kept,
        chance,
        shares=keep_ratios,
        definition=definition,
        y=labels,
        task=task,
        returns=returns,
    )


def fidelity_of(
    model: nn.Module,
    graphs: Graphs,
    masks: Tensor,
    controls: Tensor,
    *,
    shares: Sequence[float] | None = None,
    definition: Definition | None = None,
    y: Tensor | None = None,
    task: ModelTask | None = None,
    returns: Returns = "raw",
) -> list[Fidelity]:
    """Fidelity+ and Fidelity- of subgraphs however they were chosen.

    The arguments that are not named here are those of :func:`fidelity`.

    Args:
        masks: ``bool [choices, nodes]``, each choice with a subgraph of every graph.
        controls: ``bool [choices, nodes]``, random subgraphs of the same sizes.
        shares: What each choice is called; the mean share of its nodes when ``None``.
    """
    data, labels = _with_labels(graphs, y)
    judge = _Judge(model, data, labels, definition, task, returns)
    kept = torch.cat([masks, controls])
    outputs = judge.outputs(torch.cat([kept, ~kept]))
    minus, plus = judge.differences(outputs).chunk(2)
    flips = judge.flips(outputs[len(kept) :])
    found = []
    for place, share in enumerate(_shares(masks, data) if shares is None else shares):
        chance = place + len(masks)
        found.append(
            Fidelity(
                judge.definition,
                float(share),
                plus=mean(plus[place].numpy()),
                minus=mean(minus[place].numpy()),
                characterization=_characterization(plus[place].numpy(), minus[place].numpy()),
                flipped=None if flips is None else mean(flips[place].numpy()),
                random_plus=mean(plus[chance].numpy()),
                random_minus=mean(minus[chance].numpy()),
            )
        )
    return found


def robust_fidelity(
    model: nn.Module,
    graphs: Graphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    definition: Definition | None = None,
    y: Tensor | None = None,
    remove_explanation: float = 0.1,
    remove_rest: float = 0.9,
    samples: int = 20,
    task: ModelTask | None = None,
    returns: Returns = "raw",
    seed: int = 0,
) -> list[Fidelity]:
    r"""Fidelity under random partial removal, which stays nearer to the graphs the model knows.

    .. math:: \mathrm{RFid}^+ = \mathbb E[d(G, G \setminus E_{\alpha_1}(S))], \quad
              \mathrm{RFid}^- = \mathbb E[d(G, S \cup E_{1-\alpha_2}(G \setminus S))]

    where :math:`E_\alpha` takes each node with probability :math:`\alpha` and d is the difference
    of the ``definition``. Zheng et al., "Towards Robust Fidelity for Evaluating Explainability of
    Graph Neural Networks", ICLR 2024, arXiv:2310.01820, who remove edges; we remove nodes, as
    everywhere here. At probabilities of 1 it is :func:`fidelity`, whose arguments are those that
    are not named here.

    Args:
        remove_explanation: :math:`\alpha_1`, how probably a node of the explanation goes.
        remove_rest: :math:`\alpha_2`, how probably another node goes.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    data, labels = _with_labels(graphs, y)
    judge = _Judge(model, data, labels, definition, task, returns)

    def drawn(kept: Tensor, draw: Tensor) -> tuple[Tensor, Tensor]:
        return kept | (draw >= remove_rest), ~kept | (draw >= remove_explanation)

    return _sampled(judge, scores, keep_ratios, drawn, samples, seed)


def fine_tuned_fidelity(
    model: nn.Module,
    graphs: Graphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    definition: Definition | None = None,
    y: Tensor | None = None,
    most: float = 0.1,
    share: float = 0.5,
    samples: int = 20,
    task: ModelTask | None = None,
    returns: Returns = "raw",
    seed: int = 0,
) -> list[Fidelity]:
    r"""F-Fidelity: of a model that has learned from graphs with nodes removed, removing few.

    .. math:: \mathrm{FFid}^+ = \mathbb E[d(G, G \setminus E_k(S))], \quad
              \mathrm{FFid}^- = \mathbb E[d(G, G \setminus E_{k'}(G \setminus S))], \quad
              k = \min(a |S|, b |G|), \; k' = \min(a |G \setminus S|, b |G|)

    where :math:`E_k` draws k nodes, at least one where there is one, and d is the difference of the
    ``definition``. Zheng et al., "F-Fidelity: A Robust Framework for Faithfulness Evaluation of
    Explainable AI", ICLR 2025, arXiv:2410.02970. The arguments that are not named here are those of
    :func:`fidelity`.

    Args:
        model: What :func:`fine_tuned` gave, for the same share ``most``.
        most: The share b of a graph's nodes that are removed at most.
        share: The share a of the explanation, or of the rest, that is removed at most.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    data, labels = _with_labels(graphs, y)
    judge = _Judge(model, data, labels, definition, task, returns)
    owner = torch.repeat_interleave(data.sizes)

    def without(some: Tensor, draw: Tensor) -> Tensor:
        """All nodes but so many of these, those of the largest draws."""
        own = torch.bincount(owner, some.double(), minlength=len(data))
        count = torch.minimum(share * own, most * data.sizes).floor().clamp(min=1)
        place = ranks(torch.where(some, draw, -1.0), Segments(data.node_ptr))
        return ~some | (place >= count[owner])

    def drawn(kept: Tensor, draw: Tensor) -> tuple[Tensor, Tensor]:
        pairs = list(zip(kept, draw, strict=True))
        alone = torch.stack([without(~some, each) for some, each in pairs])
        return alone, torch.stack([without(some, each) for some, each in pairs])

    return _sampled(judge, scores, keep_ratios, drawn, samples, seed)


def fine_tuned(
    model: nn.Module,
    graphs: Graphs,
    *,
    y: Tensor | None = None,
    most: float = 0.1,
    epochs: int = 3,
    batch_size: int = 256,
    lr: float = 1e-3,
    seed: int = 0,
) -> nn.Module:
    """A copy of a classifier that goes on learning, from graphs without some random nodes.

    Each time a graph is seen it lacks a share of its nodes that is drawn between 0 and ``most``; so
    the copy knows what :func:`fine_tuned_fidelity` shows it.

    Args:
        model: Called as ``model(x, edge_index, batch)``, gives logits; left as it is.
        graphs: Those to learn from, with classes as labels.
        y: Labels, where the graphs carry none.
        most: The largest share of nodes that is removed.
        epochs: Passes over the graphs.
        batch_size: Graphs in one step.
        lr: Learning rate of Adam.
        seed: Of order and removal.
    """
    data, labels = _with_labels(graphs, y)
    if labels is None:
        raise InputError("fine-tuning needs true labels; pass y")
    copy: nn.Module = open_to_pyg(deepcopy(model)).requires_grad_(True).train()
    adam = torch.optim.Adam(copy.parameters(), lr=lr)
    with seeded(seed):
        for _ in range(epochs):
            for index in torch.split(torch.randperm(len(data)), batch_size):
                some = data[index]
                owner = torch.repeat_interleave(some.sizes)
                lost = (torch.rand(len(some)) * most * some.sizes).round()
                place = ranks(torch.rand(some.num_nodes), Segments(some.node_ptr))
                batch = some.induced(place >= lost[owner]).batch()
                said = copy(batch.x, batch.adj.edge_index, batch.graphs.batch)
                adam.zero_grad()
                loss = nn.functional.cross_entropy(said, labels[index])
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
    copy.eval()
    return copy


def self_consistency(
    explainer: Explainer,
    model: nn.Module,
    graphs: PackedGraphs,
    scores: Tensor,
    *,
    keep_ratio: float = 0.5,
) -> Estimate:
    r"""How far a method that explains its own explanation finds it again.

    .. math:: J\bigl(\operatorname{top}_k s(G), \; \operatorname{top}_k s(G_S)\bigr), \quad
              S = \operatorname{top}_{rn} s(G), \; k = r |S|

    The part S of the graph is shown to the method alone; of what it then scores best, as much is
    taken as it scored best inside S before. 1: the same nodes; random scores at one half: a third.

    Args:
        explainer: The method, fitted where it learns.
        model: Called as ``model(x, edge_index, batch)``.
        graphs: What was explained.
        scores: What it said, ``[nodes]``.
        keep_ratio: The share r.
    """
    part = select.keep_ratio(scores, graphs.node_ptr, keep_ratio)
    alone = graphs.induced(part)
    again = torch.cat([explainer.scores(model, batch) for batch in alone.batches(256)])
    first, second = (
        select.keep_ratio(each, alone.node_ptr, keep_ratio) for each in (scores[part], again)
    )
    owner = torch.repeat_interleave(alone.sizes)
    both, either = (
        torch.bincount(owner, mask.double(), minlength=len(alone))
        for mask in (first & second, first | second)
    )
    return mean((both / either).numpy())


def _sampled(
    judge: "_Judge",
    scores: Tensor,
    keep_ratios: Sequence[float],
    drawn: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    samples: int,
    seed: int,
) -> list[Fidelity]:
    """Fidelities averaged over random removals, beside those of random nodes.

    Args:
        judge: Who is asked.
        scores: ``[nodes]``.
        keep_ratios: Shares of nodes in the explanation.
        drawn: From explanations and uniform draws, ``[choices, nodes]`` each, what is left around
            the explanation and what is left of the graph without it.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    graphs, generator = judge.graphs, torch.Generator().manual_seed(seed)
    control = torch.rand(graphs.num_nodes, generator=generator)
    kept = torch.stack(
        [select.keep_ratio(s, graphs.node_ptr, r) for s in (scores, control) for r in keep_ratios]
    )
    plus, minus = [], []
    for _ in range(samples):
        draw = torch.rand(kept.shape, generator=generator)
        low, high = judge.differences(judge.outputs(torch.cat(drawn(kept, draw)))).chunk(2)
        minus.append(low)
        plus.append(high)
    means = [torch.stack(draws).nanmean(0) for draws in (plus, minus)]
    return [
        Fidelity(
            judge.definition,
            float(ratio),
            plus=mean(means[0][place].numpy()),
            minus=mean(means[1][place].numpy()),
            characterization=_characterization(means[0][place].numpy(), means[1][place].numpy()),
            flipped=None,
            random_plus=mean(means[0][place + len(keep_ratios)].numpy()),
            random_minus=mean(means[1][place + len(keep_ratios)].numpy()),
        )
        for place, ratio in enumerate(keep_ratios)
    ]


@dataclass(frozen=True, eq=False)
class PartOutputs:
    """What a model says of whole graphs, of explanations and of what is left over.

    Attributes:
        whole: ``[graphs, outputs]``.
        alone: Of the explanations, ``[shares, graphs, outputs]``.
        without: Of the rest, ``[shares, graphs, outputs]``; NaN where nothing is left.
    """

    whole: Tensor
    alone: Tensor
    without: Tensor


def part_outputs(
    model: nn.Module,
    graphs: PackedGraphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    induced: Induced = PackedGraphs.induced,
) -> PartOutputs:
    """The outputs behind every definition of fidelity, graph by graph, in one pass.

    The arguments that are not named here are those of :func:`fidelity`.

    Args:
        induced: Makes the subgraphs on a node mask, where features are to follow the cut.
    """
    judge = _Judge(model, graphs, None, None, None, "raw")
    kept = torch.stack([select.keep_ratio(scores, graphs.node_ptr, ratio) for ratio in keep_ratios])
    alone, without = judge.outputs(torch.cat([kept, ~kept]), induced).chunk(2)
    return PartOutputs(judge.whole, alone, without)


class _Judge:
    """The model's word on whole graphs, against its word on parts of them."""

    def __init__(
        self,
        model: nn.Module,
        graphs: PackedGraphs,
        y: Tensor | None,
        definition: Definition | None,
        task: ModelTask | None,
        returns: Returns,
    ) -> None:
        self.frozen = Frozen(model, task=task, returns=returns)
        self.graphs = graphs
        self.whole = predictions(self.frozen, graphs)
        is_classifier = self.frozen.is_classifier
        guess: Definition = (
            "change" if not is_classifier else "agreement" if y is None else "accuracy"
        )
        self.definition = definition or guess
        if self.definition not in DEFINITIONS:
            known = ", ".join(DEFINITIONS)
            raise InputError(f"no definition of fidelity named {definition!r}. Known: {known}")
        if (self.definition == "change") == is_classifier:
            kind = "a classifier" if is_classifier else "a regression model"
            raise InputError(f"{self.definition!r} is not defined for {kind}")
        if self.definition == "accuracy" and y is None:
            raise InputError("'accuracy' needs true labels; pass y, or use 'agreement'")
        self._measure: dict[str, Callable[[Tensor], Tensor]] = {
            "accuracy": lambda output: torch.eq(self._class(output), torch.as_tensor(y)).float(),
            "agreement": lambda output: torch.eq(
                self._class(output), self._class(self.whole)
            ).float(),
            "probability": self._probability,
        }

    def differences(self, outputs: Tensor) -> Tensor:
        """Of each graph, whole and in parts: ``[masks, graphs, outputs] -> [masks, graphs]``."""
        if self.definition == "change":
            return (outputs - self.whole).abs().mean(2)
        measure = self._measure[self.definition]
        found = torch.stack([measure(output) for output in outputs])
        return torch.where(outputs.isnan().any(2), torch.nan, measure(self.whole) - found)

    def flips(self, outputs: Tensor) -> Tensor | None:
        """Whether the predicted class changes."""
        if not self.frozen.is_classifier:
            return None
        same = torch.stack([self._measure["agreement"](output) for output in outputs])
        return torch.where(outputs.isnan().any(2), torch.nan, 1 - same)

    def outputs(self, masks: Tensor, induced: Induced = PackedGraphs.induced) -> Tensor:
        """``[masks, graphs, outputs]``: all parts of all graphs as one set, or a few large ones."""

        def of(some: Tensor) -> Tensor:
            copies = self.graphs[torch.arange(len(self.graphs)).repeat(len(some))]
            output = predictions(self.frozen, induced(copies, some.flatten()))
            return output.view(len(some), len(self.graphs), -1)

        at_once = max(1, MOST_EDGES // max(self.graphs.num_edges, 1))
        return torch.cat([of(some) for some in torch.split(masks, at_once)])

    def _class(self, output: Tensor) -> Tensor:
        return self.frozen.log_probabilities(output).argmax(1)

    def _probability(self, output: Tensor) -> Tensor:
        chosen = self._class(self.whole).unsqueeze(1)
        return self.frozen.log_probabilities(output).exp().gather(1, chosen).squeeze(1)


def _with_labels(graphs: Graphs, y: Tensor | None) -> tuple[PackedGraphs, Tensor | None]:
    items = graphs if isinstance(graphs, PackedGraphs) else list(graphs)
    data = as_graphs(items)
    if y is None:
        y = items.y if isinstance(items, PackedGraphs) else PackedGraphs.from_data(items).y
    if y is not None and len(y) != len(data):
        raise InputError(f"{len(data)} graphs, but {len(y)} labels")
    return data, y


def _shares(masks: Tensor, graphs: PackedGraphs) -> list[float]:
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
