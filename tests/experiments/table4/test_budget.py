"""A budget of nodes over the paper's bottleneck."""

import pytest
import torch

from vgib.errors import InputError
from vgib.experiments.table4.budget import BudgetVGIB, over_budget
from vgib.nn.bottleneck import Encoded
from vgib.nn.sparse import Adjacency, Segments


def test_the_budget_is_the_squared_distance_of_the_kept_share() -> None:
    p = torch.tensor([0.5, 0.9, 0.1, 0.4], requires_grad=True)
    term = over_budget(p, 0.2)
    assert term.item() == pytest.approx((0.5 - 0.2) ** 2)
    term.backward()
    # Too many are kept: every probability is to fall, by the same amount.
    assert p.grad.tolist() == pytest.approx([2 * 0.3 / 4] * 4)


def test_the_budget_is_a_term_of_training() -> None:
    h = torch.randn(6, 3)
    edges = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 6)
    encoded = Encoded(h, (h,), edges, Segments(torch.tensor([0, 2, 6]).int()))
    bottleneck = BudgetVGIB(3, budget=0.25)
    with torch.no_grad():
        bottleneck.gate.mlp[-1].weight.zero_()
        bottleneck.gate.mlp[-1].bias.fill_(5.0)
    assert bottleneck.train()(encoded).terms["budget"].item() == pytest.approx(0.75**2)
    assert bottleneck.weights["budget"] == 1.0
    assert "budget" not in bottleneck.eval()(encoded).terms
    with pytest.raises(InputError, match="budget must be a share"):
        BudgetVGIB(3, budget=1.0)
