"""Explainers that learn once, on a set of graphs, and then score any number of them."""

from collections.abc import Iterator
from typing import Any, Literal, Self, cast, get_args

import torch
from torch import Tensor, nn

from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError, NotFittedError
from vgib.explain.explainer import Case, Explainer, Graphs, as_graphs, check_positive
from vgib.explain.frozen import Frozen, packed, predictions
from vgib.train.loop import seeded

Readout = Literal["sum", "mean", "late sum", "late mean"]
"""How nodes become a graph, after the last message-passing layer or after the last module of nodes.

A batch norm between the last layer and the readout makes something of nodes that are not there; so
what counts is what the readout is handed.
"""


class Amortized(Explainer):
    """Trains a small module against the frozen model, and scores with it.

    Args:
        steps: Steps of Adam, each on a batch; passes over the graphs as many as it takes.
        batch_size: Graphs in one step.
        lr: Learning rate at the start; it falls to 0 along a cosine.
        clip: Largest norm of the gradient.

    Attributes:
        module_: What was learned.
        losses_: The loss of each step.
        spread_: The unit of a value's error: the spread of the predictions.
    """

    needs_fit = True

    def __init__(
        self,
        *,
        steps: int = 200,
        batch_size: int = 256,
        lr: float = 3e-3,
        clip: float = 1.0,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        for name, value in (("steps", steps), ("batch_size", batch_size), ("lr", lr)):
            check_positive(name, value)
        self.steps, self.batch_size, self.lr, self.clip = steps, batch_size, lr, clip
        self.module_: nn.Module | None = None
        self.spread_ = 1.0
        self.losses_: list[float] = []

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns to explain this model from these graphs; labels are not asked for."""
        data = as_graphs(graphs)
        self.spread_ = 1.0
        frozen = self.freeze(model)
        index = (data.sizes > 0).nonzero().flatten()
        if not len(index):
            raise InputError("there is no graph with a node to learn from")
        with seeded(self.seed):
            first = Case.of(frozen, data.batch(index[: self.batch_size]))
            if not frozen.is_classifier and first.batch.num_graphs > 1:
                self.spread_ = float(first.clean.output.std()) or 1.0
            frozen.spread = self.spread_
            self.module_ = module = self.build(first)
            losses: list[Tensor] = []
            for steps, trained in self.stages():
                adam = torch.optim.Adam(trained, lr=self.lr, fused=True)
                falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
                for step, batch in enumerate(_draws(data, index, self.batch_size, steps)):
                    loss = self.loss(Case.of(frozen, batch), step)
                    adam.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    nn.utils.clip_grad_norm_(trained, self.clip)
                    adam.step()
                    falling.step()
                    losses.append(loss.detach())
        self.losses_ = [float(loss) for loss in losses]
        module.eval().requires_grad_(False)
        return self

    def freeze(self, model: nn.Module) -> Frozen:
        """The private copy, which measures values in the unit that was learned."""
        frozen = super().freeze(model)
        frozen.spread = self.spread_
        return frozen

    def build(self, case: Case) -> nn.Module:
        """The module to be trained, made to fit this case."""
        raise TypeError(f"{type(self).__name__} must define build(case) -> nn.Module")

    def stages(self) -> Iterator[tuple[int, list[nn.Parameter]]]:
        """How many steps there are, and what they move; most methods learn in one stage."""
        yield self.steps, [p for p in self.fitted.parameters() if p.requires_grad]

    def loss(self, case: Case, step: int) -> Tensor:
        """What a step of a stage lowers."""
        raise TypeError(f"{type(self).__name__} must define loss(case, step) -> Tensor")

    @property
    def fitted(self) -> Any:
        """The learned module, or an error that says what to do. Any: each method has its own."""
        if self.module_ is None:
            raise NotFittedError(
                f"{type(self).__name__} has learned nothing yet; call fit(model, graphs) first"
            )
        return self.module_


def _draws(graphs: PackedGraphs, index: Tensor, batch_size: int, steps: int) -> Iterator[Batch]:
    """So many shuffled batches, pass after pass."""
    while steps > 0:
        order = index[torch.randperm(len(index))]
        for chunk in torch.split(order, batch_size)[:steps]:
            yield graphs.batch(chunk)
            steps -= 1


LEAST_LOOP = 1e-6
"""The least weight of an edge from a node to itself.

It is all that is left of the degree of a node that is taken out, and layers that divide by the root
of a degree have no slope at zero.
"""


def keep_nodes(
    case: Case, keep: Tensor, *, readout: Readout | None, inputs: Tensor | None = None
) -> Tensor:
    r"""The model's output when node j is kept to the degree :math:`\lambda_j`.

    Messages count :math:`\lambda_i \lambda_j`. With a ``readout`` the nodes count
    :math:`\lambda_j` in it too (``mean``: of the kept ones), which at 0 and 1 is the prediction of
    the induced subgraph; without one the nodes stay and are told apart by their ``inputs`` alone.
    """
    sender, receiver = case.edge_index
    ends = keep[sender] * keep[receiver]
    ends = torch.where(sender == receiver, ends.clamp(min=LEAST_LOOP), ends)
    if readout is None:
        return case.frozen.run(case.batch, inputs=inputs, edge_weight=ends).output
    weight = keep.unsqueeze(1)
    if readout in ("mean", "late mean"):
        graphs = case.batch.graphs
        share = graphs.sizes / graphs.sum(weight).clamp(min=1e-6)
        weight = weight * graphs.spread(share)

    def fade(h: Tensor) -> Tensor:
        return h * weight.view(-1, *[1] * (h.dim() - 1))

    where = {"on_nodes" if readout.startswith("late") else "on_last": fade}
    return case.frozen.run(case.batch, inputs=inputs, edge_weight=ends, **where).output  # type: ignore[arg-type]


@torch.no_grad()
def exact_readout(case: Case, *, tolerance: float = 1e-3) -> Readout | None:
    """With which readout, if any, :func:`keep_nodes` is the prediction of the induced subgraph.

    Tried out on this case with random gates, so that it holds for whatever the model is made of.
    """
    batch = case.batch
    if not case.frozen.layers:
        return None
    generator = torch.Generator().manual_seed(0)
    keep = torch.rand(batch.x.shape[0], generator=generator) < 0.5
    # A graph of which nothing is left has no prediction; its first node stays.
    starts = batch.graphs.ptr[:-1].long()
    keep[starts] = True
    wanted = predictions(case.frozen, packed(batch).induced(keep))
    scale = tolerance * (wanted.abs().mean() + wanted.std(unbiased=False))
    for readout in get_args(Readout):
        found = keep_nodes(case, keep.float(), readout=readout)
        if bool(((found - wanted).abs() <= scale + tolerance * wanted.abs()).all()):
            return cast(Readout, readout)
    return None
