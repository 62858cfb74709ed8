"""What is changed in a model, and seen of it, during one forward pass; and the hooks that do it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, MeanAggregation, MessagePassing
from torch_geometric.utils import scatter

from vgib.data.packed import Batch

ChangeMessages = Callable[[int, Tensor], Tensor]
Change = Callable[[Tensor], Tensor]

ATTENTION = (GATConv, GATv2Conv)
"""Layers whose messages are weighted by a softmax over a node's edges."""

NOTHING = 1e-30
"""A sum of weights below this has no shares. A sharp attention may leave far less than 1e-12."""


@dataclass
class Plan:
    """One forward pass: what is changed (see :meth:`vgib.explain.frozen.Frozen.run`), what is seen.

    Attributes:
        seen: What entered the first layer.
        used: The edges of the layer that is at work, with the self-loops that it adds.
        is_on_graph: Whether that layer works on the nodes, and not for instance on graphs.
        modules: How many modules gave a row for each node.
        states: What each layer gave.
    """

    batch: Batch
    edges: Tensor
    inputs: Tensor | None = None
    edge_weight: Tensor | None = None
    message_weight: Tensor | None = None
    on_message: ChangeMessages | None = None
    on_last: Change | None = None
    on_nodes: Change | None = None
    seen: Tensor | None = None
    used: Tensor | None = None
    is_on_graph: bool = False
    modules: int = 0
    states: list[Tensor] = field(default_factory=list)

    @property
    def num_nodes(self) -> int:
        return self.batch.x.shape[0]

    def are_nodes(self, value: Any) -> bool:
        """Whether a value, or each part of it, has a row for each node."""
        parts = value if isinstance(value, tuple | list) else (value,)
        tensors = [part for part in parts if isinstance(part, Tensor) and part.dim() > 0]
        return bool(tensors) and all(part.shape[0] == self.num_nodes for part in tensors)

    def weight_of(self, weight: Tensor, edges: Any) -> Tensor:
        """Weights for the edges of a layer; 1 for what it added to the graph's, as self-loops."""
        own, count = self.edges, self.edges.shape[1]
        if edges is own or not isinstance(edges, Tensor) or edges.dim() != 2:
            return weight
        more = edges.shape[1] - count
        if more >= 0 and torch.equal(edges[:, :count], own):
            return torch.cat([weight, weight.new_ones(more)]) if more else weight
        key, order = torch.sort(own[0] * self.num_nodes + own[1], stable=True)
        wanted = edges[0] * self.num_nodes + edges[1]
        if not count:
            return weight.new_ones(len(wanted))
        place = torch.searchsorted(key, wanted).clamp(max=count - 1)
        # A self-loop of the layer's own says nothing of an edge of the graph.
        is_known = (key[place] == wanted) & (edges[0] != edges[1])
        return torch.where(is_known, weight[order[place]], 1.0)


class Hooks:
    """Carry out plans in the message-passing layers of a model, which is one's own to change.

    Attributes:
        layers: Its message-passing layers.
        last: The number of the layer that is the last to work, once it has been seen.
        last_module: The number of the last module that gives a row for each node.
        begins_with_features: Whether the features enter the first layer as they are.
    """

    def __init__(self, model: nn.Module) -> None:
        self.layers = [m for m in model.modules() if isinstance(m, MessagePassing)]
        clear_masks(model)
        self.begins_with_features: bool | None = None
        self.last: int | None = None
        self.last_module: int | None = None
        for layer in self.layers:
            self._prepare(layer)
        inner = {id(part) for layer in self.layers for part in list(layer.modules())[1:]}
        for module in model.modules():
            if id(module) not in inner:
                module.register_forward_hook(self._after_module)

    @contextmanager
    def carrying_out(self, plan: Plan) -> Iterator[Plan]:
        """Switches on PyG's hook for messages in the layers that are to be changed."""
        self.plan = plan
        changes = plan.on_message is not None or plan.message_weight is not None
        asked = self.layers if changes or plan.edge_weight is not None else []
        chosen = [
            layer
            for layer in asked
            if layer.explain is not False
            # Some layers follow edge weights before their messages are made.
            and (changes or not (_renormalizes(layer) or isinstance(layer, ATTENTION)))
        ]
        for layer in chosen:
            layer.explain = True
        try:
            yield plan
        finally:
            for layer in chosen:
                layer.explain = None

    def take_note(self, x: Tensor) -> None:
        """Remembers where features enter, and which layer and module of nodes are the last."""
        plan = self.plan
        if plan.inputs is None:
            self.begins_with_features = plan.seen is x and x.is_floating_point()
        if not plan.states:
            plan.seen = x if x.is_floating_point() else x.float()
            plan.states = [plan.seen if plan.seen.dim() > 1 else plan.seen.unsqueeze(1)]
        self.last = len(plan.states)
        if plan.num_nodes > plan.batch.num_graphs or self.last_module is None:
            self.last_module = plan.modules

    def _prepare(self, layer: Any) -> None:
        def explain_message(messages: Tensor) -> Tensor:
            plan = self.plan
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
        plan = self.plan
        first, *rest = [*args, *kwargs.values()]
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
            asked = plan.weight_of(plan.edge_weight, rest[0] if rest else None)
            asked = asked if weight is None else weight * asked
            args, kwargs = args[:2], kwargs | {"edge_weight": asked}
        return args, kwargs

    def _before_propagation(self, layer: Any, args: tuple[Any, ...]) -> None:
        self.plan.used = args[0]

    def _after_layer(self, layer: Any, args: tuple[Any, ...], output: Any) -> Any:
        plan = self.plan
        state = output[0] if isinstance(output, tuple) else output
        if not plan.are_nodes(state) or not state.is_floating_point():
            return output
        plan.states.append(state)
        if plan.on_last is not None and len(plan.states) == self.last:
            state = plan.on_last(state)
            return (state, *output[1:]) if isinstance(output, tuple) else state
        return output

    def _after_module(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Changes what the last module gives that still has a row for each node."""
        plan = self.plan
        if not isinstance(output, Tensor) or not plan.are_nodes(output):
            return output
        plan.modules += 1
        if plan.on_nodes is not None and plan.modules == self.last_module:
            return plan.on_nodes(output)
        return output

    def _after_attention(self, layer: Any, args: tuple[Any, ...], attention: Tensor) -> Tensor:
        """The softmax over the edges as far as they are kept; a layer's own self-loops stay."""
        plan = self.plan
        if plan.edge_weight is None or not plan.is_on_graph:
            return attention
        kept = attention * _beside(plan.weight_of(plan.edge_weight, args[0]), attention)
        return _shares(kept, args[0][1])

    def _weighted(self, layer: Any, messages: Tensor) -> Tensor:
        """Messages as far as their edges are kept; a mean is then one over what is kept."""
        plan = self.plan
        assert plan.edge_weight is not None and plan.used is not None
        weight = _beside(plan.weight_of(plan.edge_weight, plan.used), messages)
        if isinstance(layer.aggr_module, MeanAggregation):
            receiver = plan.used[1]
            count = scatter(torch.ones_like(weight), receiver, dim=0, reduce="sum")
            weight = _shares(weight, receiver) * count[receiver]
        return messages * weight


def _beside(weight: Tensor, values: Tensor) -> Tensor:
    """Weights in the shape to be multiplied with messages of several dimensions."""
    return weight.view(-1, *[1] * (values.dim() - 1))


def _shares(values: Tensor, receiver: Tensor) -> Tensor:
    """Each value's share of the sum at its receiver; 0 where there is nothing to share."""
    total = scatter(values, receiver, dim=0, reduce="sum")
    share: Tensor = values / torch.where(total > NOTHING, total, 1.0)[receiver]
    return share


def _renormalizes(layer: Any) -> bool:
    """Whether a layer takes edge weights and lets its normalization follow from them."""
    return isinstance(layer, GCNConv) and layer.normalize and not layer.cached
