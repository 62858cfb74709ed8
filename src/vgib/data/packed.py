"""A whole dataset of graphs in a few flat tensors, and batches of it by index arithmetic."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.data.from_pyg import FURTHER, PER_EDGE, PER_GRAPH, PER_NODE, describe, fields_of
from vgib.data.packed_files import read_packed, write_packed
from vgib.data.ranges import offsets, pointers, ranges, select_ranges
from vgib.errors import FileFormatError, InputError, UnwritableError
from vgib.nn.sparse import Adjacency, Csr, Segments

if TYPE_CHECKING:
    # Imported where a `Data` is made: it takes longer than recognizing a molecule.
    from torch_geometric.data import Data

logger = logging.getLogger(__name__)

HALF = (torch.float16, torch.bfloat16)
"""Precisions that are read, but not computed in."""


@dataclass(eq=False)
class Batch:
    """Some graphs side by side as one block-diagonal graph."""

    x: Tensor
    adj: Adjacency
    graphs: Segments
    y: Tensor | None
    index: Tensor
    source: "PackedGraphs"
    nodes: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]

    @property
    def num_graphs(self) -> int:
        """The number of graphs."""
        return self.graphs.num_graphs

    @cached_property
    def named(self) -> dict[str, Tensor]:
        """What travels with the nodes, edges and graphs besides, by name."""
        source = self.source
        edge_attr = {} if source.edge_attr is None else {"edge_attr": source.edge_attr}
        parts = (
            (source.of_nodes, torch.from_numpy(self.nodes)),
            (edge_attr | source.of_edges, torch.from_numpy(self.edges)),
            (source.of_graphs, self.index),
        )
        return {
            name: values[where].to(self.x.device)
            for group, where in parts
            for name, values in group.items()
        }


@dataclass(frozen=True, eq=False)
class PackedGraphs:
    """Graphs as flat tensors: no Python object for each graph, so a batch costs index arithmetic.

    Attributes:
        x: Node features, ``float [nodes, channels]``, or integer codes ``[nodes, columns]``.
        node_ptr: ``int64 [graphs + 1]``; graph *g* owns nodes ``node_ptr[g]:node_ptr[g + 1]``.
        indptr: ``int64 [nodes + 1]``; CSR pointers, row *i* holds the senders to node *i*.
        col: ``int32 [edges]``; the sender, numbered within its graph, ascending in each row.
        y: One class (``int64``) or one or several values (``float``) for each graph.
        ids: A name or SMILES for each graph.
        node_truth: ``bool [nodes]``, whether a node belongs to the known explanation.
        edge_truth: ``bool [edges]``, whether an edge does.
        edge_attr: ``[edges]`` or ``[edges, channels]``.
        cardinalities: How many codes each integer column has; ``None`` for float features.
        of_nodes: Further tensors by name, one row for each node, such as positions.
        of_edges: Further tensors by name, one row for each edge, such as weights.
        of_graphs: Further tensors by name, one row for each graph.
    """

    x: Tensor
    node_ptr: Tensor
    indptr: Tensor
    col: Tensor
    y: Tensor | None = None
    ids: tuple[str, ...] | None = None
    node_truth: Tensor | None = None
    edge_truth: Tensor | None = None
    edge_attr: Tensor | None = None
    cardinalities: tuple[int, ...] | None = None
    of_nodes: dict[str, Tensor] = field(default_factory=dict)
    of_edges: dict[str, Tensor] = field(default_factory=dict)
    of_graphs: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def from_edges(
        cls,
        x: Tensor,
        edge_index: Tensor,
        node_ptr: Tensor,
        *,
        edge_attr: Tensor | None = None,
        edge_truth: Tensor | None = None,
        of_edges: dict[str, Tensor] | None = None,
        every_edge: bool = False,
        **rest: Any,
    ) -> "PackedGraphs":
        """From edges ``[2, edges]`` (sender, receiver) over all nodes, in any order.

        Of duplicate edges the first stays; self-loops go, since the layers add their own: unless
        ``every_edge`` is wanted, for a model that may see a difference. Values in half precision
        become single, without which neither numpy nor sparse products can be had.
        """
        num_nodes = x.shape[0]
        sender, receiver = edge_index[0].long(), edge_index[1].long()
        key = receiver * num_nodes + sender
        if every_edge:
            kept = torch.sort(key, stable=True).indices
        else:
            proper = (sender != receiver).nonzero().squeeze(1)
            key, order = torch.sort(key[proper], stable=True)
            first = torch.ones_like(key, dtype=torch.bool)
            first[1:] = key[1:] != key[:-1]
            kept = proper[order][first]
        sender, receiver = sender[kept], receiver[kept]
        graph = torch.searchsorted(node_ptr, sender, right=True) - 1
        if not torch.equal(graph, torch.searchsorted(node_ptr, receiver, right=True) - 1):
            raise InputError("an edge joins nodes of two graphs; check node_ptr and edge_index")
        indptr = torch.zeros(num_nodes + 1, dtype=torch.int64)
        indptr[1:] = torch.bincount(receiver, minlength=num_nodes).cumsum(0)
        for group in ("of_nodes", "of_graphs"):
            rest[group] = {name: _single(values) for name, values in rest.get(group, {}).items()}
        return cls(
            x=_single(x),
            node_ptr=node_ptr.long(),
            indptr=indptr,
            col=(sender - node_ptr[graph]).int(),
            edge_attr=None if edge_attr is None else _single(edge_attr[kept]),
            edge_truth=None if edge_truth is None else edge_truth[kept],
            of_edges={name: _single(values[kept]) for name, values in (of_edges or {}).items()},
            **rest,
        )

    @classmethod
    def from_data(cls, graphs: Iterable["Data"], *, as_is: bool = False) -> "PackedGraphs":
        """From PyG ``Data`` objects: any iterable, list or dataset of them.

        Integer ``x`` is read as codes, float ``x`` as it is. ``y``, ``edge_attr``, ``node_truth``,
        ``edge_truth`` and a textual ``id`` come along when every graph has them.

        Args:
            graphs: The graphs.
            as_is: Whether every edge stays, and every further tensor of nodes, edges and graphs
                comes along, for a model that may read them; labels do not.
        """
        return cls.from_edges(**fields_of(list(graphs), as_is=as_is), every_edge=as_is)

    def __len__(self) -> int:
        return self.node_ptr.numel() - 1

    def __iter__(self) -> Iterator["Data"]:
        return (self.to_data(number) for number in range(len(self)))

    def __repr__(self) -> str:
        target = "" if self.y is None else f", y={describe(self.y)}"
        return (
            f"PackedGraphs({len(self)} graphs, {self.num_nodes} nodes, "
            f"{self.num_edges} directed edges, x={describe(self.x)}{target})"
        )

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all graphs."""
        return self.x.shape[0]

    @property
    def num_edges(self) -> int:
        """The number of directed edges of all graphs."""
        return self.col.numel()

    @property
    def labels(self) -> Tensor:
        """``y`` of graphs that are known to have it."""
        assert self.y is not None
        return self.y

    @property
    def smiles(self) -> tuple[str, ...]:
        """``ids`` of graphs that are known to be molecules."""
        assert self.ids is not None
        return self.ids

    @cached_property
    def sizes(self) -> Tensor:
        """The number of nodes of each graph, ``int64 [graphs]``."""
        return self.node_ptr.diff()

    @cached_property
    def edge_ptr(self) -> Tensor:
        """``int64 [graphs + 1]``; the edges of graph *g* are ``edge_ptr[g]:edge_ptr[g + 1]``."""
        return self.indptr[self.node_ptr]

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge has its reverse, which makes products cheaper."""
        sender = self.senders()
        receiver = torch.arange(self.num_nodes).repeat_interleave(self._degree)
        # Rows are sorted, so (receiver, sender) ascends; symmetric means: sorting by sender first
        # gives the same list with the two exchanged.
        order = self._by_sender()
        return torch.equal(sender[order], receiver) and torch.equal(receiver[order], sender)

    def senders(self) -> Tensor:
        """The sender of each edge, numbered over all graphs, ``int64 [edges]``."""
        return self.col + self.node_ptr[:-1].repeat_interleave(self.edge_ptr.diff())

    def _by_sender(self) -> Tensor:
        """The edges sorted by sender, then by receiver."""
        return torch.sort(self.senders(), stable=True).indices

    @overload
    def __getitem__(self, index: int) -> "Data": ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | Tensor | np.ndarray) -> "PackedGraphs": ...
    def __getitem__(self, index: Any) -> "Data | PackedGraphs":
        """``graphs[3]`` is one PyG ``Data``; a slice, mask or list gives a smaller set."""
        if isinstance(index, int | np.integer):
            return self.to_data(int(index))
        wanted = self._resolve(index)
        node_ptr, nodes = select_ranges(self.node_ptr, wanted)
        _, edges = select_ranges(self.edge_ptr, wanted)
        return replace(
            self,
            node_ptr=node_ptr,
            indptr=pointers(self._degree[nodes]),
            col=self.col[edges],
            **self._taken(nodes, edges, wanted),
        )

    def _taken(
        self, nodes: Tensor | slice, edges: Tensor | slice, graphs: Tensor
    ) -> dict[str, Any]:
        """Every field but the edges themselves, of these nodes, edges and graphs."""
        owners = zip(FURTHER, (PER_NODE, PER_EDGE, PER_GRAPH), (nodes, edges, graphs), strict=True)
        found: dict[str, Any] = {}
        for further, names, where in owners:
            for name in names:
                values = getattr(self, name)
                found[name] = None if values is None else values[where]
            found[further] = {key: each[where] for key, each in getattr(self, further).items()}
        found["ids"] = None if self.ids is None else tuple(self.ids[i] for i in graphs.tolist())
        return found

    def _resolve(self, index: Any) -> Tensor:
        """Slice, mask, list or array of graph numbers to an ``int64`` tensor."""
        everything = torch.arange(len(self))
        if not isinstance(index, slice):
            index = torch.as_tensor(index)
            if index.dtype != torch.bool:
                index = index.long()
        try:
            return everything[index]
        except IndexError as error:
            raise InputError(f"no such graph among {len(self)}: {error}") from None

    def induced(self, mask: Tensor) -> "PackedGraphs":
        """The subgraphs on the nodes of a ``bool [nodes]`` mask; features travel with their node.

        A graph of which no node is left stays, as an empty graph, so that graph numbers hold.
        """
        return self.parts(torch.arange(len(self)), mask)

    def part_nodes(self, owner: Tensor, mask: Tensor) -> Tensor:
        """The numbers of the nodes of parts, over all graphs; arguments as of :meth:`parts`."""
        sizes = self.sizes[owner]
        shift = self.node_ptr[owner] - pointers(sizes)[:-1]
        return (torch.arange(mask.numel()) + shift.repeat_interleave(sizes))[mask]

    def parts(self, owner: Tensor, mask: Tensor) -> "PackedGraphs":
        """Many parts of the graphs: those of ``graphs[owner]``, without copies of all of it.

        Args:
            owner: ``int [parts]``; the graph that each part is of.
            mask: ``bool``; the nodes of each part among those of its graph, one after the other.
        """
        chosen = mask.numpy()
        start = offsets(self.sizes.numpy()[owner.numpy()])
        number = offsets(chosen)
        node_ptr = number[start]
        nodes = self.part_nodes(owner, mask).numpy()
        degree = self._degree.numpy().take(nodes)
        first = np.repeat(start[:-1], np.diff(node_ptr))
        edges = ranges(self.indptr.numpy().take(nodes), degree, offsets(degree))
        row = np.repeat(np.arange(len(nodes), dtype=np.int32), degree)
        sender = self.col.numpy().take(edges) + first.take(row)
        inside = np.flatnonzero(chosen.take(sender))
        row, sender, edges = row.take(inside), sender.take(inside), edges.take(inside)
        indptr = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=len(nodes)), out=indptr[1:])
        col = number.take(sender) - number.take(first.take(row))
        return replace(
            self,
            node_ptr=torch.from_numpy(node_ptr.astype(np.int64)),
            indptr=torch.from_numpy(indptr),
            col=torch.from_numpy(col),
            **self._taken(torch.from_numpy(nodes), torch.from_numpy(edges), owner),
        )

    def fingerprint(self, *, edge_attr: bool = True) -> str:
        """A hash of features, edges and labels: the same graphs, the same hash.

        Args:
            edge_attr: Whether features of edges count. Bonds of molecules never do where the rich
                atom features tell them, nor did anything on edges in the first hashes.
        """
        from vgib.chem.vocabulary import RICH  # graphs need no RDKit

        counted = ["x", "node_ptr", "indptr", "col", "y"]
        if edge_attr and self.cardinalities != RICH.cardinalities:
            counted.append("edge_attr")
        digest = hashlib.sha256()
        for name in counted:
            values: Tensor | None = getattr(self, name)
            if values is not None:
                digest.update(f"{name}{values.dtype}{list(values.shape)}".encode())
                digest.update(values.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def to_data(self, number: int) -> "Data":
        """Graph ``number`` as a PyG ``Data`` object."""
        from torch_geometric.data import Data

        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no graph {number} among {len(self)}")
        number %= len(self)
        nodes, edges = (
            slice(*ptr[number : number + 2].tolist()) for ptr in (self.node_ptr, self.edge_ptr)
        )
        degree = self._degree[nodes]
        receiver = torch.arange(degree.numel()).repeat_interleave(degree)
        own = self._taken(nodes, edges, torch.tensor([number]))
        ids = own.pop("ids")
        named = {"y": own.pop("y")}
        for name, values in own.items():
            named |= values if name in FURTHER else {name: values}
        data = Data(
            x=named.pop("x"),
            edge_index=torch.stack([self.col[edges].long(), receiver]),
            num_nodes=degree.numel(),
        )
        for name, values in named.items():
            if values is not None:
                data[name] = values
        if ids is not None:
            (data.id,) = ids
        return data

    def to_data_list(self) -> list["Data"]:
        """All graphs as PyG ``Data`` objects."""
        return list(self)

    @classmethod
    def concat(cls, parts: Sequence["PackedGraphs"]) -> "PackedGraphs":
        """Several sets one after the other; what only some of them carry is dropped."""
        if not parts:
            raise InputError("no sets of graphs were given to concatenate")
        if len({(part.cardinalities, part.x.shape[1]) for part in parts}) > 1:
            raise InputError("sets with different node features cannot be joined")

        def joined(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if any(v is None for v in values) else torch.cat(values)

        ids = [part.ids for part in parts]
        further: dict[str, Any] = {
            name: _common([getattr(part, name) for part in parts]) for name in FURTHER
        }
        return cls(
            node_ptr=pointers(torch.cat([part.sizes for part in parts])),
            indptr=pointers(torch.cat([part._degree for part in parts])),
            col=torch.cat([part.col for part in parts]),
            ids=tuple(i for group in ids if group for i in group) if None not in ids else None,
            cardinalities=parts[0].cardinalities,
            **{name: joined(name) for name in (*PER_NODE, *PER_EDGE, *PER_GRAPH)},
            **further,
        )

    def batch(self, index: Tensor | None = None, *, device: torch.device | str = "cpu") -> Batch:
        """The graphs with these numbers (all, when ``None``) as one :class:`Batch`."""
        wanted = torch.arange(len(self)) if index is None else index
        x, col, degree, firsts, starts, every_size, every_count = self._views
        chosen = wanted.numpy()
        sizes, counts = every_size[chosen], every_count[chosen]
        node_ptr = offsets(sizes)
        if (num_edges := int(counts.sum())) >= 2**31:
            raise InputError(f"{num_edges} edges are too many for a batch; use a smaller one")
        graph_of_node = np.repeat(np.arange(len(chosen), dtype=np.int32), sizes)
        nodes = ranges(firsts[chosen], sizes, node_ptr)
        edge_ptr = offsets(counts)
        edges = ranges(starts[chosen], counts, edge_ptr)
        sender = col.take(edges) + np.repeat(node_ptr[:-1], counts)

        def flip() -> Tensor:
            shifted = self._flips.take(edges) + np.repeat(edge_ptr[:-1], counts)
            return torch.from_numpy(shifted).to(device)

        def attr() -> Tensor:
            assert self.edge_attr is not None
            return self.edge_attr[torch.from_numpy(edges)].to(device)

        csr = Csr(
            indptr=torch.from_numpy(offsets(degree.take(nodes))).to(device),
            col=torch.from_numpy(sender).to(device),
            num_cols=len(nodes),
            symmetric=self.is_undirected,
            flip=flip,
        )
        return Batch(
            x=torch.from_numpy(x.take(nodes, axis=0)).to(device),
            adj=Adjacency(csr, attr=attr if self.edge_attr is not None else None),
            graphs=Segments(
                torch.from_numpy(node_ptr).to(device), torch.from_numpy(graph_of_node).to(device)
            ),
            y=None if self.y is None else self.y[wanted].to(device),
            index=wanted,
            source=self,
            nodes=nodes,
            edges=edges,
        )

    @cached_property
    def _flips(self) -> npt.NDArray[np.int32]:
        """For each edge by sender, then receiver, its place by receiver, within its graph."""
        first = self.edge_ptr[:-1].repeat_interleave(self.edge_ptr.diff())
        return (self._by_sender() - first).int().numpy()

    @cached_property
    def _views(self) -> tuple[npt.NDArray[Any], ...]:
        """What a batch is made of as NumPy: its small operations start several times faster."""
        edge_counts = self.edge_ptr.diff()
        of = (self.x, self.col, self._degree, self.node_ptr, self.edge_ptr, self.sizes, edge_counts)
        return tuple(tensor.numpy() for tensor in of)

    @cached_property
    def _degree(self) -> Tensor:
        return self.indptr.diff()

    def batches(
        self,
        batch_size: int | list[int],
        *,
        index: Tensor | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> Iterator[Batch]:
        """Batches of one size, or of these sizes; shuffled when a ``generator`` is given."""
        order = torch.arange(len(self)) if index is None else torch.as_tensor(index)
        if generator is not None:
            order = order[torch.randperm(len(order), generator=generator)]
        for chunk in torch.split(order, batch_size):
            yield self.batch(chunk, device=device)

    def save(self, path: str | Path) -> None:
        """Writes one safetensors file, atomically."""
        write_packed(Path(path), {f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads what :meth:`save` wrote; the tensors are memory-mapped."""
        return cls(**read_packed(Path(path)))

    @classmethod
    def load_or_make(cls, path: Path, make: Callable[[], Self], otherwise: str) -> Self:
        """From a file, else made and kept there; ``otherwise`` says what happens without it."""
        if path.is_file():
            try:
                return cls.load(path)
            except FileFormatError as error:
                logger.warning("%s; it is written anew", error)
        graphs = make()
        try:
            graphs.save(path)
        except UnwritableError as error:
            logger.warning("%s; %s", error, otherwise)
        return graphs


def _single(values: Tensor) -> Tensor:
    """The values in single precision where they are in half, else as they are."""
    return values.float() if values.dtype in HALF else values


def _common(groups: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """What all sets carry, one after the other."""
    names = [name for name in groups[0] if all(name in group for group in groups)]
    return {name: torch.cat([group[name] for group in groups]) for name in names}
