"""The contract of every bottleneck: node representations in, a perturbed graph and scores out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from vgib.nn.sparse import Adjacency, Segments
from vgib.registry import Registry, refuse_unknown_options

PredictFrom = Literal["perturbed", "subgraph", "clean", "average"]
Readout = Literal["sum", "mean", "norm"]
NORM = 100.0
"""What the readout ``"norm"`` divides sums by, as chemprop does."""

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class Site:
    """Where a bottleneck is built in: what it is told of the network around it.

    Attributes:
        channels: Channels of the last layer's states.
        in_channels: Channels of the features that enter the first layer.
        depth: How many layers, and so how many states, there are.
        outputs: Number of classes or values that are predicted.
        task: Whether these are classes or values.
        layer: The kind of the network's layers by name, for an encoder of the bottleneck's own.
        edge_channels: Channels of the edge features that these layers read.
    """

    channels: int
    in_channels: int
    depth: int
    outputs: int
    task: Task
    layer: str = "gin"
    edge_channels: int = 0


@dataclass(eq=False)
class Encoded:
    """What a bottleneck may look at.

    Attributes:
        x: The features that entered the first layer, ``[num_nodes, in_channels]``.
        layers: What gives the representations after each layer, or these representations; a stage
            that looks at the features alone is spared the encoder.
        adj: The edges.
        graphs: Which nodes belong to which graph.
        readout: How nodes become a graph, with ``"norm"`` by their sum over :data:`NORM`; ``None``
            for a frozen network, whose readout is its own affair: a bottleneck then gives the
            perturbed nodes ``z`` beside ``graph``.
        inputs: The features as the graphs have them, before they were embedded, if they are known.
        head: What makes an output of a graph's readout.
        target: What is to be predicted, in training: the classes ``[num_graphs]`` or values.
    """

    x: Tensor
    layers: Callable[[], tuple[Tensor, ...]] | tuple[Tensor, ...]
    adj: Adjacency
    graphs: Segments
    readout: Readout | None = "sum"
    inputs: Tensor | None = None
    head: Callable[[Tensor], Tensor] | None = None
    target: Tensor | None = None

    @cached_property
    def states(self) -> tuple[Tensor, ...]:
        """The representations after each layer, made once, ``[num_nodes, channels]`` each."""
        return self.layers() if callable(self.layers) else self.layers

    @property
    def h(self) -> Tensor:
        """The last layer's representations, ``[num_nodes, channels]``."""
        return self.states[-1]

    @cached_property
    def total(self) -> Tensor:
        """The sum of the last layer's nodes, made once, ``[num_graphs, channels]``."""
        return self.graphs.sum(self.h)

    @property
    def whole(self) -> Tensor:
        """The readout of the last layer's nodes, ``[num_graphs, channels]``."""
        return self.as_readout(self.total)

    def as_readout(self, total: Tensor) -> Tensor:
        """The readout of nodes whose sum is known, with noise in the place of some of them."""
        match self.readout:
            case "sum":
                return total
            case "norm":
                return total / NORM
        return self.graphs.divide(total)

    @cached_property
    def output(self) -> Tensor:
        """What the network says of the whole graph, made once, ``[num_graphs, outputs]``.

        Logits (or their logarithmic probabilities) of classes, or values.
        """
        assert self.head is not None
        return self.head(self.whole)

    def detached(self) -> "Encoded":
        """The same values, through which no gradient reaches the encoder."""
        states = tuple(state.detach() for state in self.states)
        return replace(self, x=self.x.detach(), layers=states)

    def pool(self, z: Tensor, weight: Tensor | None = None) -> Tensor:
        """The readout of the (weighted) nodes, ``[num_nodes, c] -> [num_graphs, c]``."""
        total = self.graphs.sum(z, weight)
        if weight is None or self.readout != "mean":
            return self.as_readout(total)
        return total / self.graphs.sum(weight.unsqueeze(1)).clamp(min=torch.finfo(z.dtype).tiny)


@dataclass(eq=False)
class Perturbed:
    """What a bottleneck lets through.

    Attributes:
        graph: The readout of the perturbed nodes, ``[num_graphs, channels]``, from which the
            network's head predicts; ``None`` where the bottleneck predicts by itself.
        scores: One number in [0, 1] for each node; higher means kept.
        terms: Named loss terms, scalars, not yet weighted.
        edge_weight: A weight for each directed edge, ``[num_edges]``, with which the graph is
            encoded again; of several draws, ``[draws, num_edges]``, the readouts are averaged.
        z: The perturbed nodes, ``[num_nodes, channels]``, which take the place of the last layer's
            states in a frozen network.
        output: The prediction from the perturbed graph, ``[num_graphs, outputs]``, of a bottleneck
            with an encoder and a head of its own.
        loss: The weighted sum of the terms, for a training loop of a user's own.
    """

    graph: Tensor | None
    scores: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)
    edge_weight: Tensor | None = None
    z: Tensor | None = None
    output: Tensor | None = None
    loss: Tensor | None = None

    def over_draws(self, read: Callable[[Tensor], Tensor]) -> Tensor:
        """The mean of what is read with each draw of the weights on the messages."""
        weight = self.edge_weight
        assert weight is not None
        seen = [read(draw) for draw in (weight.unbind() if weight.dim() == 2 else (weight,))]
        return torch.stack(seen).mean(0) if len(seen) > 1 else seen[0]


@dataclass(frozen=True)
class Stage:
    """A part of training in which some of the parameters move and the rest stay as they are.

    Attributes:
        name: What the bottleneck calls it.
        moves: The parameters that move, by the beginnings of their names in the network, such as
            ``("encoder", "head", "bottleneck.gate")``; all of them when empty. Whatever does not
            move is in evaluation mode.
        share: How many epochs it has, as a share of the epochs of the settings.
        weights: The weights of the loss terms in this stage; the bottleneck's own when ``None``.
        select: Whether the best or the last epoch of the stage stays; the settings say it when
            ``None``.
    """

    name: str = "all"
    moves: tuple[str, ...] = ()
    share: float = 1.0
    weights: dict[str, float] | None = None
    select: Literal["best", "last"] | None = None

    def is_moving(self, parameter: str) -> bool:
        """Whether the parameter of this name moves."""
        return not self.moves or parameter.startswith(self.moves)


class Bottleneck(nn.Module):
    r"""Perturbs node representations (or messages) and scores the nodes.

    The training objective is the sum of named terms with the weights that stand in ``weights``:

    .. math:: \mathcal L = \sum_k w_k \mathcal L_k

    ``prediction`` is the loss of the perturbed graph, ``clean`` that of the whole graph,
    ``subgraph`` that of the kept nodes alone; the bottleneck adds terms of its own. A term of
    weight zero is not computed. In training mode ``forward`` may be random; in evaluation mode it
    must not be. Training may go in several ``stages``; ``stage`` is the one that is on. Weights of
    epochs before ``selected_from`` are never selected by their validation loss: until then a
    schedule of the bottleneck lasts.
    """

    predict_from: PredictFrom = "perturbed"
    selected_from: int = 0
    inner_steps: int = 0
    stages: tuple[Stage, ...] = (Stage(),)

    def __init__(self) -> None:
        super().__init__()
        self.weights: dict[str, float] = {"prediction": 1.0}
        self.stage: Stage = self.stages[-1]  # until training begins with the first

    @classmethod
    def at(cls, site: Site, **options: Any) -> Self:
        """A bottleneck for this place; most need to know no more than its channels."""
        return cls(channels=site.channels, **options)  # type: ignore[call-arg]  # every child's

    def __call__(self, encoded: Encoded | Tensor, batch: Tensor | None = None) -> Perturbed:
        """Perturbs and scores: what a network encoded, or node representations in any model.

        ``bottleneck(h, batch)`` is for a training loop of a user's own: ``z`` are the perturbed
        nodes (in evaluation mode the kept share of each), ``graph`` is their sum, ``loss`` is what
        is to be added to the loss of the prediction.
        """
        if not isinstance(encoded, Tensor):
            perturbed: Perturbed = super().__call__(encoded)
            return perturbed
        h = encoded
        if batch is None:
            batch = torch.zeros(len(h), dtype=torch.int64, device=h.device)
        graphs = Segments.from_batch(batch)
        alone = Adjacency.from_edge_index(h.new_zeros(2, 0, dtype=torch.int64), len(h))
        readout: Readout | None = None if self.training else "sum"
        found: Perturbed = super().__call__(Encoded(h, (h,), alone, graphs, readout))
        found.z = found.scores.unsqueeze(1) * h if found.z is None else found.z
        found.graph = graphs.sum(found.z) if found.graph is None else found.graph
        found.loss = h.new_zeros(()) + sum(
            self.weights[name] * term for name, term in found.terms.items()
        )
        return found

    def forward(self, encoded: Encoded) -> Perturbed:
        """Perturbs and scores."""
        raise TypeError(f"{type(self).__name__} must define forward(encoded) -> Perturbed")

    def start_stage(self, stage: Stage) -> None:
        """Called before the first epoch of each stage, and when training goes on within it."""
        self.stage = stage
        if stage.weights is not None:
            self.weights = dict(stage.weights)

    def start_epoch(self, epoch: int, epochs: int) -> None:
        """Called before each of a stage's epochs, for schedules."""

    def criterion(self, encoded: Encoded, perturbed: Perturbed) -> Tensor | None:
        """What the best epoch of this stage has least of on the validation graphs.

        A mean over the graphs, without randomness; ``None`` stands for the loss of the prediction
        that is used at test time.
        """
        return None

    def inner_gradients(self, encoded: Encoded) -> Iterator[None]:
        """The steps of the inner level (GIB alone): each leaves a gradient in its parameters."""
        return iter(())

    def inner_parameters(self) -> Iterator[nn.Parameter]:
        """The parameters that the inner level trains and the outer level leaves alone."""
        return iter(())


bottlenecks: Registry[Bottleneck] = Registry("bottleneck")

PLACES = ("channels", "site")
"""What a bottleneck is told by the network that it is built into, not by its user."""


def build_in(
    kind: str | type[Bottleneck] | Bottleneck, site: Site, options: dict[str, Any]
) -> Bottleneck:
    """The bottleneck of this name or class in its place; an instance stays as it is."""
    if isinstance(kind, Bottleneck):
        return bottlenecks.make(kind, **options)
    cls = bottlenecks.get(kind) if isinstance(kind, str) else kind
    refuse_unknown_options(
        f"bottleneck {kind if isinstance(kind, str) else kind.__name__}", cls, options
    )
    return cls.at(site, **options)


@bottlenecks.register("none")
class NoBottleneck(Bottleneck):
    """The plain backbone: everything passes, every node scores one."""

    def __init__(self, channels: int) -> None:
        super().__init__()

    def forward(self, encoded: Encoded) -> Perturbed:
        ones = encoded.h.new_ones(encoded.h.shape[0])
        return Perturbed(graph=encoded.whole, scores=ones)


class Gate(nn.Module):
    r"""One logit for each node, :math:`\log p_j/(1 - p_j) = \mathrm{MLP}(h_j)` (Sec. 4.1)."""

    def __init__(self, channels: int, hidden: int | None = None) -> None:
        super().__init__()
        width = hidden or channels
        self.mlp = nn.Sequential(nn.Linear(channels, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, h: Tensor) -> Tensor:
        r"""``[num_nodes, channels] -> [num_nodes]``.

        With :math:`\tanh x = 1 - 2 \sigma(-2x)`: on a CPU torch's tanh takes four times as long.
        The inner factor costs no pass over the nodes when the weights carry it.
        """
        first, _, last = self.mlp
        assert isinstance(first, nn.Linear)
        s = nn.functional.linear(h, -2 * first.weight, -2 * first.bias).sigmoid()
        logits: Tensor = last(torch.rsub(s, 1, alpha=2))
        return logits.squeeze(-1)


def hard_keep(scores: Tensor, graphs: Segments, tie: float = 1e-5) -> Tensor:
    """The selection of Sec. 5.1: scores of at least one half, else the best of its graph.

    Nodes that fall short of the best by no more than ``tie`` are the best too: the scores of
    interchangeable nodes differ by rounding, which depends on what else is in the batch.
    """
    best = graphs.max(scores)
    # Where even the best falls short, the bar comes down to it.
    bar = torch.where(best < 0.5, best - tie, 0.5)[graphs.batch]
    return scores >= bar


def straight_through(hard: Tensor, p: Tensor) -> Tensor:
    """The 0/1 selection, with the gradient of the probability that it was made from."""
    return hard.to(p) + p - p.detach()


def connectivity(p: Tensor, adj: Adjacency, graphs: Segments, row_floor: float = 1e-6) -> Tensor:
    r"""How far the kept and the dropped nodes are from being two separate parts, for each graph.

    .. math:: S = [p, 1 - p], \quad C = \operatorname{rownorm}(S^T A S), \quad
              \mathcal L_{con} = \tfrac12 \sum_k (C_{kk} - 1)^2

    The GIB objective's connectivity term, written without the dense :math:`A`: row *k* of
    :math:`S^T A S` is a sum over nodes of products with :math:`A p`. ``p`` is ``[num_nodes]``, the
    result ``[num_graphs]``; ``row_floor`` keeps it finite for a part without edges.
    """
    kept = p.unsqueeze(1)
    to_kept = adj @ kept
    to_dropped = adj.degree.to(p.dtype) - to_kept
    sums = graphs.sum(
        torch.cat(
            [kept * to_kept, kept * to_dropped, (1 - kept) * to_dropped, (1 - kept) * to_kept],
            dim=1,
        )
    )
    inside, across = sums[:, 0::2], sums[:, 1::2]
    diagonal = inside / (inside + across).clamp(min=row_floor)
    return (diagonal - 1).square().mean(1)
