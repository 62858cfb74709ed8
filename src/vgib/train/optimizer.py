"""What one optimizer moves: the model, or in a problem of two levels the critic alone."""

from collections.abc import Iterable
from math import cos, pi

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from vgib.config import Training
from vgib.nn.flat import FlatParameters
from vgib.nn.net import SubgraphNet
from vgib.train.team import ALONE, Alone


class Level:
    """What one level of the objective trains: its parameters, in one vector, and their Adam.

    Adam is torch's function and not its object, which takes a critic as long as its gradient does;
    so the learning rate is a formula, not one of torch's schedulers, which need the object.

    Attributes:
        lr: The learning rate of this epoch.
        moments: What Adam remembers: ``step``, ``exp_avg`` and ``exp_avg_sq``.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        decay: float = 0.0,
        team: Alone = ALONE,
    ) -> None:
        self.parameters = FlatParameters(parameters)
        self.lr, self.decay, self.team = lr, decay, team
        vector = self.parameters.vector.detach()
        self.moments = {
            "step": vector.new_zeros(()),
            "exp_avg": torch.zeros_like(vector),
            "exp_avg_sq": torch.zeros_like(vector),
        }

    def step(self, loss: Tensor, graphs: int, clip: float | None = None) -> None:
        """Moves the parameters down the gradient of the loss, a mean over so many graphs."""
        self.parameters.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.move(graphs, clip)

    @torch.no_grad()
    def move(self, graphs: int, clip: float | None = None) -> None:
        """Moves the parameters down the gradient that they hold already."""
        self.team.average([self.parameters.gradient], graphs)
        if clip is not None:
            nn.utils.clip_grad_norm_(self.parameters.vector, clip)
        adam(
            [self.parameters.vector],
            [self.parameters.gradient],
            [self.moments["exp_avg"]],
            [self.moments["exp_avg_sq"]],
            [],
            [self.moments["step"]],
            lr=self.lr,
            weight_decay=self.decay,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            fused=True,
            amsgrad=False,
            maximize=False,
        )


def rate(settings: Training, epoch: int, epochs: int) -> float:
    """The learning rate of an epoch out of so many: halved now and then, or along a cosine."""
    halvings = epoch // settings.halve_at if settings.halve_at else 0
    fall = (1 + cos(pi * epoch / epochs)) / 2 if settings.cosine else 1.0
    return settings.lr * 0.5**halvings * fall


def levels(net: SubgraphNet, settings: Training, team: Alone = ALONE) -> tuple[Level, Level | None]:
    """The outer level, all that moves of the model, and the inner one (a critic) where there is."""
    critic = list(net.bottleneck.inner_parameters())
    known = {id(parameter) for parameter in critic}
    rest = [parameter for parameter in net.parameters() if id(parameter) not in known]
    outer = Level(rest, settings.lr, settings.weight_decay, team)
    if not critic or not net.bottleneck.inner_steps:
        return outer, None
    return outer, Level(critic, settings.inner_lr or settings.lr, team=team)
