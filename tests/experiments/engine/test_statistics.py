"""Intervals against hand computations, verdicts and ranks."""

import math

import numpy as np
import pytest
from scipy import stats

from vgib.experiments.engine.statistics import (
    Folds,
    average_ranks,
    combined_interval,
    corrected_interval,
    over_seeds,
    signed,
    spread,
    verdict,
)
from vgib.metrics import Estimate

DIFFERENCES = [0.02, -0.01, 0.03, 0.00, 0.01]


def test_the_corrected_interval_by_hand() -> None:
    # mean 0.01, s^2 = (1 + 4 + 4 + 1 + 0) e-4 / 4 = 2.5e-4, (1/5 + 1/8) s^2 = 8.125e-5,
    # its root 0.00901388, t(0.975, 4) = 2.776445, half width 0.0250265.
    found = corrected_interval(DIFFERENCES, 1 / 8)
    assert found.value == pytest.approx(0.01)
    assert found.low == pytest.approx(0.01 - 0.0250265, abs=1e-7)
    assert found.high == pytest.approx(0.01 + 0.0250265, abs=1e-7)
    assert found.n == 5


def test_without_correction_it_is_students_interval() -> None:
    found = corrected_interval(DIFFERENCES, 0.0)
    half = 2.7764451 * np.std(DIFFERENCES, ddof=1) / math.sqrt(5)
    assert found.high - found.value == pytest.approx(half)


def test_datasets_with_nothing_in_common_by_hand() -> None:
    # Variances 2.5e-4 and 4e-4.
    one, other = [0.02, -0.01, 0.03, 0.00, 0.01], [0.05, 0.01, 0.03]
    found = combined_interval([Folds(one, 0.125, 0.25), Folds(other, 0.2, 0.75)])
    first = 0.25**2 * (1 / 5 + 0.125) * 2.5e-4
    second = 0.75**2 * (1 / 3 + 0.2) * 4e-4
    freedom = (first + second) ** 2 / (first**2 / 4 + second**2 / 2)
    half = stats.t.ppf(0.975, freedom) * math.sqrt(first + second)
    assert found.value == pytest.approx(0.25 * 0.01 + 0.75 * 0.03)
    assert found.high - found.value == pytest.approx(half) and found.n == 8


def test_a_dataset_of_one_fold_leaves_the_mean_open() -> None:
    found = combined_interval([Folds(DIFFERENCES, 0.125, 0.5), Folds([0.2], 0.125, 0.5)])
    assert found.value == pytest.approx(0.105) and verdict(found) == "tie"


def test_the_correction_widens() -> None:
    narrow, wide = (corrected_interval(DIFFERENCES, share) for share in (0.0, 0.125))
    assert wide.low < narrow.low and wide.high > narrow.high


def test_equal_differences_have_no_width() -> None:
    assert corrected_interval([0.25] * 10, 0.125) == Estimate(0.25, 0.25, 0.25, 10)


def test_one_fold_says_nothing_and_none_even_less() -> None:
    one = corrected_interval([0.2], 0.125)
    assert one.value == 0.2 and verdict(one) == "tie"
    assert math.isnan(corrected_interval([], 0.125).value)


def test_the_interval_covers_the_truth_when_folds_overlap() -> None:
    """Differences that share a common error, as overlapping training sets make them."""
    random = np.random.default_rng(0)
    ratio = 1 / 8
    # The variance of a mean of correlated values: rho = ratio / (1 + ratio), as the method assumes.
    rho = ratio / (1 + ratio)
    covered = 0
    for _ in range(2000):
        common = random.normal() * math.sqrt(rho)
        folds = common + random.normal(size=10) * math.sqrt(1 - rho)
        found = corrected_interval(folds, ratio)
        covered += found.low <= 0 <= found.high
    assert covered / 2000 == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.01, 0.02, "win"), (-0.02, -0.01, "loss"), (-0.01, 0.01, "tie")]
)
def test_a_verdict_needs_an_interval_without_zero(low: float, high: float, expected: str) -> None:
    assert verdict(Estimate((low + high) / 2, low, high, 10)) == expected


def test_ranks_of_nothing() -> None:
    assert average_ranks([]) == []


def test_spread_is_the_sample_standard_deviation() -> None:
    assert spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))
    assert math.isnan(spread([1.0]))


def test_seeds_have_students_interval() -> None:
    # Mean 2, s = 1, t(0.975, 2) = 4.302653: half width 4.302653 / sqrt(3).
    found = over_seeds([1.0, 2.0, 3.0])
    assert found.value == 2.0 and found.n == 3
    assert found.high - found.value == pytest.approx(4.302653 / math.sqrt(3))


def test_one_seed_has_a_value_and_no_interval() -> None:
    found = over_seeds([0.25])
    assert found.value == 0.25 and verdict(found) == "tie"
    assert signed(found) == "+0.250"
