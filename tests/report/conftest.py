"""Invented results of Table 1, for whatever is drawn from its records."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

MOLECULES = 40
RANDOM, BEST = 300, 200
"""Thousandths: what chance has, and what can be reached."""


def _result(own: int, noise: int = 5) -> dict[str, Any]:
    """An invented result: each molecule near one number, controls the same for all."""
    rng = np.random.default_rng(own)
    each = (own + rng.integers(-noise, noise + 1, MOLECULES)).tolist()
    part = {
        "divergence": own / 1000,
        "spread": 0.1,
        "kept_share": 0.5,
        "valid_share": 1.0,
        "not_judged": 0,
        "random": RANDOM / 1000,
        "best": BEST / 1000,
        "difference_spread": 0.1,
        "each": each,
        "each_random": [RANDOM] * MOLECULES,
        "each_best": [BEST] * MOLECULES,
    }
    more = {
        "connected_share": 0.1,
        "random_atoms": 0.46,
        "random_atoms_kept": 0.2,
        "random_connected": 0.31,
        "each_connected": [310] * MOLECULES,
    }
    return {
        "test_error": 0.1,
        "paper": part | more,
        "ring_intact": part,
        "half": part,
        "over_sizes": {name: part[name] for name in ("each", "each_random", "each_best")},
        "curve": [{"keep": keep} | part for keep in (0.3, 0.5, 0.7)],
        "random_connected": [{"divergence": 0.29, "kept_share": keep} for keep in (0.3, 0.5, 0.7)],
    }


@pytest.fixture
def invented() -> Callable[[int], dict[str, Any]]:
    """Gives a result whose divergence is near so many thousandths."""
    return _result
