"""Graph stochastic attention: random message weights with a prior keep-rate.

Miao, Liu, Li, "Interpretable and Generalizable Graph Learning via Stochastic Attention Mechanism",
ICML 2022, arXiv:2201.12987.
"""

from math import ceil
from typing import Any, Literal

import torch
from torch import Tensor, nn

from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, bottlenecks
from vgib.nn.paper_vgib import relax
from vgib.nn.sparse import Adjacency, Segments

Level = Literal["edges", "nodes"]


def bernoulli_kl(p: Tensor, r: float, floor: float = 1e-6) -> Tensor:
    r"""KL(Bernoulli(p) || Bernoulli(r)) for each node or edge.

    .. math:: p \log\frac pr + (1 - p) \log\frac{1 - p}{1 - r}
    """
    p = p.clamp(floor, 1 - floor)
    return p * (p / r).log() + (1 - p) * ((1 - p) / (1 - r)).log()


def instance_norm(x: Tensor, graphs: Segments, variance_floor: float = 1e-5) -> Tensor:
    r"""Each channel with mean 0 and variance 1 over the rows of its own graph.

    .. math:: \hat x_j = \frac{x_j - \mu_G}{\sqrt{\sigma_G^2 + \epsilon}}

    ``x`` is ``[rows, channels]``; ``variance_floor`` is :math:`\epsilon`, for constant channels.
    """
    centered = x - graphs.spread(graphs.mean(x))
    return centered * graphs.spread((graphs.mean(centered.square()) + variance_floor).rsqrt())


class Extractor(nn.Module):
    """One logit for each row (a node, or a pair of nodes), relative to the others of its graph.

    Two hidden layers, each with instance norm, ReLU and dropout.

    Args:
        channels: Channels of the second hidden layer; the first one has twice those of a row.
    """

    def __init__(self, inputs: int, channels: int, dropout: float) -> None:
        super().__init__()
        widths = (inputs, 2 * inputs, channels)
        self.hidden = nn.ModuleList(map(nn.Linear, widths, widths[1:]))
        self.last = nn.Linear(channels, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, graphs: Segments) -> Tensor:
        """``[rows, inputs] -> [rows]``; ``graphs`` says which rows belong to which graph."""
        for layer in self.hidden:
            x = self.dropout(instance_norm(layer(x), graphs).relu())
        logits: Tensor = self.last(x)
        return logits.squeeze(-1)


@bottlenecks.register("gsat")
class GSAT(Bottleneck):
    r"""Weights each message by stochastic attention, and encodes the graph again.

    .. math:: a \sim \mathrm{Concrete}(p), \quad
              \mathcal L = \mathcal L_{cls}(f(G_w), Y) + \beta \operatorname{mean}
              \mathrm{KL}(a \| r)

    On edges the attention comes from the representations of both ends, and the weight of an edge is
    the mean over its two directions; a node's score is the mean over its edges. On nodes, as the
    authors have it for molecules, :math:`w_{ij} = a_i a_j`, and the score is the attention itself.

    Args:
        channels: Channels of the node representations.
        on: Whether the attention is on ``edges`` or on ``nodes``.
        beta: Weight of the divergence from the prior.
        rate: The prior keep-rate r at the end of its schedule.
        rate_start: r in the first epoch.
        rate_step: How much r falls each time.
        rate_every: Epochs between two falls.
        temperature: Temperature of the relaxation.
        dropout: In the network that gives the attention.

    Note:
        The paper has the divergence of p from r; the authors' program, and we, that of the
        attention that was drawn. While r falls the attention tells little, so that no epoch before
        the end of the schedule is selected.
    """

    def __init__(
        self,
        channels: int,
        *,
        on: Level = "edges",
        beta: float = 1.0,
        rate: float = 0.5,
        rate_start: float = 0.9,
        rate_step: float = 0.1,
        rate_every: int = 10,
        temperature: float = 1.0,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not 0 < rate <= rate_start < 1:
            raise InputError(f"need 0 < rate <= rate_start < 1; got {rate} and {rate_start}")
        if on not in ("edges", "nodes"):
            raise InputError(f"on must be 'edges' or 'nodes'; got {on!r}")
        self.on: Level = on
        self.extractor = Extractor(channels * (2 if on == "edges" else 1), channels, dropout)
        self.gate: Gate | None = None
        self.weights["compression"] = beta
        self.final_rate, self.rate_start = rate, rate_start
        self.rate_step, self.rate_every = rate_step, rate_every
        self.temperature = temperature
        self.rate = rate_start
        # Rounded, because 0.9 - 0.5 is four steps of 0.1 and a rest of 6e-17.
        self.selected_from = rate_every * ceil(round((rate_start - rate) / rate_step, 6))

    def start_epoch(self, epoch: int, epochs: int) -> None:
        """Lowers the keep-rate on its schedule."""
        fallen = self.rate_start - self.rate_step * (epoch // self.rate_every)
        self.rate = max(self.final_rate, fallen)

    def forward(self, encoded: Encoded) -> Perturbed:
        """Weights the messages; in evaluation mode by the probabilities themselves."""
        logits = self.logits(encoded)
        attention = relax(logits, self.temperature) if self.training else logits.sigmoid()
        scores = self.node_scores(logits.sigmoid(), encoded.adj)
        perturbed = Perturbed(
            encoded.whole, scores, edge_weight=self.lifted(attention, encoded.adj)
        )
        if self.training and self.weights["compression"]:
            perturbed.terms["compression"] = self.divergence(attention)
        return perturbed

    def divergence(self, attention: Tensor) -> Tensor:
        """The mean divergence from the present prior; 0 where there is nothing to attend to."""
        return bernoulli_kl(attention, self.rate).sum() / max(attention.numel(), 1)

    def logits(self, encoded: Encoded) -> Tensor:
        """The logit of each directed edge or of each node, ``[num_edges]`` or ``[num_nodes]``."""
        h, csr = encoded.h, encoded.adj.csr
        if self.gate is not None:
            earlier: Tensor = self.gate(h)
            return earlier
        rows, of_graph = h, encoded.graphs
        if self.on == "edges":
            rows = torch.cat([h.index_select(0, csr.col), h.index_select(0, csr.row)], dim=1)
            # The edges of a graph stand together, as its nodes do.
            of_graph = Segments(csr.indptr.index_select(0, of_graph.ptr))
        logits: Tensor = self.extractor(rows, of_graph)
        return logits

    def lifted(self, attention: Tensor, adj: Adjacency) -> Tensor:
        """The weight of each directed edge, ``[num_edges]``."""
        csr = adj.csr
        if self.on == "nodes":
            return attention.index_select(0, csr.row) * attention.index_select(0, csr.col)
        if not csr.symmetric:
            return attention
        return (attention + attention.index_select(0, csr.to_transpose)) / 2

    def node_scores(self, p: Tensor, adj: Adjacency) -> Tensor:
        """The attention of each node, or the mean over its edges (0 for a node without any)."""
        if self.on == "nodes":
            return p
        received = Segments(adj.csr.indptr).sum(self.lifted(p, adj).unsqueeze(1)).squeeze(1)
        return received / adj.csr.counts.clamp(min=1).to(p.dtype)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Takes models too that were saved when attention came from a plain gate on the nodes."""
        weight = state_dict.get(f"{prefix}gate.mlp.0.weight")
        if weight is not None and self.gate is None:
            self.on, self.gate = "nodes", Gate(weight.shape[1]).to(weight)
            del self.extractor
        super()._load_from_state_dict(state_dict, prefix, *rest)
