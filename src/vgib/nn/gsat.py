"""Graph stochastic attention: random message weights with a prior keep-rate.

Miao, Liu, Li, "Interpretable and Generalizable Graph Learning via Stochastic Attention Mechanism",
ICML 2022, arXiv:2201.12987.
"""

import torch
from torch import Tensor

from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, bottlenecks
from vgib.nn.vgib import relax


def bernoulli_kl(p: Tensor, r: float, floor: float = 1e-6) -> Tensor:
    r"""KL(Bernoulli(p) || Bernoulli(r)) for each node.

    .. math:: p \log\frac pr + (1 - p) \log\frac{1 - p}{1 - r}
    """
    p = p.clamp(floor, 1 - floor)
    return p * (p / r).log() + (1 - p) * ((1 - p) / (1 - r)).log()


@bottlenecks.register("gsat")
class GSAT(Bottleneck):
    r"""Weights each message by stochastic attention on both of its ends, and encodes again.

    .. math:: a_j \sim \mathrm{Concrete}(p_j), \quad w_{ij} = a_i a_j, \quad
              \mathcal L = \mathcal L_{cls}(f(G_w), Y) + \beta \operatorname{mean}_j
              \mathrm{KL}(p_j \| r)

    The attention is on nodes and lifted to edges, as the authors do for molecules, so that it ends
    as node scores like every other method.

    Args:
        channels: Channels of the node representations.
        beta: Weight of the divergence from the prior.
        rate: The prior keep-rate r at the end of its schedule.
        rate_start: r in the first epoch.
        rate_step: How much r falls each time.
        rate_every: Epochs between two falls.
        temperature: Temperature of the relaxation.
    """

    def __init__(
        self,
        channels: int,
        *,
        beta: float = 1.0,
        rate: float = 0.5,
        rate_start: float = 0.9,
        rate_step: float = 0.1,
        rate_every: int = 10,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        if not 0 < rate <= rate_start < 1:
            raise InputError(f"need 0 < rate <= rate_start < 1; got {rate} and {rate_start}")
        self.gate = Gate(channels)
        self.weights["compression"] = beta
        self.final_rate, self.rate_start = rate, rate_start
        self.rate_step, self.rate_every = rate_step, rate_every
        self.temperature = temperature
        self.rate = rate_start

    def start_epoch(self, epoch: int) -> None:
        """Lowers the keep-rate on its schedule."""
        fallen = self.rate_start - self.rate_step * (epoch // self.rate_every)
        self.rate = max(self.final_rate, fallen)

    def forward(self, encoded: Encoded) -> Perturbed:
        """Weights the messages."""
        logits = self.gate(encoded.h)
        p = torch.sigmoid(logits)
        attention = relax(logits, self.temperature) if self.training else p
        perturbed = Perturbed(graph=encoded.whole, scores=p, attention=attention)
        if self.training and self.weights["compression"]:
            perturbed.terms["compression"] = bernoulli_kl(p, self.rate).mean()
        return perturbed
