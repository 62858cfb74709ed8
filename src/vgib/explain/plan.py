"""What is done to a model, and seen of it, during one forward pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from vgib.data.packed import Batch

ChangeMessages = Callable[[int, Tensor], Tensor]
Change = Callable[[Tensor], Tensor]


@dataclass
class Plan:
    """What the hooks do during one forward pass."""

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
