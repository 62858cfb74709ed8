"""What one optimizer moves: the model, or in a problem of two levels the critic alone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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

    Adam is torch's function and not its object, which takes a critic as long as its gradient does.

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
        self.mean: Tensor | None = None

    def step(self, loss: Tensor, graphs: int, clip: float | None = None) -> None:
        """Moves the parameters down the gradient of the loss, a mean over so many graphs."""
        self.parameters.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.move(graphs, clip)

    @torch.no_grad()
    def move(self, graphs: int, clip: float | None = None) -> None:
        """Likewise, down the gradient that the parameters hold already."""
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

    @torch.no_grad()
    def update_mean(self, decay: float | None) -> None:
        """Moves the running mean of the parameters, when one is kept, towards what they are now."""
        if decay is None:
            return
        now = self.parameters.vector.detach()
        self.mean = now.clone() if self.mean is None else self.mean.lerp_(now, 1 - decay)

    @contextmanager
    def mean_shown(self) -> Iterator[None]:
        """The running mean, when one is kept, in the place of the parameters for a while."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        if self.mean is not None:
            now = self.parameters.vector.detach().clone()
            self.parameters.vector.copy_(self.mean)
            self.mean = now

    def set_rate(self, settings: Training, epoch: int) -> None:
        """The learning rate of this epoch: halved now and then, or falling along a cosine."""
        halvings = epoch // settings.halve_at if settings.halve_at else 0
        fall = (1 + cos(pi * epoch / settings.epochs)) / 2 if settings.cosine else 1.0
        self.lr = settings.lr * 0.5**halvings * fall


def levels(net: SubgraphNet, settings: Training, team: Alone = ALONE) -> tuple[Level, Level | None]:
    """The outer level, all of the model, and the inner one (a critic) where there is one."""
    critic = list(net.bottleneck.inner_parameters())
    known = {id(parameter) for parameter in critic}
    rest = [parameter for parameter in net.parameters() if id(parameter) not in known]
    outer = Level(rest, settings.lr, settings.weight_decay, team)
    if not critic or not net.bottleneck.inner_steps:
        return outer, None
    return outer, Level(critic, settings.inner_lr, team=team)
