"""A user's model as the explainers see it: a private, frozen copy that can be looked into.

The copy is called with whatever its ``forward`` names (:mod:`vgib.explain.calling`). Hooks on its
message-passing layers hand out their states and let an explainer change the features that enter the
first layer, the weight of every edge or message, and what the last layer gives. The user's own
object is never touched: mode, parameters, gradients and masks are what they were.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, MeanAggregation, MessagePassing
from torch_geometric.utils import scatter

from vgib.data.packed import HALF, Batch, PackedGraphs
from vgib.errors import InputError
from vgib.explain.calling import Forward, unwrapped
from vgib.explain.outputs import ModelTask, Outputs, Returns
from vgib.explain.plan import Change, ChangeMessages, Plan
from vgib.nn.encoder import Encoder
from vgib.nn.net import SubgraphNet
from vgib.nn.pyg_layers import open_to_pyg

Removal = Literal["exact", "messages", "representation", "none"]
"""How a method takes nodes away while it looks for an explanation.

``exact``: as if they were not in the graph. ``messages``: what they send is weighted, and noise
takes the place of their features. ``representation``: they are replaced after the last layer.
``none``: they stay.
"""

ATTENTION = (GATConv, GATv2Conv)
"""Layers whose messages are weighted by a softmax over a node's edges."""

NOTHING = 1e-30
"""A sum of weights below this has no shares. A sharp attention may leave far less than 1e-12."""

CENTER = "center"
"""Marks, among what travels with nodes, the node that a node-level model is asked about."""


@dataclass(eq=False)
class Run:
    """One forward pass: the output, and what went through the layers on the way.

    Attributes:
        output: What is explained, ``[num_graphs, outputs]``.
        inputs: What entered the first layer, float ``[num_nodes, channels]``.
        states: What each layer gave, before any activation outside of it; the inputs alone where
            the model has no message-passing layer.
        full: All that the model gave, ``[num_graphs, all outputs]``.
    """

    output: Tensor
    inputs: Tensor
    states: list[Tensor]
    full: Tensor


class Frozen(Outputs):
    """A private copy of a model, in evaluation mode and without gradients of its own.

    The copy of a model in half precision computes in single precision, since attributions are
    differences of numbers that are nearly equal.

    Args:
        model: Called with whatever its ``forward`` names; gives ``[num_graphs, outputs]``.
        task: ``"classification"`` (one output for each class), ``"binary"`` (one output for the
            second class), ``"multilabel"`` (one output for each of several labels) or
            ``"regression"``. When ``None``: what the model says of itself, else classification for
            two and more outputs and regression for one.
        returns: What the outputs of a classifier are: raw logits, probabilities or their logarithm.
        target: The class, label or value to explain, by its number; when ``None`` the predicted
            class, or all labels or values together.
        pick: Which part of a tuple (by its place) or dict (by its key) is the output; the first
            float tensor when ``None``.

    Attributes:
        spread: The unit in which losses measure values; 1 unless an explainer sets it.

    Raises:
        InputError: The model cannot be explained.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        task: ModelTask | None = None,
        returns: Returns = "raw",
        target: int | None = None,
        pick: int | str | None = None,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise InputError(
                f"only a torch.nn.Module can be explained; got {type(model).__name__}. Of a "
                "SubgraphRecognizer take its network"
            )
        super().__init__(task, returns, target, pick)
        try:
            self.model: nn.Module = open_to_pyg(deepcopy(unwrapped(model)))
        except Exception as error:
            raise InputError(
                f"{type(model).__name__} cannot be copied, which explaining it needs: {error}"
            ) from error
        if any(values.dtype in HALF for values in self.model.state_dict().values()):
            self.model.float()
        self.forward = Forward(self.model)
        self.layers = [m for m in self.model.modules() if isinstance(m, MessagePassing)]
        self.model.eval().requires_grad_(False)
        clear_masks(self.model)
        self._begins_with_features: bool | None = None
        self._last: int | None = None
        self._last_module: int | None = None
        # Our own layers take edge weights in their stride, with the degrees that follow from them.
        self._takes_adjacency = isinstance(self.model, SubgraphNet) and isinstance(
            self.model.encoder, Encoder
        )
        for layer in self.layers:
            self._prepare(layer)
        inner = {id(part) for layer in self.layers for part in list(layer.modules())[1:]}
        for module in self.model.modules():
            if id(module) not in inner:
                module.register_forward_hook(self._after_module)

    def _prepare(self, layer: Any) -> None:
        def explain_message(messages: Tensor) -> Tensor:
            plan = self._plan
            if not plan.is_on_graph:
                return messages
            if plan.on_message is not None:
                return plan.on_message(len(plan.states), messages)
            if plan.message_weight is not None:
                weight = plan.weight_of(plan.message_weight, plan.used)
                return messages * _beside(weight, messages)
            return self._weighted(layer, messages)

        layer.explain_message = explain_message
        layer.register_forward_pre_hook(self._before_layer, with_kwargs=True)
        layer.register_forward_hook(self._after_layer)
        layer.register_propagate_forward_pre_hook(self._before_propagation)
        if isinstance(layer, ATTENTION):
            layer.register_edge_update_forward_hook(self._after_attention)
        if getattr(layer, "cached", False):
            # A cache of another batch's edges is of no use to this one.
            layer.cached, layer._cached_edge_index, layer._cached_adj_t = False, None, None

    def _before_layer(
        self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        plan = self._plan
        first, *rest = [*args, *kwargs.values()]
        edges = rest[0] if rest else None
        plan.is_on_graph = plan.are_nodes(first)
        if plan.is_on_graph and plan.seen is None:
            x = first if isinstance(first, Tensor) else first[0]
            if plan.inputs is not None and plan.inputs is not x:
                put: Any = plan.inputs
                if not isinstance(first, Tensor):
                    put = type(first)(put if part is x else part for part in first)
                if args:
                    args = (put, *args[1:])
                else:
                    kwargs = kwargs | {next(iter(kwargs)): put}
            plan.seen = x if plan.inputs is None else plan.inputs
        if plan.is_on_graph and plan.edge_weight is not None and _renormalizes(layer):
            weight = args[2] if len(args) > 2 else kwargs.get("edge_weight")
            asked = plan.weight_of(plan.edge_weight, edges)
            args, kwargs = (
                args[:2],
                kwargs | {"edge_weight": asked if weight is None else weight * asked},
            )
        return args, kwargs

    def _before_propagation(self, layer: Any, args: tuple[Any, ...]) -> None:
        self._plan.used = args[0]

    def _after_layer(self, layer: Any, args: tuple[Any, ...], output: Any) -> Any:
        plan = self._plan
        state = output[0] if isinstance(output, tuple) else output
        if not plan.are_nodes(state) or not state.is_floating_point():
            return output
        plan.states.append(state)
        if plan.on_last is not None and len(plan.states) == self._last:
            state = plan.on_last(state)
            return (state, *output[1:]) if isinstance(output, tuple) else state
        return output

    def _after_module(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Changes what the last module gives that still has a row for each node."""
        plan = self._plan
        if not isinstance(output, Tensor) or not plan.are_nodes(output):
            return output
        plan.modules += 1
        if plan.on_nodes is not None and plan.modules == self._last_module:
            return plan.on_nodes(output)
        return output

    def _after_attention(self, layer: Any, args: tuple[Any, ...], attention: Tensor) -> Tensor:
        """The softmax over the edges as far as they are kept; a layer's own self-loops stay."""
        plan = self._plan
        if plan.edge_weight is None or not plan.is_on_graph:
            return attention
        kept = attention * _beside(plan.weight_of(plan.edge_weight, args[0]), attention)
        return _shares(kept, args[0][1])

    def _weighted(self, layer: Any, messages: Tensor) -> Tensor:
        """Messages as far as their edges are kept; a mean is then one over what is kept."""
        plan = self._plan
        assert plan.edge_weight is not None and plan.used is not None
        weight = _beside(plan.weight_of(plan.edge_weight, plan.used), messages)
        if isinstance(layer.aggr_module, MeanAggregation):
            receiver = plan.used[1]
            count = scatter(torch.ones_like(weight), receiver, dim=0, reduce="sum")
            weight = _shares(weight, receiver) * count[receiver]
        return messages * weight

    def run(
        self,
        batch: Batch,
        *,
        inputs: Tensor | None = None,
        edge_weight: Tensor | None = None,
        message_weight: Tensor | None = None,
        on_message: ChangeMessages | None = None,
        on_last: Change | None = None,
        on_nodes: Change | None = None,
    ) -> Run:
        """One forward pass, changed as asked.

        Args:
            batch: The graphs.
            inputs: In the place of what enters the first layer, and of the features themselves
                where they enter it as they are.
            edge_weight: ``[num_edges]``; where the layers allow it the degrees follow.
            message_weight: ``[num_edges]``; the messages alone, as PyG's explainers do it.
            on_message: Changes the messages of the n-th layer; self-loops stand last.
            on_last: Changes what the last layer gives.
            on_nodes: Changes what the last module gives that has a row for each node.
        """
        self._check_layers(edge_weight, message_weight, on_message, on_last)
        if self._last is None and any(c is not None for c in (inputs, on_last, on_nodes)):
            with torch.no_grad():
                self.run(batch)
        batch, here = self._brought(batch), batch
        inputs, edge_weight, message_weight = map(
            self._moved, (inputs, edge_weight, message_weight)
        )
        if here is not batch:
            on_message, on_last, on_nodes = map(_on_the_cpu, (on_message, on_last, on_nodes))
        plan = self._plan = Plan(
            batch,
            batch.adj.edge_index,
            inputs,
            on_message=on_message,
            on_last=on_last,
            on_nodes=on_nodes,
        )
        edges = self._weighted_edges(plan, edge_weight, message_weight)
        x = batch.x
        if inputs is not None and (not self.layers or self._begins_with_features):
            x = inputs
        with self._explaining(plan):
            output = self.forward(x, edges, batch)
        self._take_note(plan, x)
        full = self._checked(self.picked(output).to(here.x.device), here)
        assert plan.seen is not None
        seen, *states = (each.to(here.x.device) for each in (plan.seen, *plan.states))
        return Run(self.targeted(full), seen, states, full)

    def _check_layers(self, *changes: Any) -> None:
        """Refuses changes of layers to a model that has none."""
        if not self.layers and any(change is not None for change in changes):
            raise InputError(
                f"{self.forward.name} has no message-passing layer "
                "(torch_geometric.nn.MessagePassing), which this method needs; 'vgib' and "
                "'occlusion' do without"
            )

    def _weighted_edges(
        self, plan: Plan, edge_weight: Tensor | None, message_weight: Tensor | None
    ) -> Any:
        """The edges that the model is called with; weights it cannot be given go into the plan."""
        adj = plan.batch.adj
        if message_weight is not None:
            plan.message_weight = message_weight
        elif self._takes_adjacency and plan.on_message is None:
            return adj if edge_weight is None else adj.with_weight(edge_weight)
        else:
            plan.edge_weight = edge_weight
        return plan.edges

    def _take_note(self, plan: Plan, x: Tensor) -> None:
        """Remembers where features enter, and which layer and module of nodes are the last."""
        if plan.inputs is None:
            self._begins_with_features = plan.seen is x and x.is_floating_point()
        if not plan.states:
            plan.seen = x if x.is_floating_point() else x.float()
            plan.states = [plan.seen if plan.seen.dim() > 1 else plan.seen.unsqueeze(1)]
        self._last = len(plan.states)
        if plan.num_nodes > plan.batch.num_graphs or self._last_module is None:
            self._last_module = plan.modules

    @cached_property
    def device(self) -> torch.device:
        """Where the model computes. Graphs, masks and all else stay on the CPU."""
        held = (*self.model.parameters(), *self.model.buffers())
        return held[0].device if held else torch.device("cpu")

    def _brought(self, batch: Batch) -> Batch:
        """The batch where the model is."""
        if batch.x.device == self.device:
            return batch
        there = batch.source.batch(batch.index, device=self.device)
        return replace(there, x=batch.x.to(self.device))

    def _moved(self, value: Tensor | None) -> Tensor | None:
        return None if value is None else value.to(self.device)

    @contextmanager
    def _explaining(self, plan: Plan) -> Iterator[None]:
        """Switches on PyG's hook for messages in the layers that are to be changed."""
        changes = plan.on_message is not None or plan.message_weight is not None
        chosen = [
            layer
            for layer in self.layers
            if layer.explain is not False
            and (changes or (plan.edge_weight is not None and not _takes_weights(layer)))
        ]
        for layer in chosen:
            layer.explain = True
        try:
            yield
        finally:
            for layer in chosen:
                layer.explain = None

    def _checked(self, output: Tensor, batch: Batch) -> Tensor:
        """One row for each graph, whose meaning is known."""
        rows: Tensor = output.unsqueeze(1) if output.dim() == 1 else output
        if CENTER in batch.named and rows.dim() == 2 and len(rows) == len(batch.x):
            center = batch.named[CENTER].nonzero().flatten()
            # Where the node itself is gone, nothing is said.
            of_graphs = rows.new_zeros(batch.num_graphs, rows.shape[1])
            rows = of_graphs.index_copy(0, batch.graphs.batch[center], rows[center])
        elif batch.num_graphs > 1 and not self.forward.tells_graphs_apart:
            raise InputError(
                f"{self.forward.name}.forward takes no batch vector, so it cannot tell graphs "
                "apart; add an argument batch, and pool by it"
            )
        if rows.dim() != 2 or rows.shape[0] != batch.num_graphs:
            is_node_level = rows.dim() > 0 and rows.shape[0] == batch.x.shape[0]
            raise InputError(
                f"the model gave {list(output.shape)} for {batch.num_graphs} graphs"
                f"{', one row for each node' if is_node_level else ''}; expected one row for each "
                "graph. Pool the nodes by batch first"
                f"{', or explain single nodes with explain_nodes' if is_node_level else ''}"
            )
        self.take_task(rows, getattr(self.model, "task", None))
        return rows

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the model's weights: the same model, the same hash, on any device."""
        digest = sha256()
        for name, value in self.model.state_dict().items():
            digest.update(f"{name}{list(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        return digest.hexdigest()

    def edge_channels(self, batch: Batch) -> int:
        """How many edge features the model reads; none, where it does not ask for them."""
        attr = batch.named.get("edge_attr")
        if attr is None or not (self.forward.takes_data or "edge_attr" in self.forward.used(batch)):
            return 0
        if isinstance(self.model, SubgraphNet):
            encoder = self.model.encoder
            return encoder.edge_channels if isinstance(encoder, Encoder) else 0
        if attr.is_floating_point():
            return 1 if attr.dim() == 1 else attr.shape[1]
        return int(attr.max()) + 1 if attr.numel() == len(attr) and len(attr) else 0

    @torch.no_grad()
    def of_nodes(self, batch: Batch) -> Tensor:
        """What a node-level model says of every node, ``[num_nodes, outputs]``."""
        there = self._brought(batch)
        self._plan = Plan(there, there.adj.edge_index)
        rows = self.picked(self.forward(there.x, there.adj.edge_index, there)).to(batch.x.device)
        rows = rows.unsqueeze(1) if rows.dim() == 1 else rows
        if not self._plan.are_nodes(rows) or rows.dim() != 2:
            raise InputError(
                f"the model gave {list(rows.shape)} for {len(batch.x)} nodes; expected one row for "
                "each node. Explain a model of graphs with explain_many"
            )
        self.take_task(rows, getattr(self.model, "task", None))
        return self.targeted(rows)


def _beside(weight: Tensor, values: Tensor) -> Tensor:
    """Weights in the shape to be multiplied with messages of several dimensions."""
    return weight.view(-1, *[1] * (values.dim() - 1))


def _shares(values: Tensor, receiver: Tensor) -> Tensor:
    """Each value's share of the sum at its receiver; 0 where there is nothing to share."""
    total = scatter(values, receiver, dim=0, reduce="sum")
    share: Tensor = values / torch.where(total > NOTHING, total, 1.0)[receiver]
    return share


def _takes_weights(layer: Any) -> bool:
    """Whether a layer follows edge weights before its messages are made."""
    return _renormalizes(layer) or isinstance(layer, ATTENTION)


def _renormalizes(layer: Any) -> bool:
    """Whether a layer takes edge weights and lets its normalization follow from them."""
    return isinstance(layer, GCNConv) and layer.normalize and not layer.cached


def _on_the_cpu(change: Any) -> Any:
    """A change of what a layer gives, made where masks are; the last argument is what is given."""
    if change is None:
        return None

    def changed(*given: Any) -> Tensor:
        *before, value = given
        made: Tensor = change(*before, value.cpu())
        return made.to(value.device)

    return changed


def packed(batch: Batch) -> PackedGraphs:
    """A batch as a set of its own."""
    return batch.source[batch.index]


@torch.no_grad()
def predictions(frozen: Frozen, graphs: PackedGraphs, *, batch_size: int = 1024) -> Tensor:
    """Outputs of a whole set, ``[graphs, outputs]``; NaN for graphs without a node."""
    present = (graphs.sizes > 0).nonzero().flatten()
    if not len(present):
        raise InputError("there is no graph with a node among those to be predicted")
    batches = graphs.batches(batch_size, index=present)
    found = torch.cat([frozen.run(batch).output for batch in batches])
    output = found.new_full((len(graphs), found.shape[1]), torch.nan)
    output[present] = found
    return output
