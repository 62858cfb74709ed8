"""A user's model as the explainers see it: a private, frozen copy that can be looked into.

The copy is asked for nothing beyond ``model(x, edge_index, batch)``. Hooks on its message-passing
layers hand out their states and let an explainer change the features that enter the first layer,
the weight of every edge or message, and what the last layer gives. The user's own object is never
touched: mode, parameters, gradients and masks are what they were.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, MeanAggregation, MessagePassing
from torch_geometric.utils import scatter

from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError
from vgib.nn.encoder import Encoder
from vgib.nn.net import SubgraphNet
from vgib.nn.pyg_layers import open_to_pyg

ModelTask = Literal["classification", "binary", "regression"]
Returns = Literal["raw", "probs", "log_probs"]
Removal = Literal["exact", "messages", "representation", "none"]
"""How a method takes nodes away while it looks for an explanation.

``exact``: as if they were not in the graph. ``messages``: what they send is weighted, and noise
takes the place of their features. ``representation``: they are replaced after the last layer.
``none``: they stay.
"""

ChangeMessages = Callable[[int, Tensor], Tensor]
ATTENTION = (GATConv, GATv2Conv)
"""Layers whose messages are weighted by a softmax over a node's edges."""

TINY = 1e-12
"""Keeps the logarithm of a probability finite."""

NOTHING = 1e-30
"""A sum of weights below this has no shares. A sharp attention may leave far less than 1e-12."""


@dataclass(eq=False)
class Run:
    """One forward pass: the output, and what went through the layers on the way.

    Attributes:
        output: ``[num_graphs, outputs]``.
        inputs: What entered the first layer, float ``[num_nodes, channels]``.
        states: What each layer gave, before any activation outside of it.
    """

    output: Tensor
    inputs: Tensor
    states: list[Tensor]


@dataclass
class _Plan:
    """What the hooks do during one forward pass."""

    inputs: Tensor | None = None
    edge_weight: Tensor | None = None
    receiver: Tensor | None = None
    on_message: ChangeMessages | None = None
    on_last: Callable[[Tensor], Tensor] | None = None
    calls: int = 0
    seen: list[Tensor] = field(default_factory=list)
    states: list[Tensor] = field(default_factory=list)


class Frozen:
    """A private copy of a graph-level model, in evaluation mode and without gradients of its own.

    Args:
        model: Called as ``model(x, edge_index, batch)``; gives ``[num_graphs, outputs]``.
        task: ``"classification"`` (one output for each class), ``"binary"`` (one output for the
            second class) or ``"regression"``. When ``None``: what the model says of itself, else
            classification for two and more outputs and regression for one.
        returns: What the outputs of a classifier are: raw logits, probabilities or their logarithm.

    Attributes:
        spread: The unit in which losses measure values; 1 unless an explainer sets it.

    Raises:
        InputError: The model cannot be explained.
    """

    def __init__(
        self, model: nn.Module, *, task: ModelTask | None = None, returns: Returns = "raw"
    ) -> None:
        if not isinstance(model, nn.Module):
            raise InputError(
                f"only a torch.nn.Module can be explained; got {type(model).__name__}. Of a "
                "SubgraphRecognizer take its network"
            )
        try:
            signature(model.forward).bind(None, None, None)
        except TypeError as error:
            raise InputError(
                f"{type(model).__name__}.forward must take (x, edge_index, batch), but {error}; "
                "wrap it in a module that does"
            ) from None
        try:
            self.model: nn.Module = open_to_pyg(deepcopy(model))
        except Exception as error:
            raise InputError(
                f"{type(model).__name__} cannot be copied, which explaining it needs: {error}"
            ) from error
        self.layers = [m for m in self.model.modules() if isinstance(m, MessagePassing)]
        if not self.layers:
            raise InputError(
                f"{type(model).__name__} has no message-passing layer "
                "(torch_geometric.nn.MessagePassing), so no graph to explain"
            )
        self.model.eval().requires_grad_(False)
        clear_masks(self.model)
        self.task = task
        self.returns = returns
        self.spread = 1.0
        self._num_calls: int | None = None
        self._plan = _Plan()
        # Our own layers take edge weights in their stride, with the degrees that follow from them.
        self._takes_adjacency = isinstance(model, SubgraphNet) and isinstance(
            model.encoder, Encoder
        )
        for layer in self.layers:
            self._prepare(layer)

    def _prepare(self, layer: Any) -> None:
        def explain_message(messages: Tensor) -> Tensor:
            if self._plan.on_message is not None:
                return self._plan.on_message(self._plan.calls, messages)
            return self._weighted(layer, messages)

        layer.explain_message = explain_message
        layer.register_forward_pre_hook(self._before_layer, with_kwargs=True)
        layer.register_forward_hook(self._after_layer)
        if isinstance(layer, ATTENTION):
            layer.register_edge_update_forward_hook(self._after_attention)

    def _before_layer(
        self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        plan = self._plan
        if plan.calls == 0:
            x = args[0] if args else kwargs["x"]
            if not isinstance(x, Tensor):
                raise InputError("the first layer must be handed one tensor of node features")
            if plan.inputs is not None and plan.inputs is not x:
                args, kwargs = (
                    ((plan.inputs, *args[1:]), kwargs)
                    if args
                    else (
                        args,
                        kwargs | {"x": plan.inputs},
                    )
                )
            plan.seen.append(x if plan.inputs is None else plan.inputs)
        if plan.edge_weight is not None and _renormalizes(layer):
            weight = args[2] if len(args) > 2 else kwargs.get("edge_weight")
            weight = plan.edge_weight if weight is None else weight * plan.edge_weight
            args, kwargs = args[:2], kwargs | {"edge_weight": weight}
        return args, kwargs

    def _after_layer(self, layer: Any, args: tuple[Any, ...], output: Any) -> Any:
        plan = self._plan
        if not isinstance(output, Tensor):
            raise InputError(f"{type(layer).__name__} must give one tensor, not {type(output)}")
        plan.calls += 1
        plan.states.append(output)
        if plan.on_last is not None and plan.calls == self._num_calls:
            output = plan.on_last(output)
        return output

    def _after_attention(self, layer: Any, args: tuple[Any, ...], attention: Tensor) -> Tensor:
        """The softmax over the edges as far as they are kept; self-loops stand last and stay."""
        if self._plan.edge_weight is None:
            return attention
        receiver = args[0][1]
        kept = attention * _with_loops(self._plan.edge_weight, attention)
        return _shares(kept, receiver)

    def _weighted(self, layer: Any, messages: Tensor) -> Tensor:
        """Messages as far as their edges are kept; a mean is then one over what is kept."""
        plan = self._plan
        assert plan.edge_weight is not None and plan.receiver is not None
        weight = _with_loops(plan.edge_weight, messages)
        if isinstance(layer.aggr_module, MeanAggregation):
            loops = torch.arange(len(weight) - len(plan.receiver), device=plan.receiver.device)
            receiver = torch.cat([plan.receiver, loops])
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
        on_last: Callable[[Tensor], Tensor] | None = None,
    ) -> Run:
        """One forward pass, changed as asked.

        Args:
            batch: The graphs.
            inputs: In the place of the float features, or of what integer features are turned into.
            edge_weight: ``[num_edges]``; where the layers allow it the degrees follow.
            message_weight: ``[num_edges]``; the messages alone, as PyG's explainers do it.
            on_message: Changes the messages of the n-th layer; self-loops stand last.
            on_last: Changes what the last layer gives.
        """
        if on_last is not None and self._num_calls is None:
            with torch.no_grad():
                self.run(batch)
        self._plan = plan = _Plan(inputs, on_message=on_message, on_last=on_last)
        edges: Any = batch.adj.edge_index
        if message_weight is not None:
            plan.on_message = self._weighting(message_weight)
        elif self._takes_adjacency and on_message is None:
            edges = batch.adj if edge_weight is None else batch.adj.with_weight(edge_weight)
        elif edge_weight is not None:
            plan.edge_weight, plan.receiver = edge_weight, edges[1]
        x = inputs if inputs is not None and batch.x.is_floating_point() else batch.x
        with self._explaining(plan):
            output = self.model(x, edges, batch.graphs.batch)
        self._num_calls = plan.calls
        return Run(self._checked(output, batch), plan.seen[0], plan.states)

    @contextmanager
    def _explaining(self, plan: _Plan) -> Iterator[None]:
        """Switches on PyG's hook for messages in the layers that are to be changed."""
        chosen = [
            layer
            for layer in self.layers
            if layer.explain is not False
            and (
                plan.on_message is not None
                or (plan.edge_weight is not None and not _takes_weights(layer))
            )
        ]
        for layer in chosen:
            layer.explain = True
        try:
            yield
        finally:
            for layer in chosen:
                layer.explain = None

    @staticmethod
    def _weighting(weight: Tensor) -> ChangeMessages:
        return lambda _, messages: messages * _with_loops(weight, messages)

    def _checked(self, output: Any, batch: Batch) -> Tensor:
        if not isinstance(output, Tensor) or not output.is_floating_point():
            raise InputError(
                f"the model must give one float tensor; got {type(output).__name__}. Wrap it in a "
                "module that picks the logits"
            )
        rows: Tensor = output.unsqueeze(1) if output.dim() == 1 else output
        if rows.dim() != 2 or rows.shape[0] != batch.num_graphs:
            is_node_level = rows.dim() > 0 and rows.shape[0] == batch.x.shape[0]
            raise InputError(
                f"the model gave {list(output.shape)} for {batch.num_graphs} graphs"
                f"{', one row for each node' if is_node_level else ''}; expected one row for each "
                "graph. Pool the nodes by batch first"
            )
        if self.task is None:
            said = getattr(self.model, "task", None)
            guess: ModelTask = "classification" if rows.shape[1] > 1 else "regression"
            self.task = said if said in ("classification", "regression") else guess
        if self.task == "binary" and rows.shape[1] != 1:
            raise InputError(f"a 'binary' model has one output; this one has {rows.shape[1]}")
        return rows

    # ---- what the output means -------------------------------------------------------------------

    @property
    def is_classifier(self) -> bool:
        """Whether the model tells classes apart."""
        return self.task != "regression"

    def log_probabilities(self, output: Tensor) -> Tensor:
        """``[num_graphs, classes]``, two of them for a binary model."""
        if self.returns == "probs":
            full = torch.cat([1 - output, output], dim=1) if self.task == "binary" else output
            return full.clamp(min=TINY).log()
        if self.task == "binary":
            output = torch.cat([torch.zeros_like(output), output], dim=1)
        return output.log_softmax(1)

    def goal(self, output: Tensor) -> Tensor:
        """What is to be explained: the predicted class ``[num_graphs]``, or the values."""
        return self.log_probabilities(output).argmax(1) if self.is_classifier else output

    def losses(self, output: Tensor, goal: Tensor) -> Tensor:
        """How far each graph's output is from the goal: cross-entropy, or the squared error."""
        if self.is_classifier:
            return nn.functional.nll_loss(self.log_probabilities(output), goal, reduction="none")
        return ((output - goal) / self.spread).square().mean(1)

    def opposition(self, output: Tensor, goal: Tensor) -> Tensor:
        r"""How far each graph's output is from denying the goal.

        :math:`-\log(1 - p_y)`, the cross-entropy to "another class"; for values
        :math:`\exp(-\Delta^2)`, which falls to 0 as the output moves away.
        """
        if self.is_classifier:
            return -self._other(self.log_probabilities(output), goal)
        return (-self.losses(output, goal)).exp()

    def evidence(self, output: Tensor, goal: Tensor) -> Tensor:
        r"""The class margin :math:`\log p_y - \log(1 - p_y)`; for values their sum."""
        if not self.is_classifier:
            return output.sum(1)
        logs = self.log_probabilities(output)
        return logs.gather(1, goal.unsqueeze(1)).squeeze(1) - self._other(logs, goal)

    @staticmethod
    def _other(logs: Tensor, goal: Tensor) -> Tensor:
        """The logarithm of the probability of all other classes."""
        hidden = logs.scatter(1, goal.unsqueeze(1), -torch.inf)
        return hidden.logsumexp(1)

    def importance(self, attributions: Tensor) -> Tensor:
        """For classes, what speaks for the goal; for values, what moves them either way."""
        return attributions if self.is_classifier else attributions.abs()


def _with_loops(weight: Tensor, values: Tensor) -> Tensor:
    """Edge weights, with 1 for the self-loops that a layer added at the end, to multiply with."""
    loops = values.shape[0] - weight.shape[0]
    full = torch.cat([weight, weight.new_ones(loops)]) if loops else weight
    return full.view(-1, *[1] * (values.dim() - 1))


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


def packed(batch: Batch) -> PackedGraphs:
    """A batch as a set of its own, without copying."""
    ptr = batch.graphs.ptr.long()
    counts = batch.adj.csr.indptr.long()
    offset = ptr[:-1].repeat_interleave(counts[ptr].diff())
    return PackedGraphs(
        x=batch.x, node_ptr=ptr, indptr=counts, col=(batch.adj.csr.col - offset).int()
    )


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
