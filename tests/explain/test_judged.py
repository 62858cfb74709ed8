"""A fitted explainer is compared with occlusion, and says so when it falls behind."""

import logging

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Case
from vgib.explain.judged import judged
from vgib.explain.many import explain_many


class Marks(nn.Module):
    """Says class 1 where a node carries the mark, in its first channel."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GINConv(nn.Identity())

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        # The layer is there to be seen; what counts is the node itself.
        h = x[:, :1] + 0 * self.conv(x, edge_index)[:, :1]
        logit = 8 * global_add_pool(h, batch) - 4
        return torch.cat([-logit, logit], dim=1)


class Told(Amortized):
    """Learns nothing; scores by the first or the second channel."""

    def __init__(self, channel: int = 0, **rest: object) -> None:
        super().__init__(steps=1, **rest)
        self.channel = channel

    def build(self, case: Case) -> nn.Module:
        return nn.Linear(1, 1)

    def loss(self, case: Case, step: int) -> Tensor:
        out: Tensor = self.fitted(torch.ones(1, 1)).sum()
        return out

    def explain(self, case: Case) -> Tensor:
        return case.batch.x[:, self.channel]


def test_the_best_nodes_alone_keep_the_prediction_or_not(marked: PackedGraphs) -> None:
    good, bad = (judged(Told(c).fit(Marks(), marked), Marks(), marked) for c in (0, 1))
    assert good.own == pytest.approx(good.occlusion, abs=0.01)
    assert not good.is_behind
    assert bad.own < bad.occlusion - 0.2
    assert bad.is_behind
    assert good.graphs == 60


def test_whoever_falls_behind_is_told(
    marked: PackedGraphs, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        explain_many(Marks(), marked, Told(0))
        assert not caplog.records
        explain_many(Marks(), marked, Told(1))
    assert "Told explains the 60 graphs that it was fitted on no better than occl" in caplog.text
