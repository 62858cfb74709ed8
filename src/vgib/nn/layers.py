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


# PyG's layers initialize their parts, then themselves, and with them the parts once more. So do
# these, so that one seed gives the same weights.


class GCN(nn.Module):
    r"""Graph convolution, Kipf and Welling, ICLR 2017.

    .. math:: H' = \hat D^{-1/2} (A + I) \hat D^{-1/2} H W

    Note:
        The paper's formula has :math:`A`; the field, and the authors' program, use :math:`A + I`.
        With edge weights, :math:`\hat d_i = 1 + \sum_j w_{ij}`: at weights of 0 and 1 this is
        exactly the convolution on the subgraph that is left.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        scale = adj.gcn_scale(x.dtype)
        h = scale * self.lin(x)
        return torch.addcmul(self.bias, scale, adj @ h + h)


class SAGE(nn.Module):
    r"""GraphSAGE with mean aggregation, Hamilton, Ying and Leskovec, NeurIPS 2017.

    .. math:: h_i' = W_r h_i + W_l \operatorname{mean}_{j \in N(i)} h_j
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin_l = nn.Linear(inputs, outputs)
        self.lin_r = nn.Linear(inputs, outputs, bias=False)
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        degree = adj.degree.to(x.dtype)
        neighbors = (adj @ x) / torch.where(degree > 0, degree, 1.0)
        out: Tensor = self.lin_l(neighbors) + self.lin_r(x)
        return out


class GIN(nn.Module):
    r"""Graph isomorphism layer, Xu et al., ICLR 2019.

    .. math:: h_i' = \operatorname{MLP}\bigl((1 + \epsilon) h_i +
              \textstyle\sum_{j \in N(i)} h_j\bigr)

    The MLP has two layers and ends in a batch norm.
    """

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
        out: Tensor = self.nn((1 + self.eps) * x + adj @ x)
        return out


class GAT(nn.Module):
    r"""Graph attention with one head, Velickovic et al., ICLR 2018.

    .. math:: h_i' = \sum_{j \in N(i) \cup i} \alpha_{ij} W h_j, \quad
              \alpha_{ij} \propto w_{ij} \exp \operatorname{LeakyReLU}(a^T [W h_i, W h_j])
    """

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
        h = self.lin(x)
        sender, receiver = (h * self.att_src[0]).sum(-1), (h * self.att_dst[0]).sum(-1)
        loop = _activate(sender + receiver)
        edge = _activate(_at_ends(sender, receiver, adj))
        edge, loop = _exponentials(edge, loop, adj)
        if adj.weight is not None:
            edge = edge * adj.weight
        # One product gives the weighted sum and, in a last column of ones, the denominator.
        both = adj.gather(torch.cat([h, torch.ones_like(loop)], dim=1), edge)
        out: Tensor = (both[:, :-1] + loop * h) / (both[:, -1:] + loop)
        return out + self.bias


class GINE(nn.Module):
    r"""Graph isomorphism layer that reads edge features, Hu et al., ICLR 2020.

    .. math:: h_i' = \operatorname{MLP}\bigl((1 + \epsilon) h_i +
              \textstyle\sum_{j \in N(i)} w_{ij} \operatorname{ReLU}(h_j + W e_{ij})\bigr)

    The MLP is that of :class:`GIN`.
    """

    def __init__(self, inputs: int, outputs: int, edge_channels: int) -> None:
        super().__init__()
        plain = GIN(inputs, outputs)
        self.eps, self.nn = plain.eps, plain.nn
        self.lin = nn.Linear(edge_channels, inputs)

    def forward(self, x: Tensor, adj: Adjacency) -> Tensor:
        """``[num_nodes, inputs] -> [num_nodes, outputs]``."""
        sent = (x.index_select(0, adj.csr.col) + self.lin(_edge_attr(adj, self.lin))).relu()
        heard = Segments(adj.csr.indptr).sum(sent, adj.edge_weight)
        out: Tensor = self.nn((1 + self.eps) * x + heard)
        return out


class SkipGINE(GINE):
    """:class:`GINE` with one linear map in the place of the MLP.

    The stack around it adds the start and the ReLU; see :class:`vgib.nn.encoder.Encoder`.
    """

    def __init__(self, inputs: int, outputs: int, edge_channels: int) -> None:
        nn.Module.__init__(self)
        self.eps = nn.Parameter(torch.zeros(1))
        self.nn = nn.Linear(inputs, outputs)
        self.lin = nn.Linear(edge_channels, inputs)


class EdgeGAT(nn.Module):
    r"""Graph attention whose logits read edge features, :math:`a^T [W h_i, W h_j, V e_{ij}]`.

    A node's message to itself counts the mean of the features of its edges, as in PyG.
    """

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
        weight, rows = adj.edge_weight, Segments(adj.csr.indptr)
        said = (self.lin_edge(_edge_attr(adj, self.lin_edge)) * self.att_edge[0]).sum(-1)
        amount = adj.degree.to(said.dtype).squeeze(1)
        total = rows.sum(said.unsqueeze(1), weight).squeeze(1)
        around = total / torch.where(amount > 0, amount, 1.0)
        h = self.lin(x)
        sender, receiver = (h * self.att_src[0]).sum(-1), (h * self.att_dst[0]).sum(-1)
        loop = _activate(sender + receiver + around)
        edge = _activate(_at_ends(sender, receiver, adj) + said)
        edge, loop = _exponentials(edge, loop, adj)
        edge = edge if weight is None else edge * weight
        sent = torch.cat([h, torch.ones_like(loop)], dim=1).index_select(0, adj.csr.col)
        heard = rows.sum(sent, edge)
        out: Tensor = (heard[:, :-1] + loop * h) / (heard[:, -1:] + loop)
        return out + self.bias


def _at_ends(sender: Tensor, receiver: Tensor, adj: Adjacency) -> Tensor:
    """The sum of what the two ends of each edge say, ``[num_nodes]`` twice ``-> [num_edges]``."""
    return sender.index_select(0, adj.csr.col) + receiver.index_select(0, adj.csr.row)


def _activate(logits: Tensor) -> Tensor:
    return nn.functional.leaky_relu(logits, SLOPE)


def _exponentials(edge: Tensor, loop: Tensor, adj: Adjacency) -> tuple[Tensor, Tensor]:
    """The terms of each node's softmax, ``[num_edges]`` and of its own message ``[num_nodes, 1]``.

    The largest logit of each row is taken off first, so that none overflows.
    """
    top = torch.maximum(Segments(adj.csr.indptr).max(edge), loop.detach())
    edge = (edge - top.index_select(0, adj.csr.row)).exp()
    return edge, (loop - top).exp().unsqueeze(1)


def _edge_attr(adj: Adjacency, lin: nn.Linear) -> Tensor:
    if adj.edge_attr is None:
        raise InputError("this encoder reads edge features, but the graphs carry none")
    return as_channels(adj.edge_attr, lin.in_features)


def as_channels(attr: Tensor, channels: int) -> Tensor:
    """Edge features as ``[num_edges, channels]``: codes one-hot, floats as they are.

    A code beyond the training set's counts as the last one.
    """
    if attr.is_floating_point():
        return attr.unsqueeze(1) if attr.dim() == 1 else attr
    codes = attr.flatten().long().clamp(max=channels - 1)
    return nn.functional.one_hot(codes, channels).to(torch.get_default_dtype())


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
