"""One level of the objective: its Adam and its learning rate."""

import pytest
import torch

from vgib.config import Training
from vgib.nn.encoder import Encoder
from vgib.nn.gib import GIB
from vgib.nn.net import SubgraphNet
from vgib.train.optimizer import Level, levels, rate


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_level_moves_as_torchs_adam_does(decay: float) -> None:
    ours, theirs = (torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5])) for _ in range(2))
    level = Level([ours], lr=0.1, decay=decay)
    adam = torch.optim.Adam([theirs], lr=0.1, weight_decay=decay)
    for _ in range(5):
        level.step((ours - 3).square().sum(), graphs=1)
        adam.zero_grad()
        (theirs - 3).square().sum().backward()
        adam.step()
    assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-6)


def test_the_rate_is_halved_every_so_many_epochs() -> None:
    rates = [rate(Training(lr=0.8, halve_at=3), epoch, 7) for epoch in range(7)]
    assert rates == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2])
    assert rate(Training(lr=0.8), 1000, 2000) == 0.8


def test_the_rate_falls_along_half_a_cosine() -> None:
    rates = [rate(Training(lr=0.8, cosine=True), epoch, 4) for epoch in range(4)]
    assert rates == pytest.approx([0.8, 0.4 * (1 + 0.5**0.5), 0.4, 0.4 * (1 - 0.5**0.5)])


def test_the_critic_learns_at_the_rate_of_the_outer_level_unless_told() -> None:
    net = SubgraphNet(
        torch.nn.Identity(), Encoder("gcn", 3), GIB(16), task="classification", outputs=2
    )
    for given, wanted in ((None, 0.01), (0.5, 0.5)):
        _, inner = levels(net, Training(lr=0.01, halve_at=1, inner_lr=given))
        assert inner is not None and inner.lr == wanted
