"""Every number against scikit-learn or by hand, and intervals that behave like intervals."""

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score

from vgib import metrics
from vgib.errors import InputError
from vgib.metrics import Estimate, is_share

RNG = np.random.default_rng(0)


def is_nothing(estimate: Estimate) -> bool:
    return all(map(math.isnan, (estimate.value, estimate.low, estimate.high)))


# ---- estimates -----------------------------------------------------------------------------------


def test_an_estimate_becomes_plain_values() -> None:
    estimate = Estimate(0.5, 0.25, 0.75, 10)
    assert estimate.to_json() == {"value": 0.5, "low": 0.25, "high": 0.75, "n": 10}
    assert str(estimate) == "0.500 [0.250, 0.750]"


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    values = RNG.normal(3, 2, 2000)
    estimate = metrics.mean(values)
    assert estimate.value == pytest.approx(values.mean())
    half = 1.96 * values.std() / math.sqrt(2000)
    assert estimate.high - estimate.value == pytest.approx(half, rel=0.1)
    assert estimate.value - estimate.low == pytest.approx(half, rel=0.1)


def test_intervals_cover_the_truth_about_95_times_in_100() -> None:
    covered = 0
    for sample in RNG.normal(size=(100, 80)):
        estimate = metrics.mean(sample)
        covered += estimate.low <= 0 <= estimate.high
    assert 86 <= covered <= 100


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_the_interval_of_a_mean_holds_the_mean_within_the_values(values: list[float]) -> None:
    estimate = metrics.mean(np.array(values))
    assert min(values) - 1e-6 <= estimate.low <= estimate.high <= max(values) + 1e-6
    assert estimate.value == pytest.approx(np.mean(values), abs=1e-6)


def test_intervals_shrink_with_the_number_of_graphs() -> None:
    values = RNG.normal(size=4000)
    widths = [metrics.mean(values[:n]).high - metrics.mean(values[:n]).low for n in (40, 400, 4000)]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_the_same_seed_gives_the_same_interval() -> None:
    values = RNG.normal(size=50)
    assert metrics.mean(values, seed=3) == metrics.mean(values, seed=3)
    assert metrics.mean(values, seed=3) != metrics.mean(values, seed=4)


def test_resamples_without_a_result_are_left_out() -> None:
    only_first = metrics.bootstrap(lambda index: 1.0 if 0 in index else math.nan, 5)
    assert only_first == Estimate(1.0, 1.0, 1.0, 5)
    assert is_nothing(metrics.bootstrap(lambda index: math.nan, 5))


def test_many_resamples_at_once_are_the_same_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(0).random(37)
    one_by_one = metrics.bootstrap(lambda index: float(values[index].mean()), 37, seed=3)
    assert metrics.mean(values, seed=3) == one_by_one
    monkeypatch.setattr(metrics, "AT_ONCE", 100)
    assert metrics.mean(values, seed=3) == one_by_one


def test_nan_is_left_out_of_means_and_of_the_count() -> None:
    estimate = metrics.mean(np.array([1.0, math.nan, 3.0, math.inf]))
    assert (estimate.value, estimate.n) == (2.0, 2)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_the_mean_of_nothing_is_nothing(values: list[float]) -> None:
    assert is_nothing(metrics.mean(np.array(values))) and metrics.mean(np.array(values)).n == 0


# ---- predictions ---------------------------------------------------------------------------------


def test_accuracy_is_the_share_of_right_classes() -> None:
    estimate = metrics.accuracy(np.array([0, 1, 1, 2]), np.array([0, 1, 0, 2]))
    assert (estimate.value, estimate.n) == (0.75, 4)
    assert 0 <= estimate.low < 0.75 < estimate.high <= 1


def test_the_area_of_two_classes_is_that_of_scikit_learn() -> None:
    y = RNG.integers(0, 2, 200)
    p = np.clip(0.3 * y + RNG.random(200) * 0.7, 0, 1)
    estimate = metrics.roc_auc(np.stack([1 - p, p], axis=1), y)
    assert estimate.value == pytest.approx(roc_auc_score(y, p))
    assert estimate.low < estimate.value < estimate.high


def test_the_area_of_several_classes_is_that_of_scikit_learn() -> None:
    y = RNG.integers(0, 3, 120)
    logits = RNG.random((120, 3)) + np.eye(3)[y]
    p = logits / logits.sum(1, keepdims=True)
    expected = roc_auc_score(y, p, multi_class="ovr")
    assert metrics.roc_auc(p, y).value == pytest.approx(expected)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.1 + 1e-9, 0.5, 1.0]), st.booleans()), min_size=2
    )
)
def test_the_area_is_that_of_scikit_learn_also_with_equal_scores(
    pairs: list[tuple[float, bool]],
) -> None:
    scores, truth = np.array([s for s, _ in pairs]), np.array([t for _, t in pairs])
    area = metrics.area_under_roc(scores, truth)
    if truth.all() or not truth.any():
        assert math.isnan(area)
    else:
        assert area == pytest.approx(roc_auc_score(truth, scores))


def test_one_class_alone_has_no_area() -> None:
    assert is_nothing(metrics.roc_auc(np.full((5, 2), 0.5), np.ones(5, dtype=int)))
    three = metrics.roc_auc(np.full((4, 3), 1 / 3), np.array([0, 1, 0, 1]))
    assert is_nothing(three)


def test_values_are_judged_by_distance_and_by_explained_variance() -> None:
    y, predicted = RNG.normal(size=100), RNG.normal(size=100)
    error = metrics.mean_absolute_error(predicted, y)
    assert error.value == pytest.approx(np.abs(predicted - y).mean())
    assert metrics.r_squared(predicted, y).value == pytest.approx(r2_score(y, predicted))
    assert metrics.r_squared(np.full(100, y.mean()), y).value == pytest.approx(0)
    assert metrics.r_squared(y, y).value == 1


def test_explained_variance_has_no_unit() -> None:
    predicted, y = np.array([0.1, 0.4, 0.2, 0.9]), np.array([0.0, 0.5, 0.3, 1.0])
    whole = metrics.r_squared(predicted, y)
    assert whole.value > 0.9
    assert metrics.r_squared(predicted / 1000, y / 1000).value == pytest.approx(whole.value)


def test_several_values_count_together_for_each_graph() -> None:
    y = RNG.normal(size=(50, 3))
    predicted = y + np.array([0.0, 1.0, 2.0])
    error = metrics.mean_absolute_error(predicted, y)
    assert error.value == pytest.approx(1.0) and error.n == 50
    expected = r2_score(y, predicted, multioutput="variance_weighted")
    assert metrics.r_squared(predicted, y).value == pytest.approx(expected)


def test_labels_that_do_not_vary_have_no_explained_variance() -> None:
    assert is_nothing(metrics.r_squared(np.zeros(4), np.ones(4)))
    assert is_nothing(metrics.r_squared(np.zeros(1), np.ones(1)))


def test_no_graphs_have_no_quality() -> None:
    empty = np.zeros(0)
    assert is_nothing(metrics.mean_absolute_error(empty, empty))
    assert is_nothing(metrics.mean_absolute_error(np.zeros((0, 2)), np.zeros((0, 2))))
    assert is_nothing(metrics.accuracy(empty, empty))
    assert is_nothing(metrics.r_squared(empty, empty))
    assert is_nothing(metrics.roc_auc(np.zeros((0, 2)), empty))
    assert is_nothing(metrics.node_auc(empty, empty, np.array([0])))
    assert is_nothing(metrics.kept_share(empty, np.array([0])))


# ---- explanations --------------------------------------------------------------------------------


def test_the_area_of_node_scores_runs_over_all_nodes() -> None:
    ptr = np.array([0, 4, 9, 15])
    truth, scores = RNG.random(15) < 0.4, RNG.random(15)
    estimate = metrics.node_auc(scores, truth, ptr)
    assert estimate.value == pytest.approx(roc_auc_score(truth, scores))
    assert estimate.n == 3  # graphs, which is what is resampled
    assert metrics.node_auc(truth.astype(float), truth, ptr).value == 1


def test_graphs_without_a_marked_node_count_too() -> None:
    ptr, truth = np.array([0, 2, 4]), np.array([True, False, False, False])
    # The second graph's nodes outrank the marked one, which costs half of the area.
    assert metrics.node_auc(np.array([0.5, 0.1, 0.9, 0.2]), truth, ptr).value == pytest.approx(
        2 / 3
    )
    assert is_nothing(metrics.node_auc(np.zeros(4), np.zeros(4, bool), ptr))
    assert is_nothing(metrics.node_auc(np.zeros(4), np.ones(4, bool), ptr))


@pytest.mark.parametrize(("scores", "truth"), [(3, 4), (4, 3), (5, 5)])
def test_lengths_must_fit_together(scores: int, truth: int) -> None:
    with pytest.raises(InputError, match="do not fit together"):
        metrics.node_auc(np.zeros(scores), np.zeros(truth), np.array([0, 4]))


def test_precision_looks_at_as_many_nodes_as_the_explanation_has() -> None:
    ptr = np.array([0, 4, 8, 10, 10])
    truth = np.array([1, 1, 0, 0, 0, 0, 0, 1, 0, 0], bool)
    scores = np.array([0.9, 0.1, 0.8, 0.0, 0.1, 0.2, 0.3, 0.9, 0.5, 0.5])
    estimate = metrics.precision_at_truth(scores, truth, ptr)
    # One of two, one of one; the graphs without an explanation or without nodes are left out.
    assert (estimate.value, estimate.n) == (0.75, 2)


def test_precision_is_a_slow_loop_written_fast() -> None:
    sizes = RNG.integers(1, 9, 30)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    truth, scores = RNG.random(ptr[-1]) < 0.3, RNG.random(ptr[-1])
    expected: list[Any] = []
    for low, high in pairwise(ptr):
        k = truth[low:high].sum()
        if k:
            expected.append(truth[low:high][np.argsort(-scores[low:high])[:k]].mean())
    assert metrics.precision_at_truth(scores, truth, ptr).value == pytest.approx(np.mean(expected))


def test_the_kept_share_is_a_mean_over_graphs_not_over_nodes() -> None:
    mask = np.array([True, True, False, False, False, True])
    assert metrics.kept_share(mask, np.array([0, 5, 6, 6])).value == pytest.approx(0.7)


def test_agreement_is_the_mean_jaccard_index_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    ptr = np.array([0, 4, 4, 9, 10])
    masks = rng.random((4, 10)) < 0.5
    masks[:, 9] = False  # a graph of which nobody chooses anything
    found = metrics.agreement(masks, ptr)
    for graph, (low, high) in enumerate(pairwise(ptr)):
        sets = [set(np.flatnonzero(mask[low:high])) for mask in masks]
        each = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
        assert found[graph] == pytest.approx(np.mean(each))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("accuracy", True), ("node_auc", True), ("accuracy_of_hERG", True), ("rmse_of_hERG", False)],
)
def test_what_is_a_share_of_graphs_or_an_area_stays_between_0_and_1(
    name: str, is_one: bool
) -> None:
    assert is_share(name) is is_one
