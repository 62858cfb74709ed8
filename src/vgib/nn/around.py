r"""The recommended bottleneck around an encoder of a user's own, in a training loop of theirs.

.. code-block:: python

    model = VGIB(encoder, head, steps=epochs * len(loader))
    ...
    out = model(data.x, data.edge_index, data.batch)
    loss = cross_entropy(out.output, data.y) + out.loss

The stages of :mod:`vgib.nn.vgib` go on in one loop, and what learns in one of them is a constant in
the others:

* what the user adds, such as the cross-entropy above, moves encoder and head, on whole graphs;
* in the first half of the ``steps``, ``out.loss`` moves the *predictor of parts*. It learns from
  random parts what the network says of whole graphs; the masks know nothing of the label;
* in the second half it moves the *gate*, against that predictor, which then stays as it is: first
  towards the *worth* of each node, then towards the part that is worth its price.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any, get_args

import torch
from torch import Tensor, nn

from vgib.errors import InputError, unknown_name
from vgib.nn.bottleneck import Encoded, Perturbed, Readout, Site, Task, build_in
from vgib.nn.layers import as_channels
from vgib.nn.sparse import Adjacency, Segments
from vgib.nn.vgib import NodeVGIB, PartPredictor

log = logging.getLogger(__name__)

PARTS_CHANNELS, PARTS_DEPTH = 64, 3
"""The shape of the predictor of parts: that of the recommended preset."""


class VGIB(nn.Module):
    """An encoder, a readout, a head, and gates that say which nodes the prediction needs.

    The network itself is untouched: ``output`` is what encoder, readout and head say of the whole
    graph. The predictor of parts has layers of its own (GIN, or GINE where there are edge
    features), so that the encoder may be any module at all.

    Args:
        encoder: Gives each node its representation. It is called as ``encoder(x, edge_index)``, and
            with all else that the call is given by keyword; with ``batch`` where it names it.
        head: Makes of a graph's readout what is predicted, ``[num_graphs, outputs]``. Without one
            the readout is the prediction.
        task: ``"classification"`` for logits of classes that exclude each other, ``"regression"``
            for values, a single logit, or logits of several labels. By default the former where
            there is a head with more than one output.
        steps: How many steps training has; more do no harm. The gate begins to learn at half.
        readout: ``"sum"``, ``"mean"``, ``"norm"`` (a hundredth of the sum), or a function of
            ``(h, batch)`` such as PyG's ``global_max_pool``.
        in_channels: Channels of the node features; by default what the encoder says.
        channels: Channels of its representations; by default its ``out_channels``.
        edge_channels: Channels of ``edge_attr`` (for integer codes: how many there are), which the
            predictor of parts reads too; zero where there is none.
        **options: Those of :class:`~vgib.nn.vgib.NodeVGIB`, such as ``beta``.
    """

    LATE = 0.5
    """The share of the steps after which the gate begins to learn."""

    MOMENTUM = 0.1
    """Share of each batch in the running moments of what the network says."""

    def __init__(
        self,
        encoder: nn.Module,
        head: nn.Module | None = None,
        *,
        task: Task | None = None,
        steps: int = 1000,
        readout: Readout | Callable[[Tensor, Tensor], Tensor] = "sum",
        in_channels: int | None = None,
        channels: int | None = None,
        edge_channels: int = 0,
        **options: Any,
    ) -> None:
        super().__init__()
        _check(encoder, readout, task, steps)
        inside = _width(encoder, in_channels, "in_channels")
        width = _width(encoder, channels, "out_channels", "channels")
        self.encoder, self.head, self.readout = encoder, head or nn.Identity(), readout
        outputs = _outputs(self.head, width)
        if task is None:
            task = "classification" if head is not None and outputs > 1 else "regression"
        self.task: Task = task
        self.steps, self.in_channels, self.edge_channels = steps, inside, edge_channels
        self._told_of_edges = False
        layer = "gine" if edge_channels else "gin"
        site = Site(width, inside, 1, outputs, task, layer, edge_channels)
        made = build_in(NodeVGIB, site, options)
        assert isinstance(made, NodeVGIB)
        # The shape of the predictor of parts is not that of the user's encoder.
        made.predictor = PartPredictor(replace(site, channels=PARTS_CHANNELS, depth=PARTS_DEPTH))
        self.bottleneck = made
        self.step: Tensor
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(outputs))
        self.register_buffer("variance", torch.ones(outputs))
        where = next(encoder.parameters(), None)
        if where is not None:
            self.to(where.device)
        self._names_batch = "batch" in signature(encoder.forward).parameters

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, **named: Any
    ) -> Perturbed:
        """What is predicted, which nodes it needs, and what is to be added to its loss.

        ``output`` is the prediction, from ``graph``, the readout of the whole graph; ``scores`` are
        the keep-probabilities of the nodes, all one until the gate has begun to learn; ``z`` is the
        kept share of each node's representation; ``loss`` is zero in evaluation mode. ``named``,
        such as ``edge_attr=``, goes to the encoder.
        """
        if batch is None:
            batch = torch.zeros(len(x), dtype=torch.int64, device=x.device)
        edges = self._edges(x, edge_index, named.get("edge_attr"))
        h = self._representations(x, edge_index, batch, named)
        graphs = Segments.from_batch(batch)
        pooling: Readout = "sum" if callable(self.readout) else self.readout
        encoded = Encoded(x.detach(), (h.detach(),), edges, graphs, pooling)
        if callable(self.readout):
            graph = self.readout(h, batch)
        else:
            graph = encoded.as_readout(graphs.sum(h))
        output: Tensor = self.head(graph)
        encoded.output = self._in_units(output.detach())
        found = self._learn(encoded) if self.training else self._score(encoded)
        found.graph, found.output = graph, output
        found.z = found.scores.detach().unsqueeze(1) * h
        found.loss = h.new_zeros(()) + sum(found.terms.values())
        return found

    def _representations(
        self, x: Tensor, edge_index: Tensor, batch: Tensor, named: dict[str, Any]
    ) -> Tensor:
        """What the user's encoder says of each node, ``[num_nodes, channels]``."""
        more = {"batch": batch} if self._names_batch else {}
        h = self.encoder(x, edge_index, **named, **more)
        if not isinstance(h, Tensor) or h.dim() != 2 or len(h) != len(x):
            raise InputError(
                f"the encoder must give one row for each of {len(x)} nodes; got "
                f"{list(h.shape) if isinstance(h, Tensor) else type(h).__name__}. Readout and head "
                "are arguments of VGIB"
            )
        return h

    def _edges(self, x: Tensor, edge_index: Tensor, attr: Tensor | None) -> Adjacency:
        """The edges as the predictor of parts reads them."""
        if not x.is_floating_point():
            raise InputError(f"node features must be floats; got {x.dtype}: embed them first")
        if x.dim() != 2 or x.shape[1] != self.in_channels:
            raise InputError(
                f"node features are of shape {list(x.shape)}; expected [nodes, {self.in_channels}]"
            )
        if not x.isfinite().all():
            raise InputError("node features are NaN or infinite in some nodes")
        if attr is not None and not self.edge_channels and not self._told_of_edges:
            self._told_of_edges = True
            log.warning(
                "edge_attr reaches the encoder, but not the predictor of parts, which then cannot "
                "tell parts by their edges; say how wide it is with VGIB(..., edge_channels=)"
            )
        if not self.edge_channels:
            return Adjacency.from_edge_index(edge_index, len(x))
        width = None if attr is None else as_channels(attr, self.edge_channels).shape[1]
        if width != self.edge_channels:
            raise InputError(
                f"edge_channels is {self.edge_channels}, but edge_attr has {width or 'not come'}"
            )
        return Adjacency.from_edge_index(edge_index, len(x), attr=attr)

    def _in_units(self, output: Tensor) -> Tensor:
        """Logits as they are; values in units of their spread over the graphs seen lately."""
        if self.task == "classification":
            return output
        if self.training:
            variance, mean = torch.var_mean(output, 0, correction=0)
            share = self.MOMENTUM if self.step > 0 else 1.0
            self.mean.lerp_(mean, share)
            self.variance.lerp_(variance, share)
        return (output - self.mean) / self.variance.sqrt().clamp(min=1e-6)

    @property
    def has_begun(self) -> bool:
        """Whether the gate has begun to learn."""
        return int(self.step) >= self.LATE * self.steps

    def _score(self, encoded: Encoded) -> Perturbed:
        """The gate's scores, without randomness."""
        if self.has_begun:
            return self.bottleneck(encoded)
        log.warning(
            "the gate begins to learn at step %d of %d, and this is step %d: all scores are one; "
            "train on, or set steps=",
            self.LATE * self.steps,
            self.steps,
            self.step,
        )
        return Perturbed(graph=None, scores=encoded.x.new_ones(len(encoded.x)))

    def _learn(self, encoded: Encoded) -> Perturbed:
        """One step: the predictor of parts learns, or in the later steps the gate, against it."""
        inner, is_late = self.bottleneck, self.has_begun
        inner.predictor.requires_grad_(not is_late).train(not is_late)
        if is_late:
            self._start_gate()
            found = inner(encoded)
        else:
            found = Perturbed(graph=None, scores=encoded.x.new_ones(len(encoded.x)))
            keep = inner.draw_masks(encoded.adj, encoded.graphs)
            found.terms["parts"] = self._error(inner.judge(encoded, keep), encoded.output)
        self.step += 1
        return found

    def _start_gate(self) -> None:
        """Tells the bottleneck in which of its last two stages it is, and how far."""
        worth, gate = self.bottleneck.stages[-2:]
        begun = int(self.LATE * self.steps)
        turn = begun + round((self.steps - begun) * worth.share / (worth.share + gate.share))
        step = min(int(self.step), self.steps)
        self.bottleneck.start_stage(worth if step < turn else gate)
        self.bottleneck.start_epoch(max(0, step - turn), max(1, self.steps - turn))

    def _error(self, said: Tensor, wanted: Tensor) -> Tensor:
        """How far what is said of parts is from what the network says of their graphs."""
        if self.task == "regression":
            return (said - wanted).square().mean()
        return nn.functional.cross_entropy(said, wanted.softmax(1))


def _check(encoder: Any, readout: Any, task: str | None, steps: int) -> None:
    """Refuses arguments that are of no use."""
    if not isinstance(encoder, nn.Module):
        raise InputError(f"VGIB goes around a module, VGIB(encoder); got {encoder!r}")
    if not callable(readout) and readout not in get_args(Readout):
        raise unknown_name("readout", str(readout), get_args(Readout))
    if task is not None and task not in get_args(Task):
        raise unknown_name("task", task, get_args(Task))
    if steps < 2:
        raise InputError(f"steps must be at least 2; got {steps}")


def _width(encoder: nn.Module, given: int | None, said: str, option: str | None = None) -> int:
    """A number of channels: as it was given, or as the encoder says."""
    width = getattr(encoder, said, None) if given is None else given
    if not isinstance(width, int) or width < 1:
        raise InputError(
            f"{type(encoder).__name__} has no {said}; say how many with {option or said}="
        )
    return width


@torch.no_grad()
def _outputs(head: nn.Module, width: int) -> int:
    """How many numbers the head gives for a graph."""
    was_training = head.training
    where = next(head.parameters(), torch.empty(0, device="cpu"))
    try:
        found = head.eval()(torch.zeros(1, width, device=where.device))
    except RuntimeError as error:
        raise InputError(f"the head does not take {width} channels: {error}") from None
    finally:
        head.train(was_training)
    if found.dim() != 2:
        raise InputError(f"the head must give [num_graphs, outputs]; got {list(found.shape)}")
    return int(found.shape[1])
