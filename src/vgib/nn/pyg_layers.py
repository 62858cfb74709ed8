"""The same layers as PyG's own, for the tools of PyG; the plain ones are in ``layers``.

PyG's explainers look for ``MessagePassing`` modules and put masks on the messages between them. The
layers here are such modules. On a plain ``edge_index`` they are PyG's in every respect; on an
:class:`Adjacency` they compute what their plain twins compute, by the same functions.
"""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, MessagePassing, SAGEConv

from vgib.nn.layers import (
    GAT,
    GCN,
    GIN,
    GINE,
    SAGE,
    EdgeGAT,
    edge_gat,
    gat,
    gcn,
    gin,
    gine,
    sage,
)
from vgib.nn.sparse import Adjacency

EdgeIndex = Tensor | Adjacency
Module = TypeVar("Module", bound=nn.Module)

# PyG compiles `propagate` for each class and keeps the original for its explainers. Of a subclass
# whose parent is compiled already it would keep the parent's compiled one, which ignores masks;
# naming the original in each class prevents that.


class PygGCN(GCNConv):  # type: ignore[misc]  # PyG ships no types
    """:class:`~vgib.nn.layers.GCN` as PyG's ``GCNConv``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Any = None) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            return gcn(x, edge_index, self.lin, self.bias)
        return super().forward(x, edge_index, edge_weight)  # type: ignore[no-any-return]


class PygSAGE(SAGEConv):  # type: ignore[misc]
    """:class:`~vgib.nn.layers.SAGE` as PyG's ``SAGEConv``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, size: Any = None) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            return sage(x, edge_index, self.lin_l, self.lin_r)
        return super().forward(x, edge_index, size)  # type: ignore[no-any-return]


class PygGIN(GINConv):  # type: ignore[misc]
    """:class:`~vgib.nn.layers.GIN` as PyG's ``GINConv``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, size: Any = None) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            return gin(x, edge_index, self.nn, self.eps)
        return super().forward(x, edge_index, size)  # type: ignore[no-any-return]


class PygGAT(GATConv):  # type: ignore[misc]
    """:class:`~vgib.nn.layers.GAT` as PyG's ``GATConv``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Any = None) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            return gat(x, edge_index, self.lin, self.att_src, self.att_dst, self.bias)
        return super().forward(x, edge_index, edge_attr)  # type: ignore[no-any-return]


class PygGINE(GINEConv):  # type: ignore[misc]
    """:class:`~vgib.nn.layers.GINE` as PyG's ``GINEConv``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(
        self, x: Tensor, edge_index: EdgeIndex, edge_attr: Any = None, size: Any = None
    ) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            return gine(x, edge_index, self.nn, self.eps, self.lin)
        return super().forward(x, edge_index, edge_attr, size)  # type: ignore[no-any-return]


class PygEdgeGAT(GATConv):  # type: ignore[misc]
    """:class:`~vgib.nn.layers.EdgeGAT` as PyG's ``GATConv`` with ``edge_dim``."""

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Any = None) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        if isinstance(edge_index, Adjacency):
            parts = (self.lin, self.lin_edge, self.att_src, self.att_dst, self.att_edge, self.bias)
            return edge_gat(x, edge_index, *parts)
        return super().forward(x, edge_index, edge_attr)  # type: ignore[no-any-return]


Plain = GCN | SAGE | GIN | GAT | GINE | EdgeGAT


def open_to_pyg(module: Module) -> Module:
    """Puts PyG's layers in the place of their plain twins, wherever in a network they stand.

    The parameters stay the same objects, so an optimizer keeps them, and so do the results. Nothing
    happens to a network that is open already.
    """
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Plain):
                setattr(parent, name, _twin(child))
    return module


def _twin(layer: Plain) -> nn.Module:
    """PyG's layer with the parameters of a plain one."""
    # Whatever PyG allocates and initializes is thrown away: the meta device makes that free, and
    # leaves the random numbers of the caller alone.
    with torch.device("meta"):
        twin = _unset(layer)
    for name, part in [*layer.named_children(), *layer.named_parameters(recurse=False)]:
        setattr(twin, name, part)
    return twin.train(layer.training)


def _unset(layer: Plain) -> nn.Module:
    if isinstance(layer, GIN):
        return PygGIN(nn.Identity(), train_eps=True)
    if isinstance(layer, SAGE):
        return PygSAGE(layer.lin_l.in_features, layer.lin_l.out_features)
    if isinstance(layer, GINE):
        # PyG asks its network how wide it is.
        first = nn.Linear(layer.lin.out_features, 1)
        return PygGINE(nn.Sequential(first), train_eps=True, edge_dim=layer.lin.in_features)
    if isinstance(layer, EdgeGAT):
        sizes = layer.lin.in_features, layer.lin.out_features
        return PygEdgeGAT(*sizes, edge_dim=layer.lin_edge.in_features)
    kind = PygGCN if isinstance(layer, GCN) else PygGAT
    return kind(layer.lin.in_features, layer.lin.out_features)
