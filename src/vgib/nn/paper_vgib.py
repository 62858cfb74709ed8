"""The variational graph information bottleneck as the paper has it, in the order of its Section 4.

Yu, Cao, He, "Improving Subgraph Recognition with Variational Graph Information Bottleneck", CVPR
2022. The gate, one logit for each node, is :class:`~vgib.nn.bottleneck.Gate`.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, PredictFrom, bottlenecks
from vgib.nn.sparse import Segments

Prior = Literal["graph", "population"]
Rng = torch.Generator | None
Known = Tensor | None
Moments = tuple[Tensor, Tensor]
UNIFORM_FLOOR = 1e-6  # keeps log u and log(1 - u) finite in float32


def relax(logits: Tensor, temperature: float, rng: Rng = None) -> Tensor:
    r"""A differentiable sample of Bernoulli(p), the binary concrete distribution (Sec. 4.1).

    .. math:: \hat\lambda = \operatorname{sigmoid}\Bigl(\frac1t \bigl(\log\frac{p}{1-p} +
              \log\frac{u}{1-u}\bigr)\Bigr), \quad u \sim \mathrm{Uniform}(0, 1)

    ``logits`` is :math:`\log p/(1-p)`, ``[num_nodes]``; ``temperature`` is :math:`t`.

    Note:
        As typeset only the first logarithm is divided by :math:`t`; at :math:`t = 1` both agree.
    """
    u = torch.empty_like(logits).uniform_(UNIFORM_FLOOR, 1 - UNIFORM_FLOOR, generator=rng)
    return torch.sigmoid((logits + torch.logit(u)) / temperature)


def inject_noise(h: Tensor, keep: Tensor, mean: Tensor, std: Tensor, *, rng: Rng = None) -> Tensor:
    r"""Replaces part of each node's representation by noise of the prior (Sec. 4.1).

    .. math:: z_j = \lambda_j h_j + (1 - \lambda_j)\,\epsilon_j, \quad
              \epsilon_j \sim \mathcal N(\mu_h, \sigma_h^2)

    ``keep`` is :math:`\lambda`, ``[num_nodes]``; ``mean`` and ``std`` broadcast to ``h``.

    Note:
        The text says "replaced with probability p"; the equation and the selection rule say *kept*.
    """
    drawn = torch.empty_like(h).normal_(generator=rng)
    return torch.lerp(torch.addcmul(mean, std, drawn), h, keep.unsqueeze(1))


class NodeSums(NamedTuple):
    """All that readout and bound need of a graph's nodes."""

    kept: Tensor  # sum_j lambda_j h_j, [num_graphs, channels]
    gates: Tensor  # sum_j lambda_j, [num_graphs, 1]
    noise_power: Tensor  # A = sum_j (1 - lambda_j)^2, [num_graphs, 1]
    sizes: Tensor  # the number of nodes m, [num_graphs, 1]


def node_sums(h: Tensor, keep: Tensor, graphs: Segments) -> NodeSums:
    """The sums of representations ``h`` with gates ``keep`` over each graph's nodes."""
    gates = graphs.sum(torch.stack([keep, (1 - keep).square()], dim=1))
    return NodeSums(graphs.sum(h, keep), gates[:, :1], gates[:, 1:], graphs.sizes.to(h.dtype))


def noisy_sum(sums: NodeSums, mean: Tensor, std: Tensor) -> Tensor:
    r"""The sum readout :math:`z_N` of a graph into which noise was injected, drawn at once.

    .. math:: \sum_j z_j = \sum_j \lambda_j h_j + \mu_h \sum_j (1 - \lambda_j)
              + \sigma_h \sqrt A\, \epsilon, \quad \epsilon \sim \mathcal N(0, 1)

    It is distributed as the sum of :func:`inject_noise`: Gaussians add up to a Gaussian.
    """
    expected = torch.addcmul(sums.kept, mean, sums.sizes - sums.gates)
    # Where everything is kept there is no noise, but the gradient of the root has a pole.
    spread = std * sums.noise_power.clamp(min=torch.finfo(std.dtype).tiny).sqrt()
    return torch.addcmul(expected, spread, torch.randn_like(expected))


@torch.no_grad()
def graph_statistics(h: Tensor, graphs: Segments, floor: float, total: Known = None) -> Moments:
    r"""The noise's moments: mean and spread of each graph's own nodes, ``[num_graphs, channels]``.

    .. math:: \mu_h = \tfrac1m \textstyle\sum_j h_j, \quad
              \sigma_h^2 = \tfrac1m \sum_j (h_j - \mu_h)^2

    They are detached: a fact about the graph, not a way to lower the loss. ``floor`` is the least
    spread, for constant channels and single nodes; ``total`` the sum of ``h``, where it is known.
    """
    mean = graphs.mean(h) if total is None else graphs.divide(total)
    variance = graphs.mean(graphs.spread(mean).sub_(h).square_())
    return mean, variance.clamp(min=floor**2).sqrt()


def compression(sums: NodeSums, mean: Tensor, std: Tensor, pole_floor: float) -> Tensor:
    r"""The variational upper bound on I(z_N; G), for each graph, up to a constant (Sec. 4.3).

    .. math:: -\tfrac12 \log A + \tfrac{A}{2m} + \tfrac{B^2}{2m}, \quad
              A = \sum_j (1 - \lambda_j)^2, \quad
              B = \frac1{\sigma_h} \sum_j \lambda_j (h_j - \mu_h)

    averaged over channels, ``[num_graphs]``. Given :math:`\lambda` it is exactly
    :math:`\mathrm{KL}(\mathcal N(m\mu + \sum_j \lambda_j(h_j - \mu), A\sigma^2) \,\|\,
    \mathcal N(m\mu, m\sigma^2)) - \frac12(\log m - 1)`. With everything kept A is 0 and the bound
    infinite: below ``pole_floor``, the least A in the logarithm, this is no longer a bound.
    """
    b = torch.addcmul(sums.kept, mean, sums.gates, value=-1) / std
    a, m = sums.noise_power.squeeze(1), sums.sizes.squeeze(1)
    return (a + b.square().mean(1)) / (2 * m) - 0.5 * a.clamp(min=pole_floor).log()


@bottlenecks.register("vgib-paper")
class PaperVGIB(Bottleneck):
    r"""Keeps a node with a learned probability, else drowns it in noise, and pays for what passes.

    .. math:: \mathcal L = \mathcal L_{cls}(G_N, Y) + w_{clean} \mathcal L_{cls}(G, Y)
              + \beta\, \mathcal L_{MI}(z_N, G)

    Args:
        channels: Channels of the node representations.
        beta: Weight of the compression bound.
        temperature: Temperature of the relaxation.
        prior: Whose moments the noise has: each ``graph``'s own (the paper), which lets the graph's
            mean through at full noise, or the ``population``'s, a running mean over training.
        clean: Weight of the loss on the whole graph (Sec. 5.1).
        subgraph: Weight of the loss on the kept nodes alone (not in the paper), so that the head
            has seen in training what it is given at test time.
        predict_from: What is pooled at test time: the kept nodes, the expected perturbed graph,
            the whole graph, or the ``average`` of these three predictions.
        pole_floor: Least :math:`A` in the logarithm (see :func:`compression`).
        std_floor: Least spread of the prior, for constant channels and one-node graphs.
        momentum: Share of each batch in the population's running moments.
    """

    def __init__(
        self,
        channels: int,
        *,
        beta: float = 1e-3,
        temperature: float = 1.0,
        prior: Prior = "graph",
        clean: float = 1.0,
        subgraph: float = 0.0,
        predict_from: PredictFrom = "subgraph",
        pole_floor: float = 1e-2,
        std_floor: float = 1e-2,
        momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if prior not in get_args(Prior) or temperature <= 0:
            wanted = "prior must be 'graph' or 'population' and temperature positive"
            raise InputError(f"{wanted}; got {prior!r} and {temperature}")
        self.gate = Gate(channels)
        self.weights |= {"clean": clean, "subgraph": subgraph, "compression": beta}
        self.temperature, self.prior, self.predict_from = temperature, prior, predict_from
        self.pole_floor, self.std_floor, self.momentum = pole_floor, std_floor, momentum
        self.population_mean: Tensor
        self.population_variance: Tensor  # infinite until the first batch has been seen
        self.register_buffer("population_mean", torch.zeros(channels))
        self.register_buffer("population_variance", torch.full((channels,), torch.inf))

    def forward(self, encoded: Encoded) -> Perturbed:
        """Noise in training mode; in evaluation mode the expected graph, with p for lambda."""
        h, graphs = encoded.h, encoded.graphs
        logits = self.gate(h)
        p = torch.sigmoid(logits)
        mean, std = self.moments(h, graphs, encoded.total)
        if not self.training:
            kept, gates, _, sizes = node_sums(h, p, graphs)
            return Perturbed(encoded.as_readout(kept + mean * (sizes - gates)), p)
        keep = relax(logits, self.temperature)
        sums = node_sums(h, keep, graphs)
        graph = None if encoded.readout is None else encoded.as_readout(noisy_sum(sums, mean, std))
        perturbed = Perturbed(graph, p)
        if graph is None:
            perturbed.z = inject_noise(h, keep, *map(graphs.spread_or_broadcast, (mean, std)))
        if self.weights["compression"]:
            perturbed.terms["compression"] = compression(sums, mean, std, self.pole_floor).mean()
        return perturbed

    def moments(self, h: Tensor, graphs: Segments, total: Known = None) -> Moments:
        """Mean and spread of the prior, ``[num_graphs, channels]`` or ``[1, channels]``."""
        if self.prior == "graph":
            return graph_statistics(h, graphs, self.std_floor, total)
        if self.training:
            self._watch(h.detach())
        std = self.population_variance.nan_to_num(posinf=1.0).clamp(min=self.std_floor**2).sqrt()
        return self.population_mean.unsqueeze(0), std.unsqueeze(0)

    @torch.no_grad()
    def _watch(self, h: Tensor) -> None:
        """Moves the population's moments towards this batch's."""
        variance, mean = torch.var_mean(h, dim=0, correction=0)
        if torch.isinf(self.population_variance).any():
            self.population_mean.copy_(mean)
            self.population_variance.copy_(variance)
        self.population_mean.lerp_(mean, self.momentum)
        self.population_variance.lerp_(variance, self.momentum)
