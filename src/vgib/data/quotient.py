"""Graphs in which nodes that no message passing can tell apart are one node that counts for all.

Two nodes with the same features and the same number of neighbors of every kind, kinds being told
apart in the same way, have the same representation after any number of layers: the classes of
color refinement (Weisfeiler and Leman). Computed once for each class, a layer of a social network
costs a fraction: COLLAB's 24.6 million directed edges are 3.5 million links between classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from vgib.data.packed import PER_EDGE, PER_NODE, Batch, PackedGraphs
from vgib.errors import InputError
from vgib.nn.sparse import EveryNode, Segments

WORTHWHILE = 0.5
"""A quotient is used where it has at most this share of the edges."""


@dataclass(frozen=True, eq=False, repr=False)
class QuotientGraphs(PackedGraphs):
    r"""Packed graphs whose nodes stand for classes of equal nodes.

    .. math:: (M x)_c = \sum_d \text{links}_{cd}\, x_d, \qquad
              \text{copies}_c \, \text{links}_{cd} = \text{copies}_d \, \text{links}_{dc}

    Layers, readouts and losses on them are those of the graphs themselves, values and gradients. A
    class may be linked to itself. They are for training; nodes are asked for on the graphs.

    Attributes:
        copies: ``int64 [nodes]``; how many nodes each one stands for.
        links: ``float32 [edges]``; how many neighbors of the sender's class a receiver has.
        every: The graphs themselves, :func:`in_order_of_classes`, for a bottleneck that makes equal
            nodes differ. They stay behind on disk, and parts of a quotient go without.
    """

    copies: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    links: Tensor = field(default_factory=lambda: torch.zeros(0))
    every: PackedGraphs | None = None

    per_node: ClassVar[tuple[str, ...]] = (*PER_NODE, "copies")
    per_edge: ClassVar[tuple[str, ...]] = (*PER_EDGE, "links")

    @property
    def counts(self) -> Tensor:
        """How many nodes each one stands for."""
        return self.copies

    @cached_property
    def is_undirected(self) -> bool:
        """As the graphs were."""
        return True

    def __getitem__(self, index: Any) -> Any:
        """Some of the graphs."""
        return replace(super().__getitem__(index), every=None)

    def to_data(self, number: int) -> Data:
        """Refused, as is every other way to look at a single node."""
        raise InputError("a quotient has lost the nodes of its graphs; ask the graphs themselves")

    def induced(self, mask: Tensor) -> PackedGraphs:
        """Likewise."""
        raise InputError("a quotient has no subgraphs; ask the graphs themselves")

    @classmethod
    def concat(cls, parts: Sequence[PackedGraphs]) -> PackedGraphs:
        """Likewise."""
        raise InputError("join the graphs first and take the quotient then")

    def _complete(
        self, batch: Batch, nodes: npt.NDArray[np.int64], edges: npt.NDArray[np.int64]
    ) -> None:
        """Tells the layers and the readout how much each node counts."""
        copies = torch.from_numpy(self.copies.numpy().take(nodes))
        ptr = torch.zeros(len(nodes) + 1, dtype=torch.int32)
        ptr[1:] = copies.cumsum(0)
        device = batch.x.device
        batch.graphs.copies = Segments(ptr.to(device))
        if (nodes_themselves := self.every) is not None:

            def every_node() -> EveryNode:
                found = nodes_themselves.batch(batch.index, device=device)
                return EveryNode(found.x, found.adj, found.graphs)

            batch.graphs.every = every_node
        csr = batch.adj.csr
        csr.links = torch.from_numpy(self.links.numpy().take(edges)).to(device)
        csr.copies = batch.graphs.copies.sizes
        back = torch.from_numpy(self._links_back.take(edges)).to(device)
        csr.transpose = replace(csr, links=back)
        csr.transpose.transpose = csr

    @cached_property
    def _links_back(self) -> npt.NDArray[np.float32]:
        """The links of each edge's reverse: as many copies, shared among the others' copies."""
        receivers = self.copies.repeat_interleave(self.indptr.diff())
        back = self.links * receivers / self.copies[self.senders()]
        return back.float().numpy()


def quotient(graphs: PackedGraphs) -> QuotientGraphs:
    """One node for each class of equal nodes of a graph.

    Raises:
        InputError: an edge lacks its reverse, or edges have features, which layers may look at.
    """
    if graphs.edge_attr is not None or not graphs.is_undirected:
        raise InputError("a quotient needs undirected graphs without edge features")
    flat = _Edges.of(graphs)
    node_class = classes(graphs, flat)
    _, first, copies = np.unique(node_class, return_index=True, return_counts=True)
    # The links of a class are those of its first node, counted by the class at the other end.
    degree = flat.degree[first]
    receiver = np.repeat(np.arange(len(first)), degree)
    start = flat.indptr[first] - np.append(0, degree.cumsum()[:-1])
    sender = node_class[flat.sender[np.arange(len(receiver)) + np.repeat(start, degree)]]
    pairs, links = np.unique(receiver * len(first) + sender, return_counts=True)
    receiver, sender = np.divmod(pairs, max(len(first), 1))
    node_ptr = np.searchsorted(first, graphs.node_ptr.numpy())
    offset = np.repeat(node_ptr[:-1], np.diff(node_ptr))
    indptr = np.append(0, np.bincount(receiver, minlength=len(first)).cumsum())
    return QuotientGraphs(
        x=graphs.x[torch.from_numpy(first)],
        node_ptr=torch.from_numpy(node_ptr),
        indptr=torch.from_numpy(indptr),
        col=torch.from_numpy(sender - offset[receiver]).int(),
        y=graphs.y,
        ids=graphs.ids,
        cardinalities=graphs.cardinalities,
        copies=torch.from_numpy(copies),
        links=torch.from_numpy(links).float(),
    )


def in_order_of_classes(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs, their nodes numbered so that those of a class follow each other.

    The classes stand in the order of the :func:`quotient`'s nodes.
    """
    flat = _Edges.of(graphs)
    order = np.argsort(classes(graphs, flat), kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    receiver = np.repeat(number, flat.degree)
    return PackedGraphs.from_edges(
        graphs.x[torch.from_numpy(order)],
        torch.from_numpy(np.stack([number[flat.sender], receiver])),
        graphs.node_ptr,
        y=graphs.y,
        ids=graphs.ids,
        cardinalities=graphs.cardinalities,
    )


@dataclass(frozen=True)
class _Edges:
    """The edges of all graphs, by receiver."""

    sender: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    degree: npt.NDArray[np.int64]

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "_Edges":
        indptr = graphs.indptr.numpy()
        return cls(graphs.senders().numpy(), indptr, np.diff(indptr))


def classes(graphs: PackedGraphs, edges: _Edges) -> npt.NDArray[np.int64]:
    """The class of each node, ``int64 [nodes]``, numbered in the order of their first nodes.

    The classes of a graph stand together then.
    """
    color = refined(graphs, edges)
    _, first = np.unique(color, return_index=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[color]


def refined(graphs: PackedGraphs, edges: _Edges) -> npt.NDArray[np.int64]:
    """The class of each node: the coarsest classes that color refinement arrives at.

    The multiset of the neighbors' classes is told by the sum of random 64-bit numbers, one for
    each class: two different ones agree with a probability of 2^-64.
    """
    x = graphs.x.numpy()
    # One column sorts many times faster as plain numbers.
    rows = x[:, 0] if x.shape[1] == 1 else x
    _, feature = np.unique(rows, axis=0, return_inverse=True)
    graph = np.repeat(np.arange(len(graphs)), graphs.sizes.numpy())
    _, color = np.unique(graph * (feature.max(initial=0) + 1) + feature, return_inverse=True)
    random = np.random.default_rng(0)
    classes = 0
    while classes < (found := int(color.max(initial=-1)) + 1):
        classes = found
        own, sent = random.integers(2**63, size=(2, classes), dtype=np.uint64)
        # A last zero for the nodes without neighbors at the end; the others are set to zero.
        heard = np.append(sent[color][edges.sender], np.uint64(0))
        received = np.add.reduceat(heard, edges.indptr[:-1]) if len(graph) else heard[:0]
        received[edges.degree == 0] = 0
        _, color = np.unique(own[color] + received, return_inverse=True)
    return color.astype(np.int64)


def quotient_if_worthwhile(
    graphs: PackedGraphs, cache: Path, *, every_node: bool = False
) -> PackedGraphs:
    """The quotient where it saves half of the edges, from a copy on disk if there is one.

    With ``every_node`` it knows the graphs themselves too.
    """
    if graphs.edge_attr is not None:
        return graphs
    path = cache / "quotients" / f"{graphs.fingerprint()[:32]}.safetensors"
    if not path.is_file() and not graphs.is_undirected:
        return graphs
    otherwise = "the next load computes it again"
    found = QuotientGraphs.load_or_make(path, lambda: quotient(graphs), otherwise)
    if found.num_edges > WORTHWHILE * graphs.num_edges:
        return graphs
    if not every_node:
        return found
    path = path.with_suffix(".nodes.safetensors")
    every = PackedGraphs.load_or_make(path, lambda: in_order_of_classes(graphs), otherwise)
    return replace(found, every=every)
