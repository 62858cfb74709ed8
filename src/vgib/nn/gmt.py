"""GMT-sam: attention that is trained on subgraphs which are drawn, not on soft weights.

Chen, Bian, Han, Cheng, "How Interpretable Are Interpretable Graph Neural Networks?", ICML 2024,
arXiv:2406.07955.
"""

from typing import Any

import torch
from torch import Tensor

from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Perturbed, bottlenecks, straight_through
from vgib.nn.gsat import GSAT
from vgib.nn.net import SubgraphNet
from vgib.nn.paper_vgib import relax


def drawn(weight: Tensor, draws: int) -> Tensor:
    """Zeros and ones with these probabilities, whose gradient is that of the probabilities.

    ``[num_edges] -> [draws, num_edges]``
    """
    p = weight.expand(draws, -1)
    return straight_through(torch.rand_like(p) < p.detach(), p)


@bottlenecks.register("gmt-sam")
class GMT(GSAT):
    r"""GSAT whose classifier sees subgraphs that are drawn, and is averaged over several of them.

    .. math:: \mathcal L = \mathcal L_{cls}\Bigl(\tfrac1k \sum_{s=1}^k f(G_{w^s}), Y\Bigr)
              + \beta \operatorname{mean} \mathrm{KL}(p \| r), \quad w^s \sim \mathrm{Bernoulli}(a)

    The mean over draws estimates the multilinear extension of :math:`f`, its expectation when each
    edge stays with its own probability; a classifier on soft weights (GSAT) is another function.
    The classifier is then trained again by :class:`FrozenGate`; the scores stay those of this one.

    Args:
        draws: :math:`k`.
        beta: Weight of the divergence from the prior, smaller than GSAT's as the authors have it.

    Note:
        The readouts are averaged, not the outputs, which is the same for a linear head. In
        evaluation mode, where nothing may be random, the messages carry the probabilities.
    """

    def __init__(
        self,
        channels: int,
        *,
        draws: int = 10,
        beta: float = 0.5,
        **rest: Any,
    ) -> None:
        super().__init__(channels, beta=beta, **rest)
        if draws < 1:
            raise InputError(f"draws must be at least 1; got {draws}")
        self.draws = draws

    def forward(self, encoded: Encoded) -> Perturbed:
        """Draws subgraphs; in evaluation mode it is GSAT."""
        if not self.training:
            return super().forward(encoded)
        logits = self.logits(encoded)
        p = logits.sigmoid()
        soft = [
            self.lifted(relax(logits, self.temperature), encoded.adj) for _ in range(self.draws)
        ]
        weight = torch.cat([drawn(each, 1) for each in soft])
        perturbed = Perturbed(encoded.whole, self.node_scores(p, encoded.adj), edge_weight=weight)
        if self.weights["compression"]:
            perturbed.terms["compression"] = self.divergence(p)
        return perturbed


class FrozenGate(Bottleneck):
    r"""The attention of a trained network, for a second classifier that learns to read it.

    .. math:: \mathcal L = \mathcal L_{cls}\Bigl(\tfrac1k \sum_{s=1}^k f(G_{w^s}), Y\Bigr), \quad
              w^s \sim \mathrm{Bernoulli}(p), \quad p \text{ fixed}

    Args:
        draws: How many subgraphs are drawn for each graph in training.
    """

    def __init__(self, teacher: SubgraphNet, *, draws: int = 10) -> None:
        super().__init__()
        if not isinstance(teacher.bottleneck, GSAT):
            kind = type(teacher.bottleneck).__name__
            raise InputError(f"the teacher must have a GSAT or GMT as its bottleneck; got {kind}")
        if draws < 1:
            raise InputError(f"draws must be at least 1; got {draws}")
        self.teacher = teacher.eval().requires_grad_(False)
        self.draws = draws

    def train(self, mode: bool = True) -> "FrozenGate":
        """Goes to training or evaluation mode, but for the teacher, which stays in the latter."""
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, encoded: Encoded) -> Perturbed:
        """The teacher's scores; its attention on the messages, drawn in training."""
        assert encoded.inputs is not None
        with torch.no_grad():
            seen = self.teacher.encode(encoded.inputs, encoded.adj, encoded.graphs)
            told: Perturbed = self.teacher.bottleneck(seen)
        assert told.edge_weight is not None
        weight = drawn(told.edge_weight, self.draws) if self.training else told.edge_weight
        return Perturbed(encoded.whole, told.scores, edge_weight=weight)
