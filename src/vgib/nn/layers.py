"""The layers that an encoder is made of, in plain torch: each is one sparse product.

Each layer takes the edges as an :class:`~vgib.nn.sparse.Adjacency`. Its parameters have the names,
the shapes and, for one seed, the first values of PyG's layer of the same kind, and
:mod:`vgib.nn.pyg_layers` turns it into that layer for the tools of PyG. Importing PyG takes longer
than recognizing a molecule, so nothing here does.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from vgib.errors import InputError
from vgib.nn.sparse import Adjacency, Segments

SLOPE = 0.2
"""The slope of the attention's LeakyReLU below zero, as in PyG."""


def gcn(x: Tensor, adj: Adjacency, lin: nn.Module, bias: Tensor) -> Tensor:
    r"""Graph convolution, Kipf and Welling, ICLR 2017.

    .. math:: H' = \hat D^{-1/2} (A + I) \hat D^{-1/2} H W

    Note:
        The paper's formula has :math:`A`; the field, and the authors' program, use :math:`A + I`.
        With edge weights, :math:`\hat d_i = 1 + \sum_j w_{ij}`: at weights of 0 and 1 this is
        exactly the convolution on the subgraph that is left.
    """
    scale = adj.gcn_scale(x.dtype)
    h = scale * lin(x)
    return torch.addcmul(bias, scale, adj @ h + h)


def sage(x: Tensor, adj: Adjacency, lin_l: nn.Module, lin_r: nn.Module) -> Tensor:
    r"""GraphSAGE with mean aggregation, Hamilton, Ying and Leskovec, NeurIPS 2017.

    .. math:: h_i' = W_r h_i + W_l \operatorname{mean}_{j \in N(i)} h_j
    """
    degree = adj.degree.to(x.dtype)
    neighbors = (adj @ x) / torch.where(degree > 0, degree, 1.0)
    out: Tensor = lin_l(neighbors) + lin_r(x)
    return out


def gin(x: Tensor, adj: Adjacency, mlp: nn.Module, eps: Tensor) -> Tensor:
    r"""Graph isomorphism layer, Xu et al., ICLR 2019.

    .. math:: h_i' = \operatorname{MLP}\bigl((1 + \epsilon) h_i +
              \textstyle\sum_{j \in N(i)} h_j\bigr)
    """
    out: Tensor = mlp((1 + eps) * x + adj @ x)
    return out


def gat(
    x: Tensor, adj: Adjacency, lin: nn.Module, att_src: Tensor, att_dst: Tensor, bias: Tensor
) -> Tensor:
    r"""Graph attention with one head, Velickovic et al., ICLR 2018.

    .. math:: h_i' = \sum_{j \in N(i) \cup i} \alpha_{ij} W h_j, \quad
              \alpha_{ij} \propto w_{ij} \exp \operatorname{LeakyReLU}(a^T [W h_i, W h_j])
    """
    csr = adj.csr
    h = lin(x)
    sender = (h * att_src[0]).sum(-1)
    receiver = (h * att_dst[0]).sum(-1)
    loop = _activate(sender + receiver)
    edge = _activate(sender.index_select(0, csr.col) + receiver.index_select(0, csr.row))
    # The largest logit of each row, for a softmax that cannot overflow.
    top = torch.maximum(Segments(csr.indptr).max(edge), loop.detach())
    edge = (edge - top.index_select(0, csr.row)).exp()
    if adj.weight is not None:
        edge = edge * adj.weight
    loop = (loop - top).exp().unsqueeze(1)
    # One product gives the weighted sum and, in a last column of ones, the denominator.
    both = adj.gather(torch.cat([h, torch.ones_like(loop)], dim=1), edge)
    out: Tensor = (both[:, :-1] + loop * h) / (both[:, -1:] + loop)
    return out + bias


def as_channels(attr: Tensor, channels: int) -> Tensor:
    """Edge features as ``[num_edges, channels]``: codes one-hot, floats as they are.

    A code beyond the training set's counts as the last one.
    """
    if attr.is_floating_point():
        return attr.unsqueeze(1) if attr.dim() == 1 else attr
    codes = attr.flatten().long().clamp(max=channels - 1)
    return nn.functional.one_hot(codes, channels).to(torch.get_default_dtype())


def gine(x: Tensor, adj: Adjacency, mlp: nn.Module, eps: Tensor, lin: nn.Linear) -> Tensor:
    r"""Graph isomorphism layer that reads edge features, Hu et al., ICLR 2020.

    .. math:: h_i' = \operatorname{MLP}\bigl((1 + \epsilon) h_i +
              \textstyle\sum_{j \in N(i)} w_{ij} \operatorname{ReLU}(h_j + W e_{ij})\bigr)
    """
    sent = (x.index_select(0, adj.csr.col) + lin(_edge_attr(adj, lin))).relu()
    heard = Segments(adj.csr.indptr).sum(sent, adj.edge_weight)
    out: Tensor = mlp((1 + eps) * x + heard)
    return out


def edge_gat(
    x: Tensor,
    adj: Adjacency,
    lin: nn.Module,
    lin_edge: nn.Linear,
    att_src: Tensor,
    att_dst: Tensor,
    att_edge: Tensor,
    bias: Tensor,
) -> Tensor:
    r"""Graph attention whose logits read edge features, :math:`a^T [W h_i, W h_j, V e_{ij}]`.

    A node's message to itself counts the mean of the features of its edges, as in PyG.
    """
    csr, weight = adj.csr, adj.edge_weight
    rows = Segments(csr.indptr)
    said = (lin_edge(_edge_attr(adj, lin_edge)) * att_edge[0]).sum(-1)
    amount = adj.degree.to(said.dtype).squeeze(1)
    around = rows.sum(said.unsqueeze(1), weight).squeeze(1) / torch.where(amount > 0, amount, 1.0)
    h = lin(x)
    sender, receiver = (h * att_src[0]).sum(-1), (h * att_dst[0]).sum(-1)
    loop = _activate(sender + receiver + around)
    edge = _activate(sender.index_select(0, csr.col) + receiver.index_select(0, csr.row) + said)
    top = torch.maximum(rows.max(edge), loop.detach())
    edge = (edge - top.index_select(0, csr.row)).exp()
    edge = edge if weight is None else edge * weight
    loop = (loop - top).exp().unsqueeze(1)
    heard = rows.sum(torch.cat([h, torch.ones_like(loop)], 1).index_select(0, csr.col), edge)
    out: Tensor = (heard[:, :-1] + loop * h) / (heard[:, -1:] + loop)
    return out + bias


def _edge_attr(adj: Adjacency, lin: nn.Linear) -> Tensor:
    if adj.edge_attr is None:
        raise InputError("this encoder reads edge features, but the graphs carry none")
    return as_channels(adj.edge_attr, lin.in_features)


def _activate(logits: Tensor) -> Tensor:
    return nn.functional.leaky_relu(logits, SLOPE)


# PyG's layers initialize their parts, then themselves, and with them the parts once more. So do
# these, so that one seed gives the same weights.


class GCN(nn.Module):
    """A layer that computes :func:`gcn`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return gcn(x, adj, self.lin, self.bias)


class SAGE(nn.Module):
    """A layer that computes :func:`sage`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin_l = nn.Linear(inputs, outputs)
        self.lin_r = nn.Linear(inputs, outputs, bias=False)
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return sage(x, adj, self.lin_l, self.lin_r)


class GIN(nn.Module):
    """A layer that computes :func:`gin`, with an MLP of two layers that ends in a batch norm."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        first, second = nn.Linear(inputs, outputs), nn.Linear(outputs, outputs)
        parts = (first, nn.ReLU(), second, nn.ReLU(), BatchNorm(outputs))
        self.nn: nn.Module = nn.Sequential(*parts)
        first.reset_parameters()
        second.reset_parameters()

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return gin(x, adj, self.nn, self.eps)


class GAT(nn.Module):
    """A layer that computes :func:`gat`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, 1, outputs))
        self.att_dst = nn.Parameter(torch.empty(1, 1, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        for weight in (self.lin.weight, self.att_src.detach()[0], self.att_dst.detach()[0]):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return gat(x, adj, self.lin, self.att_src, self.att_dst, self.bias)


class GINE(nn.Module):
    """A layer that computes :func:`gine`, with the MLP of :class:`GIN`."""

    def __init__(self, inputs: int, outputs: int, edge_channels: int) -> None:
        super().__init__()
        plain = GIN(inputs, outputs)
        self.eps, self.nn = plain.eps, plain.nn
        self.lin = nn.Linear(edge_channels, inputs)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return gine(x, adj, self.nn, self.eps, self.lin)


class SkipGINE(GINE):
    """A layer that computes :func:`gine` with one linear map in the place of the MLP.

    The stack around it adds the start and the ReLU; see :class:`vgib.nn.encoder.Encoder`.
    """

    def __init__(self, inputs: int, outputs: int, edge_channels: int) -> None:
        nn.Module.__init__(self)
        self.eps = nn.Parameter(torch.zeros(1))
        self.nn = nn.Linear(inputs, outputs)
        self.lin = nn.Linear(edge_channels, inputs)


class EdgeGAT(nn.Module):
    """A layer that computes :func:`edge_gat`."""

    def __init__(self, inputs: int, outputs: int, edge_channels: int) -> None:
        super().__init__()
        plain = GAT(inputs, outputs)
        self.lin, self.bias = plain.lin, plain.bias
        self.att_src, self.att_dst = plain.att_src, plain.att_dst
        self.lin_edge = nn.Linear(edge_channels, outputs, bias=False)
        self.att_edge = nn.Parameter(torch.empty(1, 1, outputs))
        for weight in (self.lin_edge.weight, self.att_edge.detach()[0]):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        return edge_gat(
            x, adj, self.lin, self.lin_edge, self.att_src, self.att_dst, self.att_edge, self.bias
        )


class BatchNorm(nn.BatchNorm1d):
    """Batch norm that takes a batch of one node as it comes, with the running statistics."""

    def forward(self, x: Tensor) -> Tensor:
        """``[num_nodes, channels] -> [num_nodes, channels]``."""
        if x.shape[0] > 1 or not self.training:
            return super().forward(x)
        return nn.functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "gat": GAT,
    "gcn": GCN,
    "gin": GIN,
    "sage": SAGE,
}

EDGE_LAYERS: dict[str, Callable[[int, int, int], nn.Module]] = {
    "gat-edge": EdgeGAT,
    "gine": GINE,
    "gine-skip": SkipGINE,
}
"""Layers that read edge features, by the channels of inputs, outputs and edges."""
