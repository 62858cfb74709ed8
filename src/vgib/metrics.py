"""How good predictions and subgraphs are: numbers with intervals, drawn from arrays alone."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from vgib.errors import InputError

Array = npt.NDArray[Any]
RESAMPLES = 1000
AT_ONCE = 4_000_000
"""Graph numbers of several resamples in memory together."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    >>> print(Estimate(0.912, 0.87, 0.95, 100))
    0.912 [0.870, 0.950]
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def to_json(self) -> dict[str, float | int]:
        """The fields by name."""
        return asdict(self)


def bootstrap(
    statistic: Callable[[Array], float], n: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """A statistic of graph numbers, with the percentile interval over resampled graphs.

    Resamples on which the statistic does not exist (NaN) are left out.
    """
    return bootstrap_rows(
        lambda rows: np.array([statistic(index) for index in rows]), n, resamples, seed
    )


def bootstrap_rows(
    statistic: Callable[[Array], Array], n: int, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """The same interval for a statistic of many resamples at once, ``[rows, n] -> [rows]``."""
    if n == 0:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    random = np.random.default_rng(seed)
    rows = max(1, AT_ONCE // n)
    counts = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    draws = np.concatenate([statistic(random.integers(0, n, (count, n))) for count in counts])
    value = statistic(np.arange(n)[None])[0]
    finite = draws[np.isfinite(draws)]
    low, high = np.quantile(finite, [0.025, 0.975]) if len(finite) else (np.nan, np.nan)
    return Estimate(float(value), float(low), float(high), n)


def mean(values: Array, *, seed: int = 0) -> Estimate:
    """The mean of one number for each graph, NaNs left out, with its bootstrap interval."""
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[np.isfinite(kept)]
    return bootstrap_rows(lambda rows: kept[rows].mean(1), len(kept), seed=seed)


SHARES = ("accuracy", "auc", "coverage", "precision", "same_class", "share")
"""How the names of metrics end that cannot leave [0, 1]."""


def is_share(name: str) -> bool:
    """Whether a metric of this name cannot leave [0, 1].

    >>> is_share("control_random_node_auc"), is_share("r_squared"), is_share("accuracy_of_hERG")
    (True, False, True)
    """
    return name.endswith(SHARES) or name.startswith("accuracy_of_")


WHOLE = {
    "control_median_absolute_error": "control: mean absolute error, always guessing the median",
    "control_commonest_class_accuracy": "control: accuracy, always guessing the commonest class",
    "control_commoner_label_accuracy": "control: accuracy, always guessing the commoner label",
    "control_random_node_auc": "control: node AUC of random scores",
    "control_random_node_precision": "control: node precision of random scores",
    "kept_share": "share of the nodes that are kept",
    "subgraph_change": "change of the prediction if only kept nodes are seen",
    "subgraph_same_class": "share with the same class if only kept nodes are seen",
    "control_random_subgraph_change": "control: that change with random nodes",
    "control_random_subgraph_same_class": "control: that share with random nodes",
    "interval_coverage": "share of the values that lie in their interval",
}
"""Metrics whose names in a card are hard to understand, in words."""

SHORT = {"r_squared": "R²", "roc_auc": "ROC AUC", "auc": "AUC", "iou": "IoU"}
"""What people call a metric whose name in a card is longer, or of small letters."""


def in_words(name: str) -> str:
    """What people call a metric.

    >>> in_words("r_squared"), in_words("control_random_node_auc")
    ('R²', 'control: node AUC of random scores')
    >>> in_words("control_forest_roc_auc"), in_words("forest_gain_roc_auc")
    ('ROC AUC of a forest on fingerprints', 'ROC AUC of that forest less that of the model')
    """
    if name in WHOLE:
        return WHOLE[name]
    if name.startswith("control_forest_"):
        return f"{in_words(name.removeprefix('control_forest_'))} of a forest on fingerprints"
    if name.startswith("forest_gain_"):
        return (
            f"{in_words(name.removeprefix('forest_gain_'))} of that forest less that of the model"
        )
    known = rf"(?<![^_])({'|'.join(SHORT)})(?![^_])"
    return re.sub(known, lambda found: SHORT[found[1]], name).replace("_", " ")


def accuracy(predicted: Array, y: Array) -> Estimate:
    """The share of graphs whose class is right."""
    return mean(np.asarray(predicted) == np.asarray(y))


def roc_auc(probability: Array, y: Array, *, resamples: int = 200) -> Estimate:
    """Area under the ROC curve: binary, or one-versus-rest averaged over classes."""
    y, num_classes = np.asarray(y), probability.shape[1]
    against_the_rest = [1] if num_classes == 2 else range(num_classes)

    def area(index: Array) -> float:
        areas = [area_under_roc(probability[index, c], y[index] == c) for c in against_the_rest]
        return float(np.mean(areas))

    return bootstrap(area, len(y), resamples=resamples)


def area_under_roc(scores: Array, is_positive: Array) -> float:
    """The share of pairs (positive, negative) in the right order; equal scores count one half.

    By the sum of ranks (Mann and Whitney 1947), equal scores sharing the mean of their ranks. NaN
    where there are no pairs.

    >>> area_under_roc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    positives = int(is_positive.sum())
    pairs = positives * (len(rank) - positives)
    if not pairs:
        return float("nan")
    return float((rank[is_positive].sum() - positives * (positives + 1) / 2) / pairs)


def mean_absolute_error(predicted: Array, y: Array) -> Estimate:
    """The mean distance between value and prediction."""
    distance = np.abs(np.asarray(predicted) - np.asarray(y))
    if distance.ndim == 2:  # of several values those that are known
        distance = np.nanmean(distance, 1) if np.isnan(distance).any() else distance.mean(1)
    return mean(distance)


def r_squared(predicted: Array, y: Array) -> Estimate:
    """One less the squared error's share of the variance; 0 is the trivial predictor."""
    predicted, y = np.asarray(predicted, np.float64), np.asarray(y, np.float64)
    has_gaps = bool(np.isnan(y).any())
    total = np.nansum if has_gaps else np.sum

    def score(index: Array) -> float:
        known = (~np.isnan(y[index])).sum(0).clip(1) if has_gaps else len(index)
        spread = total(np.square(y[index] - total(y[index], 0) / known))
        error = total(np.square(y[index] - predicted[index]))
        return float(1 - error / spread) if spread > 0 else float("nan")

    return bootstrap(score, len(y))


def node_auc(scores: Array, truth: Array, ptr: Array, *, resamples: int = 100) -> Estimate:
    """Area under the ROC curve of node scores against the known explanation, over all nodes.

    Graphs without an explanation (or that are nothing but explanation) count too: their nodes are
    ranked together with all others, as in the literature. The interval resamples graphs.
    """
    scores, truth, ptr = np.asarray(scores), np.asarray(truth, bool), np.asarray(ptr)
    if len(scores) != len(truth) or len(scores) != ptr[-1]:
        raise InputError(
            f"{len(scores)} scores, {len(truth)} marks and {ptr[-1]} nodes do not fit together"
        )

    def area(index: Array) -> float:
        nodes = np.concatenate([np.arange(ptr[g], ptr[g + 1]) for g in index])
        return area_under_roc(scores[nodes], truth[nodes])

    return bootstrap(area, len(ptr) - 1, resamples=resamples)


def precision_at_truth(scores: Array, truth: Array, ptr: Array) -> Estimate:
    """The share of the best-scored nodes, as many as the explanation has, that belongs to it."""
    scores, truth, ptr = np.asarray(scores), np.asarray(truth, bool), np.asarray(ptr)
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    size = np.bincount(graph, weights=truth, minlength=len(ptr) - 1)
    found = truth & (ranks(scores, ptr) < size[graph])
    hits = np.bincount(graph, weights=found, minlength=len(ptr) - 1)
    with np.errstate(invalid="ignore"):
        return mean(hits / size)


def ranks(scores: Array, ptr: Array) -> Array:
    """The place of each node in its graph, the best-scored first; equal scores by node number.

    >>> ranks(np.array([0.3, 0.9, 0.3, 0.1, 0.2]), np.array([0, 3, 5])).tolist()
    [1, 0, 2, 1, 0]
    """
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[np.lexsort((-scores, graph))] = np.arange(len(scores)) - ptr[graph]
    return rank


def kept_share(mask: Array, ptr: Array) -> Estimate:
    """The share of its nodes that each graph keeps."""
    ptr = np.asarray(ptr)
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    kept = np.bincount(graph, weights=np.asarray(mask, float), minlength=len(ptr) - 1)
    with np.errstate(invalid="ignore"):
        return mean(kept / np.diff(ptr))


def agreement(masks: Array, ptr: Array) -> Array:
    r"""How far several choices of nodes agree on each graph: the mean Jaccard index of all pairs.

    .. math:: \frac{2}{M(M-1)} \sum_{a<b} \frac{|S_a \cap S_b|}{|S_a \cup S_b|}

    1 when all choose the same nodes, or when there is only one choice; two random halves of a graph
    have about one third.

    >>> masks = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool)
    >>> agreement(masks, np.array([0, 4])).round(3).tolist()
    [0.333]

    Args:
        masks: ``bool [choices, nodes]``.
        ptr: ``[graphs + 1]``; graph *g* owns nodes ``ptr[g]:ptr[g + 1]``.
    """
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    pairs = list(combinations(range(len(masks)), 2))
    total = np.zeros(len(ptr) - 1)
    for a, b in pairs:
        common = np.bincount(graph, weights=masks[a] & masks[b], minlength=len(total))
        either = np.bincount(graph, weights=masks[a] | masks[b], minlength=len(total))
        total += np.where(either > 0, common / np.maximum(either, 1), 1.0)
    return total / len(pairs) if pairs else np.ones(len(total))
