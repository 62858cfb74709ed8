"""The graph information bottleneck with a critic in an inner loop: the main baseline.

Yu, Xu, Rong, Bian, Huang, He, "Graph Information Bottleneck for Subgraph Recognition", ICLR 2021.
"""

from collections.abc import Iterator
from math import log

import torch
from torch import Tensor, nn

from vgib.nn.bottleneck import (
    Bottleneck,
    Encoded,
    Gate,
    Perturbed,
    PredictFrom,
    bottlenecks,
    connectivity,
)


class Critic(nn.Module):
    """The statistics network: a number for a pair (graph, subgraph)."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2 * channels, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, graph: Tensor, subgraph: Tensor) -> Tensor:
        """``2 x [num_graphs, channels] -> [num_graphs]``."""
        value: Tensor = self.mlp(torch.cat([graph, subgraph], dim=1))
        return value.squeeze(1)

    @torch.no_grad()
    def gradients(self, graph: Tensor, subgraph: Tensor, steps: int) -> Iterator[None]:
        r"""Writes the gradient of the negated :func:`donsker_varadhan` into the parameters.

        As often as there are ``steps``, each time with another rotation. With hidden values
        :math:`u = \operatorname{relu}(W (g, s) + b)` and :math:`T = w \cdot u`:

        .. math:: \frac{\partial(-\hat I)}{\partial T} = -\tfrac1n \text{ (joint)}, \quad
                  \operatorname{softmax}(T) \text{ (product)}

        By hand, because a critic of this size takes autograd five times as long. The constant of
        the last layer cancels, so that its gradient is zero.
        """
        weight, bias, last, _ = self.parameters()
        to_weight, to_bias, to_last, _ = (_zeroed_gradient(p) for p in self.parameters())
        n, channels = graph.shape
        pairs = torch.cat([graph, subgraph], dim=1).repeat(2, 1)  # the joint ones, the product's
        twice = torch.cat([subgraph, subgraph])
        slope = graph.new_full((2 * n,), -1 / n)
        for shift in _rotations(n, steps):
            pairs[n:, channels:] = twice[n - shift : 2 * n - shift]
            hidden = torch.addmm(bias, pairs, weight.t()).relu_()
            slope[n:] = torch.softmax(hidden[n:] @ last[0], 0)
            back = torch.outer(slope, last[0]).mul_(hidden > 0)
            torch.mm(back.t(), pairs, out=to_weight)
            torch.sum(back, 0, out=to_bias)
            torch.mv(hidden.t(), slope, out=to_last[0])
            yield


def _zeroed_gradient(parameter: nn.Parameter) -> Tensor:
    """Where the gradient of a parameter lies, or is to lie."""
    if parameter.grad is None:
        parameter.grad = torch.empty_like(parameter)
    return parameter.grad.zero_()


def donsker_varadhan(critic: nn.Module, graph: Tensor, subgraph: Tensor) -> Tensor:
    r"""A lower bound on I(G_sub; G), tight for the best critic.

    .. math:: I \ge \mathbb E_{p(g, s)} T(g, s) - \log \mathbb E_{p(g) p(s)} e^{T(g, s)}

    Pairs of the product distribution come from a random rotation of the batch, so that no graph
    meets its own subgraph (when there are two or more). The estimate can be negative, although
    mutual information cannot: the instability of Figure 1.
    """
    n = graph.shape[0]
    (shift,) = _rotations(n, 1)
    # Both kinds of pairs in one call: at this size a call costs more than its arithmetic.
    pairs = torch.cat([subgraph, subgraph.roll(shift, 0)])
    joint, product = critic(torch.cat([graph, graph]), pairs).split(n)
    estimate: Tensor = joint.mean() - torch.logsumexp(product, 0) + log(n)
    return estimate


def _rotations(n: int, count: int) -> list[int]:
    """Random rotations of a batch of ``n`` that leave none in its place, when there are two."""
    rotations: list[int] = torch.randint(1, max(n, 2), (count,), device="cpu").tolist()
    return rotations if n > 1 else [0] * count


@bottlenecks.register("gib")
class GIB(Bottleneck):
    r"""Drops nodes, and pays the estimated information between graph and subgraph.

    .. math:: \min_\theta \; \mathcal L_{cls}(G_{sub}, Y) + \beta\, \hat I_{\phi^*}(G_{sub}; G)
              + \alpha\, \mathcal L_{con}, \quad
              \phi^* = \arg\max_\phi \hat I_\phi(G_{sub}; G)

    A two-level problem: before each outer step the critic :math:`\phi` takes ``inner_steps`` steps
    of its own on the same batch; :mod:`vgib.train.loop` shows both levels in one loop. The
    subgraph is the soft assignment ``p`` of its nodes, pooled with the readout, at test time too.

    Note:
        The authors' program for classification hands the critic one embedding of the whole batch
        for all of its graphs, from which no critic can learn anything: ``information=False`` is
        what it does, the term as written is what its paper says. Its critic learns at the rate at
        which the outer level starts (``inner_lr`` of :class:`~vgib.config.Training`). The program
        for interpretation supervises the whole graph beside the subgraph (``whole``).

    Args:
        channels: Channels of the node representations.
        beta: Weight of the estimated information.
        connectivity: Weight of the connectivity term.
        scale: Weight of the prediction and information terms; the published classification setting
            has 0.7 here beside a connectivity weight of 0.3.
        information: Whether the information is estimated and paid for at all.
        whole: Whether the whole graph is to predict the label too; the prediction loss is then the
            mean of both.
        inner_steps: Steps of the critic before each outer step.
        critic_hidden: Width of the critic.
        predict_from: What is pooled at test time.
    """

    def __init__(
        self,
        channels: int,
        *,
        beta: float = 0.2,
        connectivity: float = 5.0,
        scale: float = 1.0,
        information: bool = True,
        whole: bool = False,
        inner_steps: int = 150,
        critic_hidden: int = 4,
        predict_from: PredictFrom = "perturbed",
    ) -> None:
        super().__init__()
        self.gate = Gate(channels)
        self.critic = Critic(channels, critic_hidden)
        self.inner_steps = inner_steps if information else 0
        self.predict_from = predict_from
        self.weights = {
            "prediction": scale,
            "compression": scale * beta if information else 0.0,
            "connectivity": connectivity,
        }
        if whole:
            self.weights |= {"prediction": scale / 2, "clean": scale / 2}

    def forward(self, encoded: Encoded) -> Perturbed:
        """Weights each node by its keep-probability."""
        p = torch.sigmoid(self.gate(encoded.h))
        perturbed = Perturbed(graph=encoded.pool(encoded.h, p), scores=p)
        if encoded.readout is None:
            perturbed.z = p.unsqueeze(1) * encoded.h
        if self.training:
            if self.weights["compression"]:
                perturbed.terms["compression"] = self.information(encoded, perturbed)
            if self.weights["connectivity"]:
                term = connectivity(p, encoded.adj, encoded.graphs)
                perturbed.terms["connectivity"] = term.mean()
        return perturbed

    def information(self, encoded: Encoded, perturbed: Perturbed) -> Tensor:
        """The critic's present estimate of I(G_sub; G)."""
        assert perturbed.graph is not None
        return donsker_varadhan(self.critic, encoded.whole, perturbed.graph)

    @torch.no_grad()
    def inner_gradients(self, encoded: Encoded) -> Iterator[None]:
        """What moves the critic towards its best estimate, ``inner_steps`` times."""
        kept = encoded.pool(encoded.h, torch.sigmoid(self.gate(encoded.h)))
        yield from self.critic.gradients(encoded.whole, kept, self.inner_steps)

    def inner_parameters(self) -> Iterator[nn.Parameter]:
        return self.critic.parameters()
