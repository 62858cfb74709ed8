"""The variational graph information bottleneck (Sec. 4): gate, relax, inject noise, pay.

Yu, Cao, He, "Improving Subgraph Recognition with Variational Graph Information Bottleneck", CVPR
2022.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from vgib.errors import InputError
from vgib.nn.bottleneck import (
    Bottleneck,
    Encoded,
    Gate,
    Perturbed,
    PredictFrom,
    bottlenecks,
    connectivity,
    straight_through,
)
from vgib.nn.sparse import Segments

Prior = Literal["graph", "population"]
Noise = Literal["gaussian", "uniform"]

# Keeps log u and log(1 - u) finite in float32.
UNIFORM_FLOOR = 1e-6


def relax(logits: Tensor, temperature: float, generator: torch.Generator | None = None) -> Tensor:
    r"""A differentiable sample of Bernoulli(p), the binary concrete distribution (Sec. 4.1).

    .. math:: \hat\lambda = \operatorname{sigmoid}\Bigl(\frac1t \bigl(\log\frac{p}{1-p} +
              \log\frac{u}{1-u}\bigr)\Bigr), \quad u \sim \mathrm{Uniform}(0, 1)

    ``logits`` is :math:`\log p/(1-p)`, ``[num_nodes]``; ``temperature`` is :math:`t`.

    Note:
        As typeset in the paper only the first logarithm is divided by :math:`t`. We divide the sum,
        as the binary concrete distribution does; at :math:`t = 1`, the published setting, both
        agree.
    """
    u = torch.empty_like(logits).uniform_(UNIFORM_FLOOR, 1 - UNIFORM_FLOOR, generator=generator)
    return torch.sigmoid((logits + torch.logit(u)) / temperature)


def inject_noise(
    h: Tensor,
    keep: Tensor,
    mean: Tensor,
    std: Tensor,
    *,
    noise: Noise = "gaussian",
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Replaces part of each node's representation by noise of the prior (Sec. 4.1).

    .. math:: z_j = \lambda_j h_j + (1 - \lambda_j)\,\epsilon_j, \quad
              \epsilon_j \sim \mathcal N(\mu_h, \sigma_h^2)

    ``keep`` is :math:`\lambda`, ``[num_nodes]``; ``h``, ``mean`` and ``std`` are
    ``[num_nodes, channels]`` (the last two may broadcast).

    Note:
        The text says "replaced with probability p"; the equation and the selection rule say *kept*
        with probability p. Kept it is. ``noise="uniform"`` is what the authors' program draws,
        U[0, 1) in the place of a standard normal.
    """
    drawn = torch.empty_like(h)
    if noise == "gaussian":
        drawn.normal_(generator=generator)
    else:
        drawn.uniform_(generator=generator)
    return torch.lerp(torch.addcmul(mean, std, drawn), h, keep.unsqueeze(1))


@torch.no_grad()
def graph_statistics(
    h: Tensor, graphs: Segments, std_floor: float, total: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""The customized prior: mean and spread of each graph's own nodes, ``[num_graphs, channels]``.

    .. math:: \mu_h = \tfrac1m \textstyle\sum_j h_j, \quad
              \sigma_h^2 = \tfrac1m \sum_j (h_j - \mu_h)^2

    Detached: the prior is a fact about the graph, not a way to lower the loss. ``std_floor`` stands
    in where a channel is constant, as every channel of a one-node graph is; ``total`` is the sum
    over nodes, when it is at hand.
    """
    mean = graphs.divide(graphs.sum(h) if total is None else total)
    variance = graphs.mean(graphs.spread(mean).sub_(h).square_())
    return mean, variance.clamp(min=std_floor**2).sqrt()


def compression(
    h: Tensor,
    keep: Tensor,
    mean: Tensor,
    std: Tensor,
    graphs: Segments,
    *,
    pole_floor: float,
    log_term: bool = True,
    square_of_sum: bool = True,
    sums: "NodeSums | None" = None,
) -> Tensor:
    r"""The variational upper bound on I(z_N; G), for each graph, up to a constant (Sec. 4.3).

    .. math:: -\tfrac12 \log A + \tfrac{A}{2m} + \tfrac{B^2}{2m}, \quad
              A = \sum_j (1 - \lambda_j)^2, \quad
              B = \frac1{\sigma_h} \sum_j \lambda_j (h_j - \mu_h)

    Given :math:`\lambda` it is, channel by channel and averaged over channels,

    .. math:: \mathrm{KL}\bigl(\mathcal N(m\mu + \textstyle\sum_j \lambda_j(h_j - \mu), A\sigma^2)
              \,\|\, \mathcal N(m\mu, m\sigma^2)\bigr) - \tfrac12(\log m - 1)

    Args:
        h: ``[num_nodes, channels]``.
        keep: :math:`\lambda`, ``[num_nodes]``.
        mean: :math:`\mu_h`, ``[num_graphs, channels]`` or ``[1, channels]``.
        std: :math:`\sigma_h`, likewise.
        graphs: Which nodes belong to which graph.
        pole_floor: Least value of :math:`A` in the logarithm. With everything kept, A is 0 and the
            bound infinite; below the floor this is a finite surrogate and no longer a bound.
        log_term: ``False`` leaves the logarithm out, as the authors' program does.
        square_of_sum: ``False`` puts the sum of the squares in the place of :math:`B^2`, likewise.
        sums: What :func:`node_sums` gave, when it is at hand.

    Returns:
        ``[num_graphs]``.
    """
    kept, gates, a = node_sums(h, keep, graphs) if sums is None else sums
    if square_of_sum:
        signal = (torch.addcmul(kept, mean, gates, value=-1) / std).square().mean(1)
    else:
        centered = (h - graphs.spread_or_broadcast(mean)) / graphs.spread_or_broadcast(std)
        signal = graphs.sum((keep.unsqueeze(1) * centered).square()).mean(1)
    a = a.squeeze(1)
    bound = (a + signal) / (2 * graphs.sizes.squeeze(1).to(a.dtype))
    return bound - 0.5 * a.clamp(min=pole_floor).log() if log_term else bound


class NodeSums(NamedTuple):
    r"""Sums over each graph's nodes.

    ``kept`` is :math:`\sum\lambda_j h_j`, ``[num_graphs, channels]``; ``gates`` is
    :math:`\sum\lambda_j` and ``noise_power`` is :math:`A = \sum(1-\lambda_j)^2`,
    ``[num_graphs, 1]``.
    """

    kept: Tensor
    gates: Tensor
    noise_power: Tensor


def node_sums(h: Tensor, keep: Tensor, graphs: Segments) -> NodeSums:
    """All sums that the bound and the readout need."""
    gates = graphs.sum(torch.stack([keep, (1 - keep).square()], dim=1))
    return NodeSums(graphs.sum(h, keep), gates[:, :1], gates[:, 1:])


def noisy_sum(
    sums: NodeSums,
    mean: Tensor,
    std: Tensor,
    sizes: Tensor,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""The sum readout of a graph into which Gaussian noise was injected.

    .. math:: \sum_j z_j = \sum_j \lambda_j h_j + \mu_h \sum_j (1 - \lambda_j)
              + \sigma_h \sqrt A\, \epsilon, \quad \epsilon \sim \mathcal N(0, 1)

    The same distribution as injecting node by node (:func:`inject_noise`) and summing: a sum of
    independent Gaussians is a Gaussian, so that it is enough to draw once for each graph.
    """
    expected = torch.addcmul(sums.kept, mean, sizes - sums.gates)
    # The gradient of the root has a pole where everything is kept; there is no noise there either.
    spread = std * sums.noise_power.clamp(min=torch.finfo(std.dtype).tiny).sqrt()
    drawn = torch.empty_like(expected).normal_(generator=generator)
    return torch.addcmul(expected, spread, drawn)


def over_budget(p: Tensor, budget: float) -> Tensor:
    r"""The squared distance of the kept share of all nodes from the wanted one.

    .. math:: \bigl(\operatorname{mean}_j [p_j \ge \tfrac12] - b\bigr)^2
    """
    kept = straight_through(p >= 0.5, p)
    return (kept.mean() - budget).square()


@bottlenecks.register("vgib")
class VGIB(Bottleneck):
    r"""Keeps a node with a learned probability, else drowns it in noise, and pays for what passes.

    .. math:: \mathcal L = \mathcal L_{cls}(G_N, Y) + w_{clean} \mathcal L_{cls}(G, Y)
              + \beta\, \mathcal L_{MI}(z_N, G) \; (+ \alpha\, \mathcal L_{con})

    Args:
        channels: Channels of the node representations.
        beta: Weight of the compression bound.
        temperature: Temperature of the relaxation.
        prior: Whose moments the noise has: each ``graph``'s own (the paper) or the
            ``population``'s, a running mean over the training set. Only the second is a prior in
            the strict sense: the first depends on the graph, and with a sum readout hands its mean
            through at full noise.
        clean: Weight of the loss on the whole graph (Sec. 5.1).
        subgraph: Weight of the loss on the kept nodes alone, so that the head has seen what it is
            given at test time.
        connectivity: Weight of the connectivity term; the paper has none, its program has.
        budget: The share of the nodes to keep, held by a penalty on the share that is kept
            (:func:`over_budget`). The bound alone ends where it keeps everything or nothing.
        decoupled: Whether the gate alone learns from what it lets through, and encoder and head
            from the whole graph alone (``clean``), as they do without a bottleneck. The price of
            compression is then no reason to represent less.
        beside_whole: Whether the head sees what passes beside the readout of the whole graph, not
            in its place: a prediction that a bottleneck can hardly spoil, and a subgraph that
            carries what the whole graph's readout does not show.
        predict_from: What is pooled at test time: the kept nodes, the expected perturbed graph, or
            the whole graph; ``average`` is the mean of these three predictions.
        noise: ``gaussian``, or ``uniform`` as in the authors' program.
        log_term: ``False``: without the logarithm, as in the authors' program.
        square_of_sum: ``False``: sum of squares in the place of :math:`B^2`, likewise.
        probabilities_as_logits: ``True``: the two-way probabilities are handed to the relaxation as
            if they were logits, likewise.
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
        connectivity: float = 0.0,
        budget: float | None = None,
        decoupled: bool = False,
        beside_whole: bool = False,
        predict_from: PredictFrom = "subgraph",
        noise: Noise = "gaussian",
        log_term: bool = True,
        square_of_sum: bool = True,
        probabilities_as_logits: bool = False,
        pole_floor: float = 1e-2,
        std_floor: float = 1e-2,
        momentum: float = 0.1,
    ) -> None:
        super().__init__()
        if prior not in ("graph", "population"):
            raise InputError(f"prior must be 'graph' or 'population'; got {prior!r}")
        if noise not in ("gaussian", "uniform"):
            raise InputError(f"noise must be 'gaussian' or 'uniform'; got {noise!r}")
        if temperature <= 0:
            raise InputError(f"temperature must be positive; got {temperature}")
        self.gate = Gate(channels)
        self.weights |= {
            "clean": clean,
            "subgraph": subgraph,
            "compression": beta,
            "connectivity": connectivity,
        }
        if budget is not None:
            self.weights["budget"] = 1.0
        if budget is not None and not 0 < budget < 1:
            raise InputError(f"budget must be a share between 0 and 1; got {budget}")
        if decoupled and not clean:
            raise InputError(
                "decoupled=True needs clean > 0: nothing else trains the encoder and head"
            )
        self.budget = budget
        self.decoupled = decoupled
        self.beside_whole = beside_whole
        self.temperature = temperature
        self.prior = prior
        self.predict_from = predict_from
        self.noise: Noise = noise
        self.log_term = log_term
        self.square_of_sum = square_of_sum
        self.probabilities_as_logits = probabilities_as_logits
        self.pole_floor = pole_floor
        self.std_floor = std_floor
        self.momentum = momentum
        self.population_mean: Tensor
        self.population_variance: Tensor
        self.register_buffer("population_mean", torch.zeros(channels))
        # Infinite until the first batch has been seen.
        self.register_buffer("population_variance", torch.full((channels,), torch.inf))

    def forward(self, encoded: Encoded) -> Perturbed:
        r"""Noise in training mode; in evaluation mode the expected perturbed graph.

        Note:
            Expected under the Bernoulli gate, :math:`E\lambda = p`. The mean of the relaxed gate
            is another one unless p is one half.
        """
        h, graphs = encoded.h, encoded.graphs
        logits = self.gate(h)
        p = torch.sigmoid(logits)
        mean, std = self.moments(h, graphs, encoded.total if self.prior == "graph" else None)
        if not self.training:
            kept, gates, _ = node_sums(h, p, graphs)
            expected = kept + mean * (graphs.sizes.to(h.dtype) - gates)
            return Perturbed(graph=self._as_readout(expected, encoded), scores=p)
        keep = relax(2 * p - 1 if self.probabilities_as_logits else logits, self.temperature)
        sums = node_sums(h, keep, graphs)
        if self.noise == "gaussian":
            noisy = noisy_sum(sums, mean, std, graphs.sizes.to(h.dtype))
        else:
            mean_, std_ = graphs.spread_or_broadcast(mean), graphs.spread_or_broadcast(std)
            noisy = graphs.sum(inject_noise(h, keep, mean_, std_, noise=self.noise))
        perturbed = Perturbed(graph=self._as_readout(noisy, encoded), scores=p)
        if self.weights["compression"]:
            bound = compression(
                h,
                keep,
                mean,
                std,
                graphs,
                pole_floor=self.pole_floor,
                log_term=self.log_term,
                square_of_sum=self.square_of_sum,
                sums=sums,
            )
            perturbed.terms["compression"] = bound.mean()
        if self.weights["connectivity"]:
            perturbed.terms["connectivity"] = connectivity(p, encoded.adj, graphs).mean()
        if self.budget is not None:
            perturbed.terms["budget"] = over_budget(p, self.budget)
        return perturbed

    @staticmethod
    def _as_readout(total: Tensor, encoded: Encoded) -> Tensor:
        """The sum over nodes, or their mean: noise takes the place of a node, so all count."""
        return total if encoded.readout == "sum" else encoded.graphs.divide(total)

    def moments(
        self, h: Tensor, graphs: Segments, total: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Mean and spread of the prior, ``[num_graphs, channels]`` or ``[1, channels]``."""
        if self.prior == "graph":
            return graph_statistics(h, graphs, self.std_floor, total)
        if self.training:
            self._watch(h.detach())
        unseen = torch.isinf(self.population_variance)
        variance = torch.where(unseen, 1.0, self.population_variance)
        std = variance.clamp(min=self.std_floor**2).sqrt()
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
