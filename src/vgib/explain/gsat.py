"""Graph stochastic attention on a frozen model."""

from typing import Any

from torch import Tensor, nn

from vgib.explain.amortized import Amortized, keep_nodes
from vgib.explain.explainer import Case, explainers
from vgib.explain.frozen import Removal
from vgib.nn.bottleneck import Gate
from vgib.nn.gsat import bernoulli_kl
from vgib.nn.paper_vgib import relax


@explainers.register("gsat")
class GSAT(Amortized):
    r"""Weights each message by stochastic attention on both of its ends.

    .. math:: a_j \sim \mathrm{Concrete}(p_j), \quad w_{ij} = a_i a_j, \quad
              \min \; \mathcal L(f(G_w), \hat y) + \beta \operatorname{mean}_j \mathrm{KL}(p_j \| r)

    Miao, Liu, Li, "Interpretable and Generalizable Graph Learning via Stochastic Attention
    Mechanism", ICML 2022, arXiv:2201.12987, in its post-hoc form.

    Args:
        beta: Weight of the divergence from the prior.
        rate: The prior keep-rate r at the end.
        rate_start: r at the start; it falls along a straight line over the first half of training.
        temperature: Of the relaxation.
        rest: See :class:`Amortized`.
    """

    removal: Removal = "messages"

    def __init__(
        self,
        *,
        beta: float = 1.0,
        rate: float = 0.5,
        rate_start: float = 0.9,
        temperature: float = 1.0,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.beta, self.rate, self.rate_start = beta, rate, rate_start
        self.temperature = temperature

    def build(self, case: Case) -> nn.Module:
        """The gate on the last layer."""
        return Gate(case.clean.states[-1].flatten(1).shape[1])

    def loss(self, case: Case, step: int) -> Tensor:
        """Prediction from the weighted messages, and the divergence."""
        logits = self.fitted(case.clean.states[-1].flatten(1))
        progress = min(1.0, 2 * step / self.steps)
        rate = self.rate_start + (self.rate - self.rate_start) * progress
        output = keep_nodes(case, relax(logits, self.temperature), readout=None)
        divergence = bernoulli_kl(logits.sigmoid(), rate).mean()
        return case.frozen.losses(output, case.goal).mean() + self.beta * divergence

    def explain(self, case: Case) -> Tensor:
        """The keep-probabilities."""
        scores: Tensor = self.fitted(case.clean.states[-1].flatten(1)).sigmoid()
        return scores
