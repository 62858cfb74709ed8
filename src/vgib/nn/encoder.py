"""The GNN that gives each node its representation: H = GNN(A, X) (Sec. 4.1).

The layers are PyG's own, with their parameters and their behavior on an ``edge_index``, so that
PyG's explainers and masks work on them. Handed an :class:`Adjacency` instead, each takes a shorter
way to the same result: one sparse product over the whole batch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, MessagePassing, SAGEConv

from vgib.errors import InputError, unknown_name
from vgib.nn.sparse import Adjacency, Segments

EdgeIndex = Tensor | Adjacency

# PyG compiles `propagate` for each class and keeps the original for its explainers. Of a subclass
# whose parent is compiled already it would keep the parent's compiled one, which ignores masks;
# naming the original in each class prevents that.


class GCN(GCNConv):  # type: ignore[misc]  # PyG ships no types
    r"""Graph convolution, Kipf and Welling, ICLR 2017.

    .. math:: H' = \hat D^{-1/2} (A + I) \hat D^{-1/2} H W

    Note:
        The paper's formula has :math:`A`; the field, and the authors' program, use :math:`A + I`.
        With edge weights, :math:`\hat d_i = 1 + \sum_j w_{ij}`: at weights of 0 and 1 this is
        exactly the convolution on the subgraph that is left.
    """

    propagate = MessagePassing.propagate  # see the note above

    def forward(
        self, x: Tensor, edge_index: EdgeIndex, edge_weight: Tensor | None = None
    ) -> Tensor:
        if not isinstance(edge_index, Adjacency):
            plain: Tensor = super().forward(x, edge_index, edge_weight)
            return plain
        scale = edge_index.gcn_scale(x.dtype)
        h = scale * self.lin(x)
        summed = edge_index @ h + h
        return scale * summed if self.bias is None else torch.addcmul(self.bias, scale, summed)


class SAGE(SAGEConv):  # type: ignore[misc]
    r"""GraphSAGE with mean aggregation, Hamilton, Ying and Leskovec, NeurIPS 2017.

    .. math:: h_i' = W_1 h_i + W_2 \operatorname{mean}_{j \in N(i)} h_j
    """

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, size: Any = None) -> Tensor:
        if not isinstance(edge_index, Adjacency):
            plain: Tensor = super().forward(x, edge_index, size)
            return plain
        degree = edge_index.degree.to(x.dtype)
        neighbors = (edge_index @ x) / torch.where(degree > 0, degree, 1.0)
        return self.lin_l(neighbors) + self.lin_r(x)  # type: ignore[no-any-return]


class GIN(GINConv):  # type: ignore[misc]
    r"""Graph isomorphism layer, Xu et al., ICLR 2019.

    .. math:: h_i' = \operatorname{MLP}\bigl((1 + \epsilon) h_i +
              \textstyle\sum_{j \in N(i)} h_j\bigr)
    """

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, size: Any = None) -> Tensor:
        if not isinstance(edge_index, Adjacency):
            plain: Tensor = super().forward(x, edge_index, size)
            return plain
        summed = (1 + self.eps) * x + edge_index @ x
        return self.nn(summed)  # type: ignore[no-any-return]


class GAT(GATConv):  # type: ignore[misc]
    r"""Graph attention with one head, Velickovic et al., ICLR 2018.

    .. math:: h_i' = \sum_{j \in N(i) \cup i} \alpha_{ij} W h_j, \quad
              \alpha_{ij} \propto w_{ij} \exp \operatorname{LeakyReLU}(a^T [W h_i, W h_j])
    """

    propagate = MessagePassing.propagate  # see the note above

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None) -> Tensor:
        if not isinstance(edge_index, Adjacency):
            plain: Tensor = super().forward(x, edge_index, edge_attr)
            return plain
        csr = edge_index.csr
        h = self.lin(x)
        sender = (h * self.att_src[0]).sum(-1)
        receiver = (h * self.att_dst[0]).sum(-1)
        loop = self._activate(sender + receiver)
        edge = self._activate(sender.index_select(0, csr.col) + receiver.index_select(0, csr.row))
        # The largest logit of each row, for a softmax that cannot overflow.
        top = torch.maximum(Segments(csr.indptr).max(edge), loop.detach())
        edge = (edge - top.index_select(0, csr.row)).exp()
        if edge_index.weight is not None:
            edge = edge * edge_index.weight
        loop = (loop - top).exp().unsqueeze(1)
        # One product gives the weighted sum and, in a last column of ones, the denominator.
        both = edge_index.gather(torch.cat([h, torch.ones_like(loop)], dim=1), edge)
        out: Tensor = (both[:, :-1] + loop * h) / (both[:, -1:] + loop)
        return out if self.bias is None else out + self.bias

    def _activate(self, logits: Tensor) -> Tensor:
        return nn.functional.leaky_relu(logits, self.negative_slope)


class BatchNorm(nn.BatchNorm1d):
    """Batch norm that takes a batch of one node as it comes, with the running statistics."""

    def forward(self, x: Tensor) -> Tensor:
        """``[num_nodes, channels] -> [num_nodes, channels]``."""
        if x.shape[0] > 1 or not self.training:
            return super().forward(x)
        return nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


def _gin(inputs: int, outputs: int) -> GIN:
    mlp = nn.Sequential(
        nn.Linear(inputs, outputs),
        nn.ReLU(),
        nn.Linear(outputs, outputs),
        nn.ReLU(),
        BatchNorm(outputs),
    )
    return GIN(mlp, train_eps=True)


LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "gat": GAT,
    "gcn": GCN,
    "gin": _gin,
    "sage": SAGE,
}


class Encoder(nn.Module):
    """A stack of one kind of layer, each but the GIN's followed by a ReLU.

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
                "attribute out_channels, or pass hidden="
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
