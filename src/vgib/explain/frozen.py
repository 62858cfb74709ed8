"""A user's model as the explainers see it: a private, frozen copy that can be looked into.

The copy is called with whatever its ``forward`` names (:mod:`vgib.explain.calling`). Hooks
(:mod:`vgib.explain.plan`) hand out the states of its message-passing layers and let an explainer
change the features that enter the first layer, the weight of every edge or message, and what the
last layer gives. The user's own object is never touched: mode, parameters, gradients and masks are
what they were.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, Unpack

import torch
from torch import Tensor, nn

from vgib.data.packed import HALF, Batch, PackedGraphs
from vgib.errors import InputError
from vgib.explain.calling import Forward, unwrapped
from vgib.explain.outputs import OutputReading, Outputs
from vgib.explain.plan import Change, ChangeMessages, Hooks, Plan
from vgib.nn.encoder import Encoder
from vgib.nn.net import SubgraphNet
from vgib.nn.pyg_layers import open_to_pyg

Removal = Literal["exact", "messages", "representation", "none"]
"""How a method takes nodes away while it looks for an explanation.

``exact``: as if they were not in the graph. ``messages``: what they send is weighted, and noise
takes the place of their features. ``representation``: they are replaced after the last layer.
``none``: they stay.
"""

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
        reading: What its outputs mean; see :class:`~vgib.explain.outputs.Outputs`.

    Raises:
        InputError: The model cannot be explained.
    """

    def __init__(self, model: nn.Module, **reading: Unpack[OutputReading]) -> None:
        if not isinstance(model, nn.Module):
            raise InputError(
                f"only a torch.nn.Module can be explained; got {type(model).__name__}. Of a "
                "SubgraphRecognizer take its network"
            )
        super().__init__(**reading)
        try:
            self.model: nn.Module = open_to_pyg(deepcopy(unwrapped(model)))
        except Exception as error:
            raise InputError(
                f"{type(model).__name__} cannot be copied, which explaining it needs: {error}"
            ) from error
        if any(values.dtype in HALF for values in self.model.state_dict().values()):
            self.model.float()
        self.forward = Forward(self.model)
        self.model.eval().requires_grad_(False)
        self.hooks = Hooks(self.model)
        self.layers = self.hooks.layers
        # Our own layers take edge weights in their stride, with the degrees that follow from them.
        self._takes_adjacency = isinstance(self.model, SubgraphNet) and isinstance(
            self.model.encoder, Encoder
        )

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
            inputs: In the place of what enters the first layer, and of the features themselves
                where they enter it as they are.
            edge_weight: ``[num_edges]``; where the layers allow it the degrees follow.
            message_weight: ``[num_edges]``; the messages alone, as PyG's explainers do it.
            on_message: Changes the messages of the n-th layer; self-loops stand last.
            on_last: Changes what the last layer gives.
            on_nodes: Changes what the last module gives that has a row for each node.
        """
        if not self.layers and any(
            change is not None for change in (edge_weight, message_weight, on_message, on_last)
        ):
            raise InputError(
                f"{self.forward.name} has no message-passing layer "
                "(torch_geometric.nn.MessagePassing), which this method needs; 'vgib' and "
                "'occlusion' do without"
            )
        if self.hooks.last is None and any(c is not None for c in (inputs, on_last, on_nodes)):
            with torch.no_grad():
                self.run(batch)
        here, batch = batch, self._brought(batch)
        inputs, edge_weight, message_weight = (
            None if value is None else value.to(self.device)
            for value in (inputs, edge_weight, message_weight)
        )
        if here is not batch:
            on_message, on_last, on_nodes = map(_on_the_cpu, (on_message, on_last, on_nodes))
        x, edges = batch.x, batch.adj.edge_index
        plan = Plan(
            batch,
            edges,
            inputs,
            message_weight=message_weight,
            on_message=on_message,
            on_last=on_last,
            on_nodes=on_nodes,
        )
        if inputs is not None and (not self.layers or self.hooks.begins_with_features):
            x = inputs
        given: Any = edges
        if message_weight is None and self._takes_adjacency and on_message is None:
            given = batch.adj if edge_weight is None else batch.adj.with_weight(edge_weight)
        elif message_weight is None:
            plan.edge_weight = edge_weight
        with self.hooks.carrying_out(plan):
            output = self.forward(x, given, batch)
        self.hooks.take_note(x)
        full = self._checked(self.picked(output).to(here.x.device), here)
        assert plan.seen is not None
        seen, *states = (each.to(here.x.device) for each in (plan.seen, *plan.states))
        return Run(self.targeted(full), seen, states, full)

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
        with self.hooks.carrying_out(Plan(there, there.adj.edge_index)) as plan:
            output = self.forward(there.x, there.adj.edge_index, there)
        rows = self.picked(output).to(batch.x.device)
        rows = rows.unsqueeze(1) if rows.dim() == 1 else rows
        if not plan.are_nodes(rows) or rows.dim() != 2:
            raise InputError(
                f"the model gave {list(rows.shape)} for {len(batch.x)} nodes; expected one row for "
                "each node. Explain a model of graphs with explain_many"
            )
        self.take_task(rows, getattr(self.model, "task", None))
        return self.targeted(rows)


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
