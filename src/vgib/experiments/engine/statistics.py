"""What differences over folds and over seeds mean: pure functions of arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats  # type: ignore[import-untyped]  # it ships no types

from vgib.metrics import Estimate

Array = npt.NDArray[np.float64]


def verdict(difference: Estimate) -> str:
    """``win`` or ``loss`` when the interval of a difference leaves zero out, else ``tie``."""
    if difference.low > 0:
        return "win"
    return "loss" if difference.high < 0 else "tie"


def signed(difference: Estimate) -> str:
    """A difference with its sign; without an interval where one value cannot have any.

    >>> signed(Estimate(0.012, -0.003, 0.027, 10))
    '+0.012 [-0.003, +0.027]'
    """
    if not np.isfinite([difference.low, difference.high]).all():
        return f"{difference.value:+.3f}"
    return f"{difference.value:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


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


def corrected_interval(differences: npt.ArrayLike, test_ratio: float) -> Estimate:
    r"""The mean of paired differences over folds, with an interval for overlapping training sets.

    .. math:: \bar d \pm t_{J-1} \sqrt{\Bigl(\frac1J + \frac{n_{test}}{n_{train}}\Bigr) s^2}

    The folds share most of their training graphs, so that their results are not independent and the
    usual :math:`s^2 / J` is too small. Nadeau and Bengio, "Inference for the generalization error",
    Machine Learning 52, 2003.

    Args:
        differences: :math:`d_j`, one for each of :math:`J` folds.
        test_ratio: :math:`n_{test} / n_{train}`.
    """
    return combined_interval([Folds(differences, test_ratio)])


def combined_interval(datasets: Sequence[Folds]) -> Estimate:
    r"""The weighted mean over datasets, whose folds have nothing in common.

    .. math:: v_D = w_D^2 \Bigl(\frac1{J_D} + \frac{n_{test}}{n_{train}}\Bigr) s_D^2, \quad
              \sum_D w_D \bar d_D \pm t_\nu \sqrt{\textstyle\sum_D v_D}, \quad
              \nu = \frac{(\sum_D v_D)^2}{\sum_D v_D^2 / (J_D - 1)}

    The degrees of freedom are Welch's and Satterthwaite's. Weights sum to one.
    """
    found = [np.asarray(each.differences, dtype=np.float64) for each in datasets]
    count = sum(map(len, found))
    if not found or not all(map(len, found)):
        return Estimate(nan, -inf, inf, count)
    mean = sum(each.weight * float(d.mean()) for each, d in zip(datasets, found, strict=True))
    if min(map(len, found)) < 2:
        return Estimate(mean, -inf, inf, count)
    variances = [
        each.weight**2 * (1 / len(d) + each.test_ratio) * float(d.var(ddof=1))
        for each, d in zip(datasets, found, strict=True)
    ]
    if not (total := sum(variances)):
        return Estimate(mean, mean, mean, count)
    freedom = total**2 / sum(v**2 / (len(d) - 1) for v, d in zip(variances, found, strict=True))
    half = float(stats.t.ppf(0.975, freedom)) * sqrt(total)
    return Estimate(mean, mean - half, mean + half, count)


def over_seeds(values: npt.ArrayLike) -> Estimate:
    r"""The mean of one value for each seed, with Student's interval.

    .. math:: \bar v \pm t_{n-1} \frac{s}{\sqrt n}

    A seed splits, initializes and trains anew, so that seeds are what varies. With three of them
    :math:`t = 4.3`: resampling three values would give an interval of half that width.
    """
    return corrected_interval(values, 0.0)


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
