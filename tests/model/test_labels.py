"""What labels say: the task, the classes, and whether they can be used."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from vgib.data.molecules import Molecules
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.model.labels import (
    as_called,
    as_targets,
    bounds_of,
    class_weights,
    labels_each,
    task_of,
    with_labels,
)
from vgib.model.words import Wording

GRAPHS: PackedGraphs = replace(generate_ba2motifs(4), y=None)


@pytest.mark.parametrize(
    "y",
    [
        [1, 0, 1, 0],
        (1, 0, 1, 0),
        np.array([1, 0, 1, 0], dtype=np.uint8),
        torch.tensor([1, 0, 1, 0]),
        pd.Series([1, 0, 1, 0], index=[9, 8, 7, 6]),
        [[1], [0], [1], [0]],
        [True, False, True, False],
    ],
)
def test_labels_come_in_many_kinds(y: Any) -> None:
    labeled = with_labels(GRAPHS, y)
    assert labeled.y.tolist() == [1, 0, 1, 0]
    assert task_of(labeled) == ("classification", [0, 1])
    assert as_targets(labeled, "classification", [0, 1]).y.dtype == torch.int64


def test_given_labels_go_before_those_that_the_graphs_carry() -> None:
    carrying = with_labels(GRAPHS, [0.5, 1.5, 2.5, 3.5])
    assert with_labels(carrying).y.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert with_labels(carrying, [1, 2, 3, 4]).y.tolist() == [1, 2, 3, 4]
    assert GRAPHS.y is None  # the given graphs are left as they are


def test_the_type_of_the_labels_says_the_task() -> None:
    assert task_of(with_labels(GRAPHS, [0.0, 1.0, 0.0, 0.5])) == ("regression", None)
    assert task_of(with_labels(GRAPHS, [0.0, 1.0, 0.0, 1.0])) == ("classification", [0, 1])
    assert task_of(with_labels(GRAPHS, [3, -1, 3, 7])) == ("classification", [-1, 3, 7])


def test_the_task_can_be_asked_for() -> None:
    whole = with_labels(GRAPHS, [0.0, 2.0, 0.0, 2.0])
    assert task_of(whole, "classification") == ("classification", [0, 2])
    assert task_of(with_labels(GRAPHS, [1, 2, 3, 4]), "regression") == ("regression", None)


def test_classes_are_numbered_from_zero() -> None:
    targets = as_targets(with_labels(GRAPHS, [7, -1, 3, 7]), "classification", [-1, 3, 7])
    assert targets.y.tolist() == [2, 0, 1, 2]


def test_values_become_32_bits() -> None:
    table = np.arange(8).reshape(4, 2)
    targets = as_targets(with_labels(GRAPHS, table), "regression", None)
    assert targets.y.dtype == torch.float32 and labels_each(targets) == 2
    assert labels_each(with_labels(GRAPHS, [1, 2, 3, 4])) == 1


@pytest.mark.parametrize("y", [[0, 1, 2, 0], [0, 1, -1, 0], [0.0, 1.0, 0.5, 0.0]])
def test_classes_beyond_those_of_training_are_refused(y: list[float]) -> None:
    with pytest.raises(InputError, match=r"classes beyond \[0, 1\]"):
        as_targets(with_labels(GRAPHS, y), "classification", [0, 1])


def test_the_number_of_values_must_be_that_of_the_model() -> None:
    with pytest.raises(InputError, match="have 1 labels each; this model predicts 2"):
        as_targets(with_labels(GRAPHS, [1.0, 2.0, 3.0, 4.0]), "regression", None, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "carry no labels; pass y="),
        ([1, 2, 3], r"4 graphs and labels of shape \(3,\)"),
        (1, r"shape \(\)"),
        (np.zeros((4, 1, 1)), r"shape \(4, 1, 1\)"),
        (["a", "b", "a", "b"], "must be numbers, classes or values; got 'a'"),
        ([1.0, None, 1.0, 2.0], "got None"),
        (np.zeros(4, dtype=complex), "must be numbers"),
        ([1.0, np.nan, np.inf, 2.0], "2 of 4 labels are NaN or infinite, the first of graph 1"),
        ([[1.0, 2.0]] * 3 + [[1.0, np.inf]], "1 of 4 labels.*graph 3"),
        ([[1.0, np.nan]] * 2 + [[np.nan] * 2, [1.0, 2.0]], "1 of 4 labels.*graph 2"),
        ([[1.0, np.nan]] * 4, "no graph has a label number 1"),
    ],
)
def test_labels_that_cannot_be_used_are_answered(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_labels(GRAPHS, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0, 2.0, 3.0], "values that are not whole"),
        ([5, 5, 5, 5], "at least two classes; all are 5"),
        ([[0, 1]] * 4, "one label for each graph; got several"),
    ],
)
def test_labels_that_are_no_classes_are_answered(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_of(with_labels(GRAPHS, y), "classification")


def test_weights_of_classes_are_any_numbers_from_zero_of_which_one_counts() -> None:
    y = torch.tensor([0, 1, 1, 1])
    for weights in ([0.0, 0.5], [0.25, 0.75], [3.0, 1.0]):
        found = class_weights(y, 2, weights)
        assert found is not None and found.tolist() == weights
    for wrong in ([0.0, 0.0], [-1.0, 2.0], [1.0], [1.0, 1.0, 1.0]):
        with pytest.raises(InputError, match="class_weight needs 2 numbers from 0"):
            class_weights(y, 2, wrong)


def test_weights_of_classes_may_be_named_by_their_class() -> None:
    y = torch.tensor([0, 1, 1, 2])
    found = class_weights(y, 3, {9: 4.0, 5: 0.5}, [5, 7, 9])
    assert found is not None and found.tolist() == [0.5, 1.0, 4.0]
    found = class_weights(y, 3, {0: 2.0, 2: 3.0})
    assert found is not None and found.tolist() == [2.0, 1.0, 3.0]
    with pytest.raises(InputError, match=r"weight of class 1; the classes are \[5, 7, 9\]"):
        class_weights(y, 3, {1: 4.0}, [5, 7, 9])


def test_numbers_in_a_column_of_objects_are_numbers() -> None:
    for y in (np.array([0, 1, 0, 1], dtype=object), np.array([0.5, 1, 2, 3], dtype=object)):
        labeled = with_labels(GRAPHS, y)
        assert labeled.y is not None and labeled.y.tolist() == y.tolist()
    with pytest.raises(InputError, match="rows of labels differ in length"):
        with_labels(GRAPHS, [[1.0, 2.0]] * 3 + [[1.0]])


def test_names_of_classes_are_answered_with_how_to_number_them() -> None:
    with pytest.raises(InputError, match=r"got 'b'; names, y = np.unique\(labels"):
        with_labels(GRAPHS, ["b", "a", "b", "a"])


@pytest.mark.parametrize(
    ("y", "is_said"),
    [
        ([0.0, 1.0, 2.0] * 8, True),
        ([-1.0, 1.0] * 12, True),
        ([0.0, 1.0, 2.5] * 8, False),
        ([float(number) for number in range(24)], False),
        ([1.0, 2.0, 3.0, 4.0], False),
        ([3.0] * 24, False),
    ],
)
def test_few_whole_numbers_as_floats_are_said_to_be_taken_for_values(
    y: list[float], is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    graphs = replace(GRAPHS[[0] * len(y)], y=torch.tensor(y))
    with caplog.at_level(logging.WARNING):
        assert task_of(graphs)[0] == "regression"
    assert ("say task='classification' if they are classes" in caplog.text) == is_said
    caplog.clear()
    assert task_of(graphs, "regression")[0] == "regression"
    assert not caplog.records


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        (None, [0, 1, 1, 0]),
        (("Inactive", "ACTIVE"), [3, 7, 7, 3]),
        (("active", "inactive"), [7, 3, 3, 7]),
        (("no", "yes"), [3, 7, 7, 3]),
        (("active", "purple"), None),
        (("green", "purple"), None),
        (("no", "perhaps", "yes"), None),
    ],
)
def test_classes_that_are_words_are_those_of_the_model(
    called: tuple[str, ...] | None, expected: list[int] | None
) -> None:
    graphs = with_labels(GRAPHS, [0, 1, 1, 0])
    words = Wording(names={3: "inactive", 7: "active"})
    molecules = Molecules(graphs, (), (), np.arange(4), class_names=called)
    if expected is None:
        with pytest.raises(InputError, match="this model knows inactive, active"):
            as_called(molecules, words)
    else:
        assert as_called(molecules, words).y.tolist() == expected
        assert as_called(molecules, Wording()).y.tolist() == [0, 1, 1, 0]


def test_no_graphs_cannot_be_learned_from() -> None:
    with pytest.raises(InputError, match="no graphs"):
        with_labels(GRAPHS[[]], [])


def test_predictions_may_go_a_tenth_of_the_range_beyond_it_on_either_side() -> None:
    values = torch.tensor([[0.0, 5.0], [10.0, float("nan")], [4.0, 7.0]])
    low_and_high = np.array(bounds_of(values))
    np.testing.assert_allclose(low_and_high, [[-1.0, 11.0], [4.8, 7.2]])
