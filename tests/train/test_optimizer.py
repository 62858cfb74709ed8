"""One level of the objective: its Adam and its learning rate."""

import pytest
import torch

from vgib.config import Training
from vgib.train.optimizer import Level


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
    level = Level([torch.nn.Parameter(torch.zeros(1))], lr=9.0)
    rates = []
    for epoch in range(7):
        level.set_rate(Training(lr=0.8, halve_at=3), epoch)
        rates.append(level.lr)
    assert rates == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2])
    level.set_rate(Training(lr=0.8), 1000)
    assert level.lr == 0.8


def test_the_rate_falls_along_half_a_cosine() -> None:
    level = Level([torch.nn.Parameter(torch.zeros(1))], lr=9.0)
    rates = []
    for epoch in range(4):
        level.set_rate(Training(lr=0.8, epochs=4, cosine=True), epoch)
        rates.append(level.lr)
    assert rates == pytest.approx([0.8, 0.4 * (1 + 0.5**0.5), 0.4, 0.4 * (1 - 0.5**0.5)])
