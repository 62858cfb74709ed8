"""A cross-validation in one table."""

import math

import pytest

from vgib.experiments.engine.folds import summarize


def fold(accuracy: float, kept: float) -> dict[str, object]:
    return {
        "train_graphs": 80,
        "test_graphs": 10,
        "metrics": {"accuracy": accuracy, "kept": kept},
    }


def test_each_metric_has_its_mean_spread_and_interval() -> None:
    found = summarize([fold(0.4, 0.5), fold(0.5, math.nan), fold(0.6, 0.7)])
    accuracy = found["accuracy"]
    assert accuracy["value"] == pytest.approx(0.5)
    assert accuracy["spread"] == pytest.approx(0.1)
    half = 4.3026527 * math.sqrt((1 / 3 + 1 / 8) * 0.01)
    assert accuracy["high"] - accuracy["value"] == pytest.approx(half)
    assert found["kept"]["n"] == 2


def test_the_interval_of_a_share_ends_at_0_and_1() -> None:
    folds = [
        {
            "train_graphs": 80,
            "test_graphs": 10,
            "metrics": {"accuracy": share, "kept_share": 1 - share, "mean_absolute_error": share},
        }
        for share in (0.8, 0.9, 1.0)
    ]
    found = summarize(folds)
    assert found["accuracy"]["high"] == 1 and 0 < found["accuracy"]["low"] < 0.8
    assert found["kept_share"]["low"] == 0
    assert found["mean_absolute_error"]["high"] > 1  # an error may be any number
