"""Node scores against the known explanation, and against themselves from another seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.frozen import packed
from vgib.explain.lift import to_edges
from vgib.metrics import Array, Estimate, area_under_roc, mean, node_auc, ranks
from vgib.metrics import agreement as agreement_of_choices
from vgib.model.evaluate import of_explanations
from vgib.select.masks import keep_ratio

SHARES = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""The shares of nodes among which a cut is looked for."""
SUFFICIENT = 0.9
"""How often the prediction from the part must agree with that from the whole graph."""

Answers = Sequence[Sequence[Sequence[int]] | None]
"""For each graph the sets of nodes that explain it, as :class:`vgib.data.known.KnownAnswers`."""


@dataclass(frozen=True)
class GroundTruth:
    """How well scores find the known explanation, beside random scores.

    Attributes:
        node_auc: Area under the ROC curve over all nodes.
        edge_auc: Over all directed edges, node scores lifted; ``None`` without marked edges.
        precision: Of as many nodes as the explanation has, the share that belongs to it.
        random_node_auc: ``node_auc`` of random scores.
        random_precision: ``precision`` of random scores.
    """

    node_auc: Estimate
    edge_auc: Estimate | None
    precision: Estimate
    random_node_auc: Estimate
    random_precision: Estimate


def ground_truth(graphs: PackedGraphs, scores: Tensor, *, seed: int = 0) -> GroundTruth:
    """Scores against ``graphs.node_truth`` and ``graphs.edge_truth``."""
    if graphs.node_truth is None:
        raise InputError("these graphs carry no node_truth to compare with")
    found = of_explanations(graphs, scores.numpy(), seed=seed)
    edges = None
    if graphs.edge_truth is not None:
        lifted = to_edges(scores, graphs.batch().adj.edge_index).numpy()
        edges = node_auc(lifted, graphs.edge_truth.numpy(), graphs.edge_ptr.numpy())
    return GroundTruth(
        node_auc=found["node_auc"],
        edge_auc=edges,
        precision=found["node_precision"],
        random_node_auc=found["control_random_node_auc"],
        random_precision=found["control_random_node_precision"],
    )


@dataclass(frozen=True)
class Stability:
    """How alike explanations from several seeds are, beside random ones.

    Attributes:
        keep_ratio: The share of nodes in the explanation.
        jaccard: Nodes in common of all nodes chosen by either, averaged over pairs of seeds.
        random_jaccard: Of random explanations of the same sizes.
    """

    keep_ratio: float
    jaccard: Estimate
    random_jaccard: Estimate


def stability(
    runs: Sequence[Tensor], ptr: Tensor, *, keep_ratios: Sequence[float] = (0.5,), seed: int = 0
) -> list[Stability]:
    """How far scores of the same nodes from two or more seeds agree, at each share."""
    if len(runs) < 2:
        raise InputError(f"stability compares at least two runs; got {len(runs)}")
    generator = torch.Generator().manual_seed(seed)
    chance = [torch.rand(len(runs[0]), generator=generator) for _ in runs]
    return [
        Stability(ratio, _alike(runs, ptr, ratio), _alike(chance, ptr, ratio))
        for ratio in keep_ratios
    ]


def _alike(runs: Sequence[Tensor], ptr: Tensor, ratio: float) -> Estimate:
    masks = torch.stack([keep_ratio(run, ptr, ratio) for run in runs])
    return mean(agreement_of_choices(masks.numpy(), ptr.numpy()))


def self_consistency(
    explainer: Explainer,
    model: nn.Module,
    graphs: PackedGraphs,
    scores: Tensor,
    *,
    share: float = 0.5,
) -> Estimate:
    r"""How far a method that explains its own explanation finds it again.

    .. math:: J\bigl(\operatorname{top}_k s(G), \; \operatorname{top}_k s(G_S)\bigr), \quad
              S = \operatorname{top}_{rn} s(G), \; k = r |S|

    The part S of the graph is shown to the method alone; of what it then scores best, as much is
    taken as it scored best inside S before. 1: the same nodes; random scores at one half: a third.

    Args:
        model: Called as ``model(x, edge_index, batch)``.
    """
    part = keep_ratio(scores, graphs.node_ptr, share)
    alone = graphs.induced(part)
    again = torch.cat([explainer.scores(model, batch) for batch in alone.batches(256)])
    first, second = (keep_ratio(each, alone.node_ptr, share) for each in (scores[part], again))
    choices = torch.stack([first, second]).numpy()
    return mean(agreement_of_choices(choices, alone.node_ptr.numpy()))


@dataclass(frozen=True)
class Agreement:
    """How well scores and parts agree with known explanations, averaged over graphs.

    For each graph with an explanation the best of its alternatives counts, in each measure.

    Attributes:
        explained: Graphs with a known explanation.
        iou: Nodes in both the part and the explanation, of the nodes in either.
        iou_true: The same for the best-scored nodes, as many as the explanation has.
        size_ratio: Median of the part's size over that of the alternative that matches it best.
        node_auc: Area under the ROC curve of the node scores, in each graph.
        edge_auc: Area under the ROC curve of the edge scores of all these graphs together.
        kept: The share of the nodes of explained graphs that the part has.
        unexplained: Graphs whose class is the absence of something.
        wrongly_marked: The share of their nodes that the part has; ``None`` without such graphs.
    """

    explained: int
    iou: float
    iou_true: float
    size_ratio: float
    node_auc: float
    edge_auc: float
    kept: float
    unexplained: int
    wrongly_marked: float | None


def agreement(
    graphs: PackedGraphs,
    answers: Answers,
    scores: Tensor,
    part: Tensor,
    *,
    edge_scores: Tensor | None = None,
) -> Agreement:
    """Scores and parts of graphs against their known explanations.

    Args:
        graphs: Where they carry ``edge_truth``, it is the truth of the edge AUC; else the edges
            inside the alternative with the best node AUC are.
        answers: For each graph its alternatives; none for no explanation, ``None`` for unknown.
        scores: One number for each node, ``[nodes]``.
        part: The nodes that the method cuts out, ``bool [nodes]``.
        edge_scores: One number for each directed edge, in the order of ``graphs``; by default node
            scores, lifted by :func:`vgib.explain.lift.to_edges`.
    """
    values, inside = scores.numpy(), part.numpy().astype(bool)
    first = graphs.node_ptr.tolist()
    found: list[_Match] = []
    marked: list[float] = []
    truth = np.zeros(len(values), dtype=bool)
    judged = np.zeros(len(answers), dtype=bool)
    for number, choices in enumerate(answers):
        nodes = slice(first[number], first[number + 1])
        if choices is None or nodes.start == nodes.stop:
            continue
        if not choices:
            marked.append(float(inside[nodes].mean()))
            continue
        match = _best_match(values[nodes], inside[nodes], choices)
        truth[nodes.start + np.asarray(match.by_auc)] = True
        judged[number] = True
        found.append(match)
    if not found:
        raise InputError("none of these graphs has a known explanation")
    return Agreement(
        explained=len(found),
        iou=float(np.mean([match.iou for match in found])),
        iou_true=float(np.mean([match.iou_true for match in found])),
        size_ratio=float(np.median([match.size_ratio for match in found])),
        node_auc=float(np.nanmean([match.node_auc for match in found])),
        edge_auc=_pooled_edge_auc(graphs, truth, judged, scores, edge_scores),
        kept=float(np.mean([match.kept for match in found])),
        unexplained=len(marked),
        wrongly_marked=float(np.mean(marked)) if marked else None,
    )


@dataclass(frozen=True)
class _Match:
    """One graph: the best of its alternatives in each measure."""

    iou: float
    iou_true: float
    size_ratio: float
    node_auc: float
    kept: float
    by_auc: Sequence[int]


def _best_match(
    scores: Array, inside: npt.NDArray[np.bool_], choices: Sequence[Sequence[int]]
) -> _Match:
    """Ties among scores are broken by node number, as in every selection."""
    truth = np.zeros((len(choices), len(scores)), dtype=bool)
    for row, nodes in zip(truth, choices, strict=True):
        row[list(nodes)] = True
    rank = ranks(scores, np.array([0, len(scores)]))
    sizes = truth.sum(1)
    ious = _iou(truth, inside[None])
    areas = np.array([area_under_roc(scores, row) for row in truth])
    closest = int(ious.argmax())
    by_auc = 0 if np.isnan(areas).all() else int(np.nanargmax(areas))
    return _Match(
        iou=float(ious[closest]),
        iou_true=float(_iou(truth, rank[None] < sizes[:, None]).max()),
        size_ratio=float(inside.sum() / sizes[closest]),
        node_auc=float(areas[by_auc]),
        kept=float(inside.mean()),
        by_auc=choices[by_auc],
    )


def _iou(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> Array:
    shared: Array = (one & other).sum(1) / (one | other).sum(1)
    return shared


def _pooled_edge_auc(
    graphs: PackedGraphs,
    node_truth: npt.NDArray[np.bool_],
    judged: npt.NDArray[np.bool_],
    scores: Tensor,
    edge_scores: Tensor | None,
) -> float:
    """Over all directed edges of the judged graphs together, as in the literature."""
    edge_index = graphs.batch().adj.edge_index
    lifted = to_edges(scores, edge_index) if edge_scores is None else edge_scores
    marked = graphs.edge_truth
    is_true = node_truth[edge_index.numpy()].all(axis=0) if marked is None else marked.numpy()
    counts = np.repeat(judged, graphs.edge_ptr.diff().numpy())
    return area_under_roc(lifted.numpy()[counts], is_true[counts])


def sufficient_share(
    graphs: PackedGraphs,
    scores: Tensor,
    predict: Callable[[PackedGraphs, Tensor | None], Array],
    *,
    bar: float = SUFFICIENT,
    shares: Sequence[float] = SHARES,
) -> float:
    """The smallest share of best-scored nodes from which the prediction still follows.

    The one rule by which every method without a cut of its own is cut, also random scores: keep in
    each graph that share of its nodes, predict from this part alone, and count in how many graphs
    of each predicted class the prediction stays what it was on the whole graph. The share suffices
    when the mean over predicted classes is at least ``bar``.

    Args:
        predict: The class of each graph, from the nodes of a ``bool [nodes]`` mask alone, or from
            all of them (``None``).
        shares: Where to look, ascending; the last one is taken when none suffices.
    """
    whole = np.asarray(predict(graphs, None))
    for share in shares[:-1]:
        part = keep_ratio(scores, graphs.node_ptr, share)
        agrees = np.asarray(predict(graphs, part)) == whole
        if np.mean([agrees[whole == label].mean() for label in np.unique(whole)]) >= bar:
            return share
    return shares[-1]


def random_connected_scores(graphs: PackedGraphs, *, seed: int = 0) -> Tensor:
    """Random scores whose best nodes are connected, however many are taken.

    Each graph is grown from a random node by random neighbors of what there is; a node's score
    falls with the time at which it came.
    """
    random = np.random.default_rng(seed)
    scores = torch.empty(graphs.num_nodes)
    sender, indptr, first = (
        graphs.senders().numpy(),
        graphs.indptr.numpy(),
        graphs.node_ptr.tolist(),
    )
    for start, stop in pairwise(first):
        waiting = set(range(start, stop))
        border: list[int] = []
        for place in range(stop - start):
            # Where a piece of the graph is used up, the next one begins anywhere in the rest.
            came = border.pop(random.integers(len(border))) if border else random.choice([*waiting])
            waiting.discard(came)
            scores[came] = 1 - place / (stop - start)
            neighbors = sender[indptr[came] : indptr[came + 1]].tolist()
            border += [node for node in neighbors if node in waiting and node not in border]
    return scores


@explainers.register("random-connected")
class RandomConnected(Explainer):
    """The control for connected parts: random scores whose best nodes hang together."""

    def explain(self, case: Case) -> Tensor:
        return random_connected_scores(packed(case.batch), seed=self.seed)
