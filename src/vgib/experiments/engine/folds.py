"""A cross-validation in one table: each metric over its folds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vgib.experiments.engine.statistics import corrected_interval, spread


def summarize(folds: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each metric its mean over folds with a corrected 95 % interval, and its spread.

    The interval allows for training sets that overlap; see
    :func:`~vgib.experiments.engine.statistics.corrected_interval`. Folds in which a metric does
    not exist are left out of it.
    """
    ratio = sum(f["test_graphs"] for f in folds) / sum(f["train_graphs"] for f in folds)
    found = {}
    for name in folds[0]["metrics"]:
        values = [f["metrics"][name] for f in folds if np.isfinite(f["metrics"][name])]
        mean = corrected_interval(values, ratio)
        found[name] = {
            "value": mean.value,
            "low": mean.low,
            "high": mean.high,
            "spread": spread(values),
            "n": len(values),
        }
    return found
