"""The GNN that gives each node its representation: H = GNN(A, X) (Sec. 4.1)."""

import torch
from torch import Tensor, nn

from vgib.errors import InputError, unknown_name
from vgib.nn.layers import LAYERS, BatchNorm
from vgib.nn.sparse import Adjacency

EdgeIndex = Tensor | Adjacency


class Encoder(nn.Module):
    """A stack of one kind of layer, each but the GIN's followed by a ReLU.

    The layers are plain torch modules on an :class:`Adjacency`. When the encoder is handed PyG's
    ``edge_index``, or :func:`vgib.nn.pyg_layers.open_to_pyg` is called, PyG's layers take their
    place, with the same parameters, so that PyG's explainers and masks work on them.

    Args:
        layer: ``"gcn"``, ``"gat"``, ``"sage"`` or ``"gin"``.
        in_channels: Channels of the node features.
        hidden: Channels of every layer's output.
        depth: Number of layers.
        last_relu: Whether the last layer is followed by a ReLU too (the paper's formula says so;
            the authors' program leaves it out).
        normalize: Whether the last representations are normalized over the nodes of the batch, so
            that readout, gate and noise are handed channels of one scale. A GIN's always are.
    """

    def __init__(
        self,
        layer: str,
        in_channels: int,
        *,
        hidden: int = 16,
        depth: int = 2,
        last_relu: bool = True,
        normalize: bool = False,
    ) -> None:
        super().__init__()
        if layer not in LAYERS:
            raise unknown_name("encoder", layer, LAYERS)
        if depth < 1 or hidden < 1:
            raise InputError(f"depth and hidden must be at least 1; got {depth} and {hidden}")
        widths = [in_channels, *[hidden] * depth]
        self.layers = nn.ModuleList(LAYERS[layer](widths[i], widths[i + 1]) for i in range(depth))
        # GIN's own MLP ends in a ReLU and a batch norm.
        self.relu_after = [layer != "gin" and (last_relu or i < depth - 1) for i in range(depth)]
        self.norm = BatchNorm(hidden) if normalize and layer != "gin" else None
        self.out_channels = hidden

    def states(self, x: Tensor, edge_index: EdgeIndex) -> tuple[Tensor, ...]:
        """The representations after each layer, ``[num_nodes, hidden]`` each."""
        if not isinstance(edge_index, Adjacency) and type(self.layers[0]) in LAYERS.values():
            from vgib.nn.pyg_layers import open_to_pyg

            open_to_pyg(self)
        found = []
        for layer, relu in zip(self.layers, self.relu_after, strict=True):
            x = layer(x, edge_index)
            if relu:
                x = x.relu()
            found.append(x)
        if self.norm is not None:
            found[-1] = self.norm(x)
        return tuple(found)

    def forward(self, x: Tensor, edge_index: EdgeIndex) -> Tensor:
        """The representations after the last layer."""
        return self.states(x, edge_index)[-1]


class Wrapped(nn.Module):
    """Any module with PyG's signature ``(x, edge_index)`` in the place of an :class:`Encoder`."""

    def __init__(self, module: nn.Module, out_channels: int | None = None) -> None:
        super().__init__()
        width = out_channels or getattr(module, "out_channels", None)
        if not isinstance(width, int):
            raise InputError(
                f"{type(module).__name__} does not say how wide its output is; give it an "
                "attribute out_channels"
            )
        self.module = module
        self.out_channels = width

    def states(self, x: Tensor, edge_index: EdgeIndex) -> tuple[Tensor, ...]:
        """The module's output as the only state."""
        plain = edge_index.edge_index if isinstance(edge_index, Adjacency) else edge_index
        weight = edge_index.edge_weight if isinstance(edge_index, Adjacency) else None
        if weight is not None:
            # PyG's own models ignore weights that their layers do not take.
            if not getattr(self.module, "supports_edge_weight", True):
                raise InputError(
                    f"{type(self.module).__name__} takes no edge weights, which this bottleneck "
                    "puts on the messages; use 'gat', 'gcn', 'gin' or 'sage' by name"
                )
            return (self.module(x, plain, edge_weight=weight),)
        return (self.module(x, plain),)

    def forward(self, x: Tensor, edge_index: EdgeIndex) -> Tensor:
        """The module's output."""
        return self.states(x, edge_index)[-1]


class Embedding(nn.Module):
    r"""Categorical node features to channels: the sum of one learned row for each column's code.

    .. math:: x_j = \sum_c W_c[\text{code}_{jc}]

    The same linear map as a one-hot matrix product, at the price of a look-up. It is a module of
    its own so that attribution and noise can start at its float output.
    """

    def __init__(self, cardinalities: tuple[int, ...], channels: int) -> None:
        super().__init__()
        self.table = nn.Embedding(sum(cardinalities), channels)
        starts = torch.tensor([0, *cardinalities[:-1]]).cumsum(0)
        self.starts: Tensor
        self.last: Tensor
        self.register_buffer("starts", starts, persistent=False)
        self.register_buffer("last", torch.tensor(cardinalities) - 1, persistent=False)
        self.out_channels = channels

    def forward(self, codes: Tensor) -> Tensor:
        """``int [num_nodes, columns] -> float [num_nodes, channels]``."""
        # A code beyond the training set's counts as the last one.
        if codes.shape[1] == 1:
            rows = codes[:, 0].long().clamp(max=self.table.num_embeddings - 1)
            # Its backward is a plain index_add, five times faster than nn.Embedding's here.
            return self.table.weight.index_select(0, rows)
        rows = torch.minimum(codes.long(), self.last) + self.starts
        return nn.functional.embedding_bag(rows, self.table.weight, mode="sum")
