"""Cross-validation on a user's own graphs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.experiments import conftest

from vgib.data.packed import PackedGraphs
from vgib.data.tu import read_tu
from vgib.errors import InputError
from vgib.model.kfold import Fold, cross_validate, splits
from vgib.model.recognizer import SubgraphRecognizer

QUICK = {"epochs": 2, "hidden": 8, "depth": 1, "head_hidden": 8}

toy = conftest.toy  # a fixture of the experiments


@pytest.fixture(scope="module")
def graphs(toy: Path) -> PackedGraphs:
    return read_tu(toy / "tu" / "Toy.zip")


def test_every_fold_is_judged(graphs: PackedGraphs) -> None:
    told: list[Fold] = []
    model = SubgraphRecognizer("gin", "vgib", **QUICK)
    found = cross_validate(model, graphs, 3, on_fold=told.append)
    assert told == found and [fold["fold"] for fold in found] == [0, 1, 2]
    assert sum(fold["test_graphs"] for fold in found) == len(graphs)
    assert all(0 <= fold["metrics"]["accuracy"] <= 1 for fold in found)
    assert not hasattr(model, "net_")


def test_the_same_settings_give_the_same_folds(graphs: PackedGraphs) -> None:
    model = SubgraphRecognizer("gcn", "none", **QUICK)
    assert cross_validate(model, graphs, 3) == cross_validate(model, graphs, 3)


def test_values_are_dealt_out_at_random(graphs: PackedGraphs) -> None:
    values = replace(graphs, y=graphs.sizes.float())
    model = SubgraphRecognizer("gcn", "vgib", **QUICK)
    parts = list(splits(values, 4, model, seed=0))
    assert np.array_equal(np.sort(np.concatenate([p.test for p in parts])), np.arange(24))
    for number, part in enumerate(parts):
        assert np.array_equal(part.val, parts[number - 1].test)
        assert not set(part.train) & (set(part.val) | set(part.test))
    found = cross_validate(model, values, 4)
    assert "mean_absolute_error" in found[0]["metrics"]


def test_too_many_folds_are_refused(graphs: PackedGraphs) -> None:
    values = replace(graphs, y=graphs.sizes.float())
    model = SubgraphRecognizer("gcn", "vgib", **QUICK)
    for folds in (2, 25):
        with pytest.raises(InputError, match="folds must be"):
            cross_validate(model, values, folds)
