"""The same layers as PyG's own, for the tools of PyG; the plain ones are in ``layers``.

PyG's explainers look for ``MessagePassing`` modules and put masks on the messages between them. The
layers here are such modules. On a plain ``edge_index`` they are PyG's in every respect; on an
:class:`Adjacency` they compute what their plain twins compute, by the same code.
"""

from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, MessagePassing, SAGEConv

from vgib.nn.layers import GAT, GCN, GIN, GINE, SAGE, EdgeGAT
from vgib.nn.sparse import Adjacency

Module = TypeVar("Module", bound=nn.Module)


def _twin_class(plain: type[nn.Module], conv: Any) -> type[nn.Module]:
    """PyG's class ``conv``, which on an :class:`Adjacency` runs the ``forward`` of a plain layer.

    The parameters of both have the same names, so that this ``forward`` finds them.
    """

    class Twin(conv):  # type: ignore[misc]  # PyG ships no types
        # PyG compiles `propagate` for each class and keeps the original for its explainers. Of a
        # subclass whose parent is compiled already it would keep the parent's compiled one, which
        # ignores masks; naming the original here prevents that.
        propagate = MessagePassing.propagate

        def forward(
            self, x: Tensor, edge_index: Tensor | Adjacency, *rest: Any, **named: Any
        ) -> Tensor:
            """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
            if isinstance(edge_index, Adjacency):
                return plain.forward(self, x, edge_index)  # type: ignore[no-any-return]
            return super().forward(x, edge_index, *rest, **named)  # type: ignore[no-any-return]

    Twin.__name__ = Twin.__qualname__ = f"Pyg{plain.__name__}"  # by which it is pickled
    Twin.__doc__ = f":class:`~vgib.nn.layers.{plain.__name__}` as PyG's ``{conv.__name__}``."
    return Twin


PygGCN = _twin_class(GCN, GCNConv)
PygSAGE = _twin_class(SAGE, SAGEConv)
PygGIN = _twin_class(GIN, GINConv)
PygGAT = _twin_class(GAT, GATConv)
PygGINE = _twin_class(GINE, GINEConv)
PygEdgeGAT = _twin_class(EdgeGAT, GATConv)

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
