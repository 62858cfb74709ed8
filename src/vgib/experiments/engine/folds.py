"""A cross-validation in one table: each metric over its folds."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from vgib.experiments.engine.statistics import corrected_interval, spread
from vgib.metrics import is_share


def summarize(folds: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each metric its mean over folds with a corrected 95 % interval, and its spread.

    The interval allows for training sets that overlap; see
    :func:`~vgib.experiments.engine.statistics.corrected_interval`. Folds in which a metric does
    not exist are left out of it, and the interval of a share ends at 0 and 1.
    """
    ratio = sum(f["test_graphs"] for f in folds) / sum(f["train_graphs"] for f in folds)
    found = {}
    for name in folds[0]["metrics"]:
        values = [f["metrics"][name] for f in folds if np.isfinite(f["metrics"][name])]
        mean = corrected_interval(values, ratio)
        lowest, highest = (0.0, 1.0) if is_share(name) else (-inf, inf)
        found[name] = {
            "value": mean.value,
            "low": max(mean.low, lowest),
            "high": min(mean.high, highest),
            "spread": spread(values),
            "n": len(values),
        }
    return found
