"""The GNN that gives each node its representation: H = GNN(A, X) (Sec. 4.1)."""

from inspect import signature
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn

from vgib.errors import InputError, unknown_name
from vgib.nn.layers import EDGE_LAYERS, LAYERS, BatchNorm, as_channels
from vgib.nn.sparse import Adjacency

EdgeIndex = Tensor | Adjacency
NAMES = (*LAYERS, *EDGE_LAYERS)
"""The encoders that have a name."""


class Encoder(nn.Module):
    r"""A stack of one kind of layer, each but the GIN's followed by a ReLU.

    In ``"gine-skip"`` every layer adds to where the nodes started, and a last linear map is handed
    their features once more:

    .. math:: h^0 = \operatorname{ReLU}(W_0 x), \quad
              h^l = \operatorname{ReLU}\bigl(W_0 x + \operatorname{GINE}_l(h^{l-1})\bigr), \quad
              h = \operatorname{ReLU}\bigl(W [x, h^L]\bigr)

    so that no norm is needed for depth. Chemprop's networks are built in this way (Yang et al.,
    "Analyzing Learned Molecular Representations for Property Prediction", J. Chem. Inf. Model.
    2019, arXiv 1904.01561), with messages between bonds.

    The layers are plain torch modules on an :class:`Adjacency`. When the encoder is handed PyG's
    ``edge_index``, or :func:`vgib.nn.pyg_layers.open_to_pyg` is called, PyG's layers take their
    place, with the same parameters, so that PyG's explainers and masks work on them.

    Args:
        layer: ``"gcn"``, ``"gat"``, ``"sage"`` or ``"gin"``; or ``"gine"``, ``"gine-skip"`` or
            ``"gat-edge"``, which read edge features.
        in_channels: Channels of the node features.
        hidden: Channels of every layer's output.
        depth: Number of layers.
        last_relu: Whether the last layer is followed by a ReLU too (the paper's formula says so;
            the authors' program leaves it out).
        normalize: Whether the last representations are normalized over the nodes of the batch, so
            that readout, gate and noise are handed channels of one scale. A GIN's always are.
        edge_channels: Channels of the edge features, for the layers that read them.
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
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        if layer not in NAMES:
            raise unknown_name("encoder", layer, NAMES)
        if depth < 1 or hidden < 1:
            raise InputError(f"depth and hidden must be at least 1; got {depth} and {hidden}")
        skips = layer == "gine-skip"
        self.start = nn.Linear(in_channels, hidden) if skips else None
        self.end = nn.Linear(in_channels + hidden, hidden) if skips else None
        self.last_relu = last_relu
        widths = [hidden if skips else in_channels, *[hidden] * depth]
        self.reads_edges = layer in EDGE_LAYERS
        self.layers = nn.ModuleList(
            EDGE_LAYERS[layer](*pair, edge_channels) if self.reads_edges else LAYERS[layer](*pair)
            for pair in pairwise(widths)
        )
        # GIN's own MLP ends in a ReLU and a batch norm.
        is_gin = layer in ("gin", "gine")
        self.relu_after = [
            not is_gin and (last_relu or skips or i < depth - 1) for i in range(depth)
        ]
        self.norm = BatchNorm(hidden) if normalize and not is_gin else None
        self.out_channels, self.edge_channels = hidden, edge_channels

    def states(
        self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """The representations after each layer, ``[num_nodes, hidden]`` each.

        An :class:`Adjacency` has its edge features with it; beside PyG's they are given.
        """
        more: tuple[Tensor, ...] = ()
        if not isinstance(edge_index, Adjacency):
            kinds: tuple[object, ...] = (*LAYERS.values(), *EDGE_LAYERS.values())
            if type(self.layers[0]) in kinds:
                from vgib.nn.pyg_layers import open_to_pyg

                open_to_pyg(self)
            if self.reads_edges:
                if edge_attr is None:
                    raise InputError("this encoder reads edge features; pass edge_attr")
                more = (as_channels(edge_attr, self.edge_channels),)
        found, inputs = [], x
        begun = None if self.start is None else self.start(x)
        x = x if begun is None else begun.relu()
        for layer, relu in zip(self.layers, self.relu_after, strict=True):
            x = layer(x, edge_index, *more)
            if begun is not None:
                x = begun + x
            if relu:
                x = x.relu()
            found.append(x)
        if self.end is not None:
            x = self.end(torch.cat([inputs, x], dim=1))
            found[-1] = x = x.relu() if self.last_relu else x
        if self.norm is not None:
            found[-1] = self.norm(x)
        return tuple(found)

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None) -> Tensor:
        return self.states(x, edge_index, edge_attr)[-1]


class Wrapped(nn.Module):
    """Any module with PyG's signature ``(x, edge_index)`` in the place of an :class:`Encoder`.

    Where its ``forward`` names ``edge_attr``, it is handed the edge features of the graphs.
    """

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
        self.reads_edges = getattr(module, "supports_edge_attr", True) and (
            "edge_attr" in signature(module.forward).parameters
        )

    def states(
        self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """The module's output as the only state."""
        named: dict[str, Tensor] = {}
        if isinstance(edge_index, Adjacency):
            edge_attr, weight = edge_index.edge_attr, edge_index.edge_weight
            edge_index = edge_index.edge_index
            if weight is not None:
                # PyG's own models ignore weights that their layers do not take.
                if not getattr(self.module, "supports_edge_weight", True):
                    raise InputError(
                        f"{type(self.module).__name__} takes no edge weights, which this "
                        "bottleneck puts on the messages; use 'gat', 'gcn', 'gin' or 'sage' by name"
                    )
                named["edge_weight"] = weight
        if edge_attr is not None and self.reads_edges:
            named["edge_attr"] = edge_attr
        return (self.module(x, edge_index, **named),)

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None) -> Tensor:
        return self.states(x, edge_index, edge_attr)[-1]


class Embedding(nn.Module):
    r"""Categorical node features to channels: the sum of one learned row for each column's code.

    .. math:: x_j = \sum_c W_c[\text{code}_{jc}]

    The same linear map as a one-hot matrix product, at the price of a look-up. It is a module of
    its own so that attribution and noise can start at its float output.
    """

    def __init__(self, cardinalities: tuple[int, ...], channels: int) -> None:
        super().__init__()
        self.table = nn.Embedding(sum(cardinalities), channels)
        starts = torch.tensor([*accumulate([0, *cardinalities[:-1]])])
        self.starts: Tensor
        self.last: Tensor
        self.register_buffer("starts", starts, persistent=False)
        last = torch.tensor([size - 1 for size in cardinalities])
        self.register_buffer("last", last, persistent=False)
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
