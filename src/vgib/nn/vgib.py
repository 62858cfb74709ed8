r"""The recommended bottleneck: every node pays for what it passes, where it enters.

Four stages of training, each against the ones before it held fixed:

1. the *network*, on whole graphs, as without a bottleneck. It makes every prediction;
2. the *predictor of parts* :math:`f(G_\lambda)`, with an encoder of its own, on graphs of which a
   random part was replaced by noise. It can judge a part; and no gate can agree with it on a code
   for the label, because the masks that it learned from knew nothing of the label;
3. the *worth* of each node, from which the gate starts: the share of the evidence that goes with
   it, fitted to what the predictor loses under random masks (:meth:`NodeVGIB.worth_terms`);
4. the *gate* :math:`\lambda`, against the predictor:

.. math:: \min \; \mathbb E \Bigl[ \frac{D\bigl(f(G), f(G_\lambda)\bigr)}{D_0} +
          \beta\, \phi\Bigl( \frac{\frac1m \sum_j \mathrm{KL}_j(\lambda_j)}{\mathrm{KL}_1} \Bigr)
          \Bigr], \quad \phi(s) = \tfrac12 (s + s^2)

:math:`D` is the divergence of two predictions, :math:`D_0` its mean over the graphs of the same
predicted class when nothing passes, and :math:`\mathrm{KL}_1` the mean price of a node that passes
whole. Both terms run from 0 to 1 on every dataset, so that :math:`\beta = 1` has no unit. The price
is *progressive*, :math:`\phi`: the first nodes cost half their share, the last ones one and a half
times theirs, and all of them as much as all the evidence is worth. A small part is therefore kept
whole, while to keep everything is never worth more than to keep nothing: a class that is the
absence of something has its evidence everywhere and may end with "no part".

``docs/theory.md`` says what the price bounds, and why the gate cannot write the label.
"""

from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn

from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Perturbed, Site, Stage, Task, bottlenecks
from vgib.nn.encoder import Encoder
from vgib.nn.layers import BatchNorm
from vgib.nn.masks import every_ball, random_masks
from vgib.nn.paper_vgib import inject_noise, relax
from vgib.nn.sparse import Adjacency, Segments

LARGEST_DEGREE = 11
"""Nodes of more neighbors share one embedding."""

COUNTED_HOPS = 2
"""The largest radius of the balls by which it is measured what counts."""

COUNTED_BALLS = 64
"""Around so many nodes of each graph, at most, there is a ball of every radius."""


def node_price(keep: Tensor, x: Tensor, mean: Tensor, std: Tensor, floor: float) -> Tensor:
    r"""What each node pays: the divergence of its noisy channel from pure noise, ``[num_nodes]``.

    .. math:: \mathrm{KL}_j = \mathrm{KL}\bigl(\mathcal N(\mu + \lambda_j (x_j - \mu),
              (1 - \lambda_j)^2 \sigma^2) \,\|\, \mathcal N(\mu, \sigma^2)\bigr)
              = \tfrac12 \Bigl[(1 - \lambda_j)^2 + \lambda_j^2
              \Bigl(\frac{x_j - \mu}{\sigma}\Bigr)^2 - 1\Bigr] - \log(1 - \lambda_j)

    The mean over channels, in nats. ``keep`` is :math:`\lambda`, ``[num_nodes]``; ``x`` is
    ``[num_nodes, channels]``; ``mean`` and ``std`` are the population's, ``[channels]``.

    Note:
        It is zero when nothing passes and infinite at :math:`\lambda = 1`. ``floor`` is the least
        :math:`1 - \lambda` in the logarithm: beyond it this is a price and no longer a bound.
    """
    deviation = ((x - mean) / std).square().mean(1)
    lost = 1 - keep
    return 0.5 * (lost.square() + keep.square() * deviation - 1) - lost.clamp(min=floor).log()


def tariff(share: Tensor) -> Tensor:
    r"""What a share of the whole price weighs: :math:`\phi(s) = \tfrac12 (s + s^2)`.

    From 0 for nothing to 1 for everything; each further node costs more than the one before.
    """
    return 0.5 * share * (1 + share)


def divergence(reference: Tensor, output: Tensor, task: Task) -> Tensor:
    r"""How far a prediction is from the reference, ``[num_graphs, 1 or outputs]``.

    :math:`\mathrm{KL}(\mathrm{softmax}\,r \,\|\, \mathrm{softmax}\,o)` for classes; for values the
    squared difference, target by target.
    """
    if task == "regression":
        return (reference - output).square()
    r, o = reference.log_softmax(1), output.log_softmax(1)
    return (r.exp() * (r - o)).sum(1, keepdim=True)


class PartPredictor(nn.Module):
    r"""Predicts from a graph of which only a part passes.

    .. math:: x_j = W \phi_j + E[d_j], \quad z_j = \lambda_j x_j + (1 - \lambda_j) \epsilon_j, \quad
              f(G_\lambda) = \mathrm{head}\Bigl(\sum_j \lambda_j h_j\Bigr), \quad
              h = \mathrm{GNN}\bigl(z, (\lambda_i A_{ij} \lambda_j)\bigr)

    Inputs, messages and readout are under the same gate, so that a node whose gate is closed is not
    there: nothing depends on it, nor on its noise. The degree :math:`d_j` is part of the input, so
    that structure has something to pay with where all features are alike.

    Args:
        site: The network around it.
        std_floor: Least spread of the noise, for channels that are constant.
        momentum: Share of each batch in the running moments of the population.
    """

    def __init__(self, site: Site, std_floor: float = 1e-2, momentum: float = 0.1) -> None:
        super().__init__()
        width = site.channels
        self.features = nn.Linear(site.in_channels, width)
        self.degree = nn.Embedding(LARGEST_DEGREE + 1, width)
        self.encoder = Encoder(
            site.layer, width, hidden=width, depth=site.depth, edge_channels=site.edge_channels
        )
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, site.outputs)
        )
        self.std_floor, self.momentum = std_floor, momentum
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    @property
    def std(self) -> Tensor:
        """The spread of the population, ``[channels]``."""
        return self.variance.sqrt().clamp(min=self.std_floor)

    def embed(self, encoded: Encoded) -> Tensor:
        """The inputs :math:`x`, ``[num_nodes, channels]``; in training moves their moments."""
        degree = encoded.adj.degree.squeeze(1).long().clamp(max=LARGEST_DEGREE)
        x: Tensor = self.features(encoded.x.detach())
        x = x + self.degree.weight.index_select(0, degree)
        if self.training:
            with torch.no_grad():
                variance, mean = torch.var_mean(x, 0, correction=0)
                self.mean.lerp_(mean, self.momentum)
                self.variance.lerp_(variance, self.momentum)
        return x

    def forward(self, x: Tensor, adj: Adjacency, graphs: Segments, keep: Tensor) -> Tensor:
        """The prediction, ``[num_graphs, outputs]``; ``keep`` is the gate, ``[num_nodes]``."""
        z = inject_noise(x, keep, self.mean, self.std)
        h = self.encoder(z, adj.with_ends(keep))
        output: Tensor = self.head(graphs.sum(h, keep))
        return output

    def open(self, x: Tensor, adj: Adjacency, graphs: Segments) -> Tensor:
        """The same where every node passes: parts that were cut out of their graphs need no gates,
        and many parts of a graph cost no more than their own nodes.
        """
        output: Tensor = self.head(graphs.sum(self.encoder(x, adj)))
        return output

    def nothing(self) -> Tensor:
        """The prediction when no node passes, ``[1, outputs]``."""
        output: Tensor = self.head(torch.zeros_like(self.mean).unsqueeze(0))
        return output


class NodeGate(nn.Module):
    r"""One logit for each node, from everything that the network knows of it.

    .. math:: a_j = \mathrm{MLP}\bigl[x_j, h^1_j, \dots, h^L_j, \bar h^L, \hat y\bigr], \quad
              \log\frac{p_j}{1 - p_j} = (1 - s)\, a_j + s\, \frac1{d_j} \sum_{i \in N(j)} a_i

    The mean over neighbors says that parts hang together; it is all that is said of their shape.

    Args:
        site: The network around it.
        hidden: Channels of the hidden layer.
        smoothing: :math:`s`, the weight of the neighbors.
    """

    def __init__(self, site: Site, hidden: int, smoothing: float) -> None:
        super().__init__()
        seen = site.in_channels + (site.depth + 1) * site.channels + site.outputs
        self.norm = BatchNorm(seen)
        self.mlp = nn.Sequential(nn.Linear(seen, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.smoothing = smoothing
        self.is_classifier = site.task == "classification"

    def forward(self, encoded: Encoded) -> Tensor:
        """``[num_nodes]``; no gradient reaches the network."""
        said = encoded.output.softmax(1) if self.is_classifier else encoded.output
        whole = torch.cat([encoded.graphs.divide(encoded.total), said], dim=1)
        seen = torch.cat([encoded.x, *encoded.states, encoded.graphs.spread(whole)], dim=1).detach()
        own: Tensor = self.mlp(self.norm(seen))
        degree = encoded.adj.degree.to(own.dtype)
        around = torch.where(degree > 0, (encoded.adj @ own) / degree.clamp(min=1), own)
        return torch.lerp(own, around, self.smoothing).squeeze(1)


class Yardstick(nn.Module):
    r"""What the two terms of the gate are measured in: means over the graphs seen so far.

    :math:`D_0`, what the predictor loses when it sees nothing, for each predicted class (for each
    target of a regression), and :math:`\mathrm{KL}_1`, the price of a node that passes whole.
    """

    LEAST = 1e-3

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.task: Task = site.task
        self.lost: Tensor
        self.graphs: Tensor
        self.paid: Tensor
        self.nodes: Tensor
        for name, shape in (
            ("lost", site.outputs),
            ("graphs", site.outputs),
            ("paid", ()),
            ("nodes", ()),
        ):
            self.register_buffer(name, torch.zeros(shape))

    def watch(self, whole: Tensor, nothing: Tensor, prices: Tensor) -> None:
        """Adds a batch: predictions of whole graphs and of nothing, prices of open nodes."""
        lost = divergence(whole, nothing.expand_as(whole), self.task)
        if self.task == "regression":
            self.lost += lost.sum(0)
            self.graphs += len(whole)
        else:
            self.lost.index_add_(0, whole.argmax(1), lost.squeeze(1))
            self.graphs += torch.bincount(whole.argmax(1), minlength=len(self.graphs))
        self.paid += prices.sum()
        self.nodes += len(prices)

    @property
    def evidence(self) -> Tensor:
        """:math:`D_0`, ``[outputs]``."""
        return (self.lost / self.graphs.clamp(min=1)).clamp(min=self.LEAST)

    @property
    def price(self) -> Tensor:
        r""":math:`\mathrm{KL}_1`, a scalar."""
        return self.paid / self.nodes.clamp(min=1)

    def share_lost(self, whole: Tensor, output: Tensor) -> Tensor:
        """The share of the evidence that a prediction has lost, ``[num_graphs]``."""
        lost = divergence(whole, output, self.task)
        if self.task == "regression":
            return (lost / self.evidence).mean(1)
        return lost.squeeze(1) / self.evidence[whole.argmax(1)]

    def weight(self, whole: Tensor) -> Tensor:
        """Weights with which every predicted class counts the same, ``[num_graphs]``."""
        if self.task == "regression":
            return torch.ones_like(whole[:, 0])
        classes = (self.graphs > 0).sum()
        return (self.graphs.sum() / (self.graphs.clamp(min=1) * classes))[whole.argmax(1)]


@bottlenecks.register("vgib")
class NodeVGIB(Bottleneck):
    """Keeps the part of a graph whose share of the evidence is worth its share of the price.

    The scores answer *what suffices*: one part from which the prediction follows. :meth:`counts`
    answers the other question, *what counts*. The prediction is the network's own, from the whole
    graph.

    Args:
        site: The network around it.
        beta: What the price of the whole graph weighs, in units of the whole evidence. Zero is the
            control without a price, which keeps everything.
        smoothing: How much of a node's logit comes from its neighbors.
        independent: Share of the masks of training that open and close single nodes.
        ball: Share of those that show or hide a ball around a node; the rest show the whole graph.
        hops: Largest radius of a ball.
        temperature: Of the relaxed gates at the end. They start at one, half open, and sharpen, so
            that what has been learned from is what is cut out at one half.
        rise: The share of the last stage in which the price rises from zero to ``beta``, so that
            evidence is found before it is given up. At zero all of it is due from the first step.
        floor: Least share of noise in a node, as far as its price is concerned.
        hidden: Hidden channels of the gate.
    """

    predict_from = "clean"
    SHARPEN = 0.7
    """The share of the last stage in which the gates sharpen."""
    OUTLYING = 0.5
    """Errors of worths beyond this share of the evidence count linearly: a mask may mislead."""

    stages = (
        Stage("network", moves=("features", "encoder", "head"), weights={"clean": 1.0}),
        Stage(
            "predictor", moves=("bottleneck.predictor",), weights={"prediction": 1.0}, select="last"
        ),
        Stage(
            "worth", moves=("bottleneck.gate",), share=0.2, weights={"worth": 1.0}, select="last"
        ),
        Stage(
            "gate",
            moves=("bottleneck.gate",),
            share=0.4,
            weights={"evidence": 1.0, "price": 1.0},
            select="last",
        ),
    )

    def __init__(
        self,
        site: Site,
        *,
        beta: float = 1.0,
        smoothing: float = 0.3,
        independent: float = 0.35,
        ball: float = 0.4,
        hops: int = 4,
        temperature: float = 0.2,
        rise: float = 0.5,
        floor: float = 0.01,
        hidden: int = 64,
    ) -> None:
        super().__init__()
        if beta < 0:
            raise InputError(f"beta must be zero or positive; got {beta}")
        if hidden < 1:
            raise InputError(f"hidden must be at least 1; got {hidden}")
        if temperature <= 0:
            raise InputError(f"temperature must be positive; got {temperature}")
        shares = {"independent + ball": independent + ball, "smoothing": smoothing, "rise": rise}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise InputError(f"{name} must be a share; got {share}")
        self.predictor = PartPredictor(site)
        self.gate = NodeGate(site, hidden, smoothing)
        self.yardstick = Yardstick(site)
        self.beta, self.price_now, self.rise = beta, beta, rise
        self.draw_masks = partial(random_masks, independent=independent, ball=ball, hops=hops)
        self.temperature, self.temperature_now, self.floor = temperature, temperature, floor

    @classmethod
    def at(cls, site: Site, **options: Any) -> Self:
        return cls(site, **options)

    def start_epoch(self, epoch: int, epochs: int) -> None:
        """The price rises, and the gates sharpen."""
        self.price_now = self.beta * min(1.0, (epoch + 1) / max(1.0, self.rise * epochs))
        self.temperature_now = self.temperature ** min(1.0, epoch / (self.SHARPEN * epochs))

    def forward(self, encoded: Encoded) -> Perturbed:
        """Scores; in training what the stage at hand learns from."""
        if encoded.target is not None and self.stage.name in ("network", "predictor"):
            # Before the gate is trained, everything passes.
            output, ones = None, encoded.x.new_ones(len(encoded.x))
            if self.predictor.training:
                output = self.judge(encoded, self.draw_masks(encoded.adj, encoded.graphs))
            return Perturbed(graph=None, scores=ones, output=output)
        logits = self.gate(encoded)
        terms: dict[str, Tensor] = {}
        if self.gate.training:
            learn = self.worth_terms if self.stage.name == "worth" else self.gate_terms
            terms = learn(encoded, logits)
        return Perturbed(graph=None, scores=logits.sigmoid(), terms=terms)

    def judge(self, encoded: Encoded, keep: Tensor) -> Tensor:
        """What a part alone predicts, without randomness where its gates are 0 and 1."""
        x = self.predictor.embed(encoded)
        output: Tensor = self.predictor(x, encoded.adj, encoded.graphs, keep)
        return output

    def worth_terms(self, encoded: Encoded, logits: Tensor) -> dict[str, Tensor]:
        r"""How far the worths of closed nodes are from adding up to what a random mask loses.

        .. math:: \sum_{j \notin M} w_j \approx S(M) = \frac{D\bigl(f(G), f(G_M)\bigr)}{D_0}, \quad
                  w_j = \frac{a_j + \beta}{m}

        The worth :math:`w_j` of a node is its share of the evidence, and :math:`a_j` its logit: at
        the start of the last stage a gate is open where the node is worth more than the mean price
        :math:`\beta / m` of a node. Shapley values are fitted in this way by FastSHAP (Jethani,
        Sudarshan, Covert, Lee, Ranganath, ICLR 2022, arXiv 2107.07436).
        """
        x, whole = self._seen(encoded)
        with torch.no_grad():
            keep = self.draw_masks(encoded.adj, encoded.graphs)
            said = self.predictor(x, encoded.adj, encoded.graphs, keep)
            lost = self.yardstick.share_lost(whole, said)
        closed = (1 - keep) * (logits + self.beta)
        total = encoded.graphs.mean(closed.unsqueeze(1)).squeeze(1)
        off = nn.functional.smooth_l1_loss(total, lost, reduction="none", beta=self.OUTLYING)
        return {"worth": (self.yardstick.weight(whole) * off).mean()}

    def gate_terms(self, encoded: Encoded, logits: Tensor) -> dict[str, Tensor]:
        """The share of the evidence that is lost, and what the share of the price weighs."""
        x, whole = self._seen(encoded)
        keep = relax(logits, self.temperature_now)
        said = self.predictor(x, encoded.adj, encoded.graphs, keep)
        lost = self.yardstick.share_lost(whole, said)
        paid = encoded.graphs.mean(self.prices(x, keep).unsqueeze(1)).squeeze(1)
        weight = self.yardstick.weight(whole)
        return {
            "evidence": (weight * lost).mean(),
            "price": self.price_now * (weight * tariff(paid / self.yardstick.price)).mean(),
        }

    @torch.no_grad()
    def _seen(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """What the predictor sees of each node, and what it says of whole graphs."""
        x = self.predictor.embed(encoded)
        ones = torch.ones_like(x[:, 0])
        whole = self.predictor(x, encoded.adj, encoded.graphs, ones)
        self.yardstick.watch(whole, self.predictor.nothing(), self.prices(x, ones))
        return x, whole

    def counts(self, encoded: Encoded) -> Tensor:
        r"""What counts: the share of the evidence that goes when a node goes, ``[num_nodes]``.

        .. math:: c_j = \mathbb E_M [S(M) \mid j \notin M] - \mathbb E_M [S(M) \mid j \in M],
                  \quad S(M) = D\bigl(f(G), f(G_M)\bigr) / D_0

        The masks :math:`M` are the balls of at most :data:`COUNTED_HOPS` steps around every node,
        and all but each of them. A node has its count also where another one says the same.
        """
        adj, graphs, predictor = encoded.adj, encoded.graphs, self.predictor
        x = predictor.embed(encoded)
        whole = predictor(x, adj, graphs, torch.ones_like(x[:, 0]))
        shown, lost_shown, hidden, lost_hidden = x.new_zeros(4, len(x))
        for ball, has in every_ball(adj, graphs, COUNTED_HOPS, COUNTED_BALLS):
            for mask in (ball, 1 - ball):
                lost = self.yardstick.share_lost(whole, predictor(x, adj, graphs, mask))
                used, lost = has[graphs.batch].to(x), lost[graphs.batch]
                shown += used * mask
                hidden += used * (1 - mask)
                lost_shown += used * mask * lost
                lost_hidden += used * (1 - mask) * lost
        difference: Tensor = lost_hidden / hidden.clamp(min=1) - lost_shown / shown.clamp(min=1)
        return difference.clamp(0, 1)

    def prices(self, x: Tensor, keep: Tensor) -> Tensor:
        """The price of each node, ``[num_nodes]``."""
        return node_price(keep, x, self.predictor.mean, self.predictor.std, self.floor)
