"""Sparse products over a batch of graphs: the two operations that everything else is made of.

A batch of graphs is one block-diagonal graph. Its edges are the rows of a CSR matrix (row *i* holds
the senders of the messages to node *i*), and "node *j* belongs to graph *g*" is a CSR matrix too.
Aggregation and readout are then the same sparse product, several times faster on a CPU than
gathering and scattering messages, and its backward pass is again such a product. Indices are of 32
bits, which the vendor kernels take as they are; of 64 bits they make copies first.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from vgib.errors import InputError

with warnings.catch_warnings():
    # torch announces once per process that CSR tensors are in beta; say it here, to nobody.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)

HAS_MKL: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]


@dataclass(eq=False)
class Csr:
    """The positions of the non-zeros of a sparse matrix.

    ``indptr`` is ``int32 [rows + 1]``, ``col`` is ``int32 [nonzeros]``. Weights, when there are
    any, travel beside it, so that they can carry a gradient.

    Attributes:
        symmetric: Whether the transpose is the same matrix.
        flip: Gives ``to_transpose``, for whoever knows it without sorting.
        picks: Whether each row holds exactly one non-zero: the product picks rows.
    """

    indptr: Tensor
    col: Tensor
    num_cols: int
    symmetric: bool = False
    flip: Callable[[], Tensor] | None = None
    picks: bool = False

    @property
    def num_rows(self) -> int:
        return self.indptr.numel() - 1

    @cached_property
    def counts(self) -> Tensor:
        """How many non-zeros each row holds, ``[rows]``."""
        return self.indptr.diff()

    @cached_property
    def row(self) -> Tensor:
        """The row of each non-zero, ``int32 [nonzeros]``."""
        rows = torch.arange(self.num_rows, dtype=torch.int32, device=self.col.device)
        return rows.repeat_interleave(self.counts, output_size=self.col.numel())

    @cached_property
    def to_transpose(self) -> Tensor:
        """For each non-zero of the transpose, in its own CSR order, its position here."""
        return torch.sort(self.col, stable=True).indices if self.flip is None else self.flip()

    @cached_property
    def transpose(self) -> "Csr":
        """The positions of the transposed matrix (itself, when symmetric)."""
        if self.symmetric:
            return self
        counts = torch.bincount(self.col, minlength=self.num_cols)
        indptr = torch.zeros(self.num_cols + 1, dtype=torch.int32, device=self.col.device)
        indptr[1:] = counts.cumsum(0)
        rows = self.row.index_select(0, self.to_transpose)
        return Csr(indptr, rows, self.num_rows)

    @cached_property
    def _ones(self) -> dict[torch.dtype, Tensor]:
        return {}

    def matrix(self, values: Tensor | None, dtype: torch.dtype) -> Tensor:
        """The torch CSR tensor with these values, or (made once) with ones."""
        if values is None:
            if dtype not in self._ones:
                ones = torch.ones(self.col.numel(), dtype=dtype, device=self.col.device)
                self._ones[dtype] = self.matrix(ones, dtype)
            return self._ones[dtype]
        return torch.sparse_csr_tensor(
            self.indptr, self.col, values, (self.num_rows, self.num_cols), check_invariants=False
        )

    def times(self, x: Tensor, values: Tensor | None = None) -> Tensor:
        """The product with a dense matrix; no gradient."""
        if self.picks:
            picked = x.index_select(0, self.col)
            return picked if values is None else picked.mul_(values.to(x).unsqueeze(1))
        matrix = self.matrix(values, x.dtype)
        if not (HAS_MKL and x.is_cpu):
            return matrix @ x
        # What `@` would fill with zeros and copy first is only written here.
        out = x.new_empty(self.num_rows, x.shape[1])
        return torch.addmm(out, matrix, x, beta=0, out=out)


def product(matrix: Csr, x: Tensor, weight: Tensor | None = None) -> Tensor:
    r"""The sparse product, differentiable in both arguments.

    .. math:: y_i = \sum_{j \in \text{row}(i)} w_{ij} x_j

    ``x`` is ``[columns, channels]``, ``weight`` is ``[nonzeros]`` (all 1 when ``None``).
    """
    if not torch.is_grad_enabled():
        return matrix.times(x, weight)
    result: Tensor = _Product.apply(x, weight, matrix)  # type: ignore[no-untyped-call]
    return result


def edge_dot(matrix: Csr, a: Tensor, b: Tensor) -> Tensor:
    """The inner product ``a[i] . b[j]`` at each non-zero ``(i, j)``, without gathering rows."""
    result: Tensor = _EdgeDot.apply(a, b, matrix)  # type: ignore[no-untyped-call]
    return result


class _Product(torch.autograd.Function):
    """``product``; its adjoint is a product with the transpose and an ``edge_dot``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, matrix: Csr) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(x, weight)
        return matrix.times(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        matrix: Csr = ctx.matrix
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0] and weight is not None:
            flipped = weight.index_select(0, matrix.to_transpose)
            grad_x = product(matrix.transpose, grad, flipped)
        elif ctx.needs_input_grad[0]:
            grad_x = product(matrix.transpose, grad)
        if ctx.needs_input_grad[1]:
            grad_weight = edge_dot(matrix, grad, x)
        return grad_x, grad_weight, None


class _EdgeDot(torch.autograd.Function):
    """``edge_dot``; its adjoints are products with the matrix and with its transpose."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, matrix: Csr) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(a, b)
        if matrix.col.numel() == 0 or not (a.is_cuda or HAS_MKL):
            return (a.index_select(0, matrix.row) * b.index_select(0, matrix.col)).sum(-1)
        zeros = matrix.matrix(a.new_zeros(matrix.col.numel()), a.dtype)
        sampled: Tensor = torch.sparse.sampled_addmm(zeros, a.contiguous(), b.t(), beta=0.0)
        return sampled.values()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        a, b = ctx.saved_tensors
        matrix: Csr = ctx.matrix
        flipped = grad.index_select(0, matrix.to_transpose)
        return product(matrix, b, grad), product(matrix.transpose, a, flipped), None


@dataclass(eq=False)
class Adjacency:
    """The edges of a batch of graphs, with an optional weight on each.

    It stands wherever PyG takes an ``edge_index``: our layers know it, and ``edge_index`` gives the
    plain tensor to every other one. ``weight`` is ``[num_edges]`` in CSR order. ``ends`` is
    ``[num_nodes]``: a weight that is the product of its two ends' factors is told by them, which
    costs nothing for each edge. ``attr`` gives the features of the edges, in the same order, to
    whoever asks for them.
    """

    csr: Csr
    weight: Tensor | None = None
    ends: Tensor | None = None
    attr: Callable[[], Tensor] | None = None

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        num_nodes: int,
        weight: Tensor | None = None,
        attr: Tensor | None = None,
    ) -> "Adjacency":
        """The adjacency of PyG's ``[2, num_edges]``, sender and receiver in any order, no loops.

        The layers that want a self-loop add their own.
        """
        sender, receiver = edge_index[0].long(), edge_index[1].long()
        key = receiver * num_nodes + sender
        proper = (sender != receiver).nonzero().squeeze(1)
        key, order = torch.sort(key[proper])
        order = proper[order]
        csr = Csr(
            indptr=_pointers(torch.bincount(receiver[order], minlength=num_nodes)),
            col=sender[order].int(),
            num_cols=num_nodes,
            symmetric=bool(torch.equal((sender * num_nodes + receiver)[order].sort().values, key)),
        )
        sorted_attr = None if attr is None else attr[order]
        return cls(
            csr,
            None if weight is None else weight[order],
            attr=None if sorted_attr is None else lambda: sorted_attr,
        )

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs together."""
        return self.csr.num_rows

    @property
    def num_edges(self) -> int:
        return self.csr.col.numel()

    @cached_property
    def edge_index(self) -> Tensor:
        """PyG's form, ``int64 [2, num_edges]``: senders, then receivers."""
        return torch.stack([self.csr.col, self.csr.row]).long()

    @cached_property
    def degree(self) -> Tensor:
        """The weight that each node receives, ``float [num_nodes, 1]``."""
        given = self.weight if self.ends is None else self.ends
        if given is None:
            return self.csr.counts.to(torch.get_default_dtype()).unsqueeze(1)
        return self @ given.new_ones(self.num_nodes, 1)

    def gcn_scale(self, dtype: torch.dtype) -> Tensor:
        r"""The normalization of a graph convolution, :math:`(1 + d_i)^{-1/2}`, computed once."""
        if dtype not in self._gcn_scales:
            self._gcn_scales[dtype] = (1 + self.degree.to(dtype)).rsqrt()
        return self._gcn_scales[dtype]

    @cached_property
    def _gcn_scales(self) -> dict[torch.dtype, Tensor]:
        return {}

    @cached_property
    def edge_weight(self) -> Tensor | None:
        """The weight of each edge, its ends included, ``[num_edges]``; ``None`` when all are 1."""
        if self.ends is None:
            return self.weight
        both = self.ends.index_select(0, self.csr.row) * self.ends.index_select(0, self.csr.col)
        return both if self.weight is None else both * self.weight

    @cached_property
    def edge_attr(self) -> Tensor | None:
        """The features of the edges, codes ``[num_edges]`` or floats ``[num_edges, channels]``."""
        return None if self.attr is None else self.attr()

    def with_weight(self, weight: Tensor) -> "Adjacency":
        """The same edges, weighted."""
        return Adjacency(self.csr, weight, attr=self.attr)

    def with_ends(self, ends: Tensor) -> "Adjacency":
        r"""The same edges, each weighted by both of its ends: :math:`w_{ij} = a_i a_j`."""
        return Adjacency(self.csr, self.weight, ends, self.attr)

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.gather(x, self.weight)

    def gather(self, x: Tensor, weight: Tensor | None) -> Tensor:
        r"""Weighted sums of what the neighbors send, :math:`a_i \sum_j w_{ij} a_j x_j`."""
        if self.ends is None:
            return product(self.csr, x, weight)
        ends = self.ends.unsqueeze(1)
        return ends * product(self.csr, ends * x, weight)


@dataclass(eq=False)
class Segments:
    """Which nodes belong to which graph; nodes of one graph stand together.

    ``ptr`` is ``int32 [num_graphs + 1]``: the nodes of graph *g* are ``ptr[g]:ptr[g + 1]``;
    ``graph_of_node`` is ``int32 [num_nodes]``, worked out when it is not given.
    """

    ptr: Tensor
    graph_of_node: Tensor | None = None

    @classmethod
    def from_batch(cls, batch: Tensor, num_graphs: int | None = None) -> "Segments":
        """The graphs of PyG's sorted ``batch`` vector."""
        if (batch.diff() < 0).any():
            raise InputError("the batch vector must be sorted: the nodes of a graph stand together")
        known = num_graphs if num_graphs is not None else int(batch.max()) + 1 if len(batch) else 0
        return cls(_pointers(torch.bincount(batch, minlength=known)))

    @property
    def num_graphs(self) -> int:
        return self.ptr.numel() - 1

    @cached_property
    def sizes(self) -> Tensor:
        """The number of nodes of each graph, ``float [num_graphs, 1]``, at least one."""
        return self.ptr.diff().clamp(min=1).to(torch.get_default_dtype()).unsqueeze(1)

    @cached_property
    def batch(self) -> Tensor:
        """The graph of each node, ``int64 [num_nodes]``."""
        return self._members.row.long()

    @cached_property
    def _members(self) -> Csr:
        num_nodes = int(self.ptr[-1])
        nodes = torch.arange(num_nodes + 1, dtype=torch.int32, device=self.ptr.device)
        members = Csr(self.ptr, nodes[:-1], num_nodes)
        if self.graph_of_node is not None:
            members.row = self.graph_of_node
        members.to_transpose = members.col
        members.transpose = Csr(nodes, members.row, self.num_graphs, picks=True)
        members.transpose.to_transpose = members.col
        members.transpose.transpose = members
        return members

    def sum(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        """The (weighted) sum over each graph's nodes.

        ``x`` is ``[num_nodes, channels]``, ``weight`` is ``[num_nodes]``, the result is
        ``[num_graphs, channels]``.
        """
        return product(self._members, x, weight)

    def mean(self, x: Tensor) -> Tensor:
        """The mean over each graph's nodes."""
        return self.divide(self.sum(x))

    def divide(self, total: Tensor) -> Tensor:
        """Sums over nodes to means, ``[num_graphs, channels]``."""
        return total / self.sizes.to(total.dtype)

    def spread(self, per_graph: Tensor) -> Tensor:
        """Hands each node its graph's row, ``[num_graphs, channels] -> [num_nodes, channels]``."""
        return product(self._members.transpose, per_graph)

    def spread_or_broadcast(self, per_graph: Tensor) -> Tensor:
        """Hands each node its graph's row; a single row for all graphs stays one row."""
        return per_graph if per_graph.shape[0] == 1 else self.spread(per_graph)

    def max(self, values: Tensor) -> Tensor:
        """The largest of ``values`` (``[num_nodes]``) in each graph; no gradient."""
        return torch.segment_reduce(values.detach(), "max", offsets=self.ptr.long())


def _pointers(counts: Tensor) -> Tensor:
    """Counts to CSR pointers: ``[n] -> int32 [n + 1]``."""
    ptr = torch.zeros(counts.numel() + 1, dtype=torch.int32, device=counts.device)
    ptr[1:] = counts.cumsum(0)
    return ptr
