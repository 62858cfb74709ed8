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
    found = summarize([fold(0.7, 0.5), fold(0.8, math.nan), fold(0.9, 0.7)])
    accuracy = found["accuracy"]
    assert accuracy["value"] == pytest.approx(0.8)
    assert accuracy["spread"] == pytest.approx(0.1)
    half = 4.3026527 * math.sqrt((1 / 3 + 1 / 8) * 0.01)
    assert accuracy["high"] - accuracy["value"] == pytest.approx(half)
    assert found["kept"]["n"] == 2
