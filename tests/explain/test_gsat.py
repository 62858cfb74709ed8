"""GSAT on a frozen model."""

from collections.abc import Callable

import pytest
from torch import nn

from vgib.data.packed import PackedGraphs
from vgib.explain.gsat import GSAT

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_a_strong_prior_has_its_way(rate: float, model_of: ModelOf, graphs: PackedGraphs) -> None:
    model = model_of("gcn")
    explainer = GSAT(beta=100.0, rate=rate, steps=80, lr=3e-2).fit(model, graphs)
    scores = explainer.scores(model, graphs.batch())
    assert float(scores.mean()) == pytest.approx(rate, abs=0.1)
