"""What differences over the same folds mean: pure functions of arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isnan, nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats  # type: ignore[import-untyped]  # it ships no types

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """A mean difference with its corrected 95 % interval.

    >>> print(Difference(0.012, -0.003, 0.027, 10))
    +0.012 [-0.003, +0.027]
    """

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    @property
    def verdict(self) -> str:
        """``win`` or ``loss`` when the interval leaves zero out, else ``tie``."""
        if self.low > 0:
            return "win"
        return "loss" if self.high < 0 else "tie"


@dataclass(frozen=True)
class Folds:
    """Paired differences over the folds of one dataset.

    Attributes:
        differences: One for each fold.
        test_ratio: Test graphs for each training graph.
        weight: Of this dataset in a mean over several.
    """

    differences: npt.ArrayLike
    test_ratio: float
    weight: float = 1.0


def corrected_interval(
    differences: npt.ArrayLike, test_ratio: float, *, level: float = 0.95
) -> Difference:
    r"""The mean of paired differences over folds, with an interval for overlapping training sets.

    .. math:: \bar d \pm t_{J-1} \sqrt{\Bigl(\frac1J + \frac{n_{test}}{n_{train}}\Bigr) s^2}

    The folds share most of their training graphs, so that their results are not independent and the
    usual :math:`s^2 / J` is too small. Nadeau and Bengio, "Inference for the generalization error",
    Machine Learning 52, 2003.

    Args:
        differences: :math:`d_j`, one for each of :math:`J` folds.
        test_ratio: :math:`n_{test} / n_{train}`.
        level: Of confidence.
    """
    return combined_interval([Folds(differences, test_ratio)], level=level)


def combined_interval(datasets: Sequence[Folds], *, level: float = 0.95) -> Difference:
    r"""The weighted mean over datasets, whose folds have nothing in common.

    .. math:: v_D = w_D^2 \Bigl(\frac1{J_D} + \frac{n_{test}}{n_{train}}\Bigr) s_D^2, \quad
              \sum_D w_D \bar d_D \pm t_\nu \sqrt{\textstyle\sum_D v_D}, \quad
              \nu = \frac{(\sum_D v_D)^2}{\sum_D v_D^2 / (J_D - 1)}

    The degrees of freedom are Welch's and Satterthwaite's. Weights sum to one.
    """
    found = [np.asarray(each.differences, dtype=np.float64) for each in datasets]
    count = sum(map(len, found))
    if not found or not all(map(len, found)):
        return Difference(nan, -inf, inf, count)
    mean = sum(each.weight * float(d.mean()) for each, d in zip(datasets, found, strict=True))
    if min(map(len, found)) < 2:
        return Difference(mean, -inf, inf, count)
    variances = [
        each.weight**2 * (1 / len(d) + each.test_ratio) * float(d.var(ddof=1))
        for each, d in zip(datasets, found, strict=True)
    ]
    if not (total := sum(variances)):
        return Difference(mean, mean, mean, count)
    freedom = total**2 / sum(v**2 / (len(d) - 1) for v, d in zip(variances, found, strict=True))
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * sqrt(total)
    return Difference(mean, mean - half, mean + half, count)


def resampled_interval(
    groups: Sequence[Array],
    statistic: Callable[[Array], Array],
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """A function of means, with a bootstrap interval over groups and over the rows of each.

    Groups (seeds) are drawn with replacement, and in each of them rows (molecules), so that the
    interval holds what both contribute. With one group it is over its rows alone.

    Args:
        groups: ``[rows, columns]`` for each seed; the columns of a row belong together.
        statistic: ``[..., columns] -> [...]``, from the means of the columns.
        resamples: Draws.
        seed: Of the draws.
        level: Of confidence.
    """
    kept = [group for group in groups if len(group)]
    if not kept:
        return Difference(nan, -inf, inf, 0)
    drawn = statistic(_resampled(kept, resamples, seed))
    point = statistic(np.mean([group.mean(0) for group in kept], axis=0))
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
    return Difference(float(point), float(low), float(high), sum(map(len, kept)))


def column_intervals(
    groups: Sequence[Array], *, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> list[Difference]:
    """The mean of every column with its interval, as in :func:`resampled_interval`, in one go."""
    drawn = _resampled(groups, resamples, seed)
    points = np.mean([group.mean(0) for group in groups], axis=0)
    lows, highs = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    count = sum(map(len, groups))
    triples = zip(points, lows, highs, strict=True)
    return [Difference(float(p), float(low), float(high), count) for p, low, high in triples]


def _resampled(kept: Sequence[Array], resamples: int, seed: int) -> Array:
    """Means of columns over drawn groups and drawn rows of them, ``[resamples, columns]``."""
    rng = np.random.default_rng(seed)
    means = [
        _row_weights(len(group), resamples, seed + number) @ group
        for number, group in enumerate(kept)
    ]
    picked = rng.integers(len(kept), size=(len(kept), resamples))
    # Another draw of rows each time that a group is picked.
    draws = rng.permuted(np.tile(np.arange(resamples), (len(kept), 1)), axis=1)
    found: Array = np.mean(np.stack(means)[picked, draws], axis=0)
    return found


@lru_cache(maxsize=32)
def _row_weights(rows: int, resamples: int, seed: int) -> Array:
    """The share that each row has in each resample, ``[resamples, rows]``; drawn once."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(rows, size=(resamples, rows)) + rows * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * rows)
    weights: Array = counts.reshape(resamples, rows) / rows
    return weights


def average_ranks(scores: npt.ArrayLike) -> list[float]:
    """The mean rank of each column over the rows; the highest of a row has rank 1, ties share.

    >>> average_ranks([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]])
    [2.0, 1.75, 2.25]
    """
    table = np.asarray(scores, dtype=np.float64)
    if not table.size:
        return []
    ranks: Array = stats.rankdata(-table, axis=1)
    return [float(rank) for rank in ranks.mean(0)]


def spread(values: Sequence[float]) -> float:
    """The standard deviation, as the paper gives it; NaN for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else nan


def plain(value: float) -> Any:
    """A number for JSON, which has no NaN and no infinity."""
    return None if isnan(value) or abs(value) == inf else value
