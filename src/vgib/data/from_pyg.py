"""PyG's ``Data`` objects to the tensors of packed graphs; what no model could read is refused."""

from copy import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from vgib.data.ranges import pointers
from vgib.errors import InputError

if TYPE_CHECKING:
    # Imported where a `Data` is made: it takes longer than recognizing a molecule.
    from torch_geometric.data import Data

PER_NODE: tuple[str, ...] = ("x", "node_truth")
PER_EDGE: tuple[str, ...] = ("edge_attr", "edge_truth")
PER_GRAPH: tuple[str, ...] = ("y",)
"""The fields of packed graphs that have a row for each node, edge or graph."""
FURTHER: tuple[str, ...] = ("of_nodes", "of_edges", "of_graphs")
"""Whatever else has a row for each of these, by name."""

FINITE = ("x", "edge_attr", "edge_weight", "pos")
"""What of a graph must not be NaN or infinite."""
CHECKED = tuple(dict.fromkeys(("edge_index", *PER_NODE, *PER_EDGE, *FINITE)))

MOST_CODES = 10_000_000
"""Above so many codes integers are no codes, and their table would not fit in memory."""


def one_by_one(graphs: Any) -> list["Data"]:
    """PyG's ``Data`` on the CPU, one for each graph, out of one of them or any iterable or loader.

    A batch is its graphs.
    """
    from torch_geometric.data import Batch, Data, HeteroData
    from torch_geometric.data.data import BaseData

    items: list[Data] = []
    for item in [graphs] if isinstance(graphs, BaseData) else graphs:
        if isinstance(item, HeteroData):
            raise InputError(
                "heterogeneous graphs (HeteroData) are not read here; turn them into "
                "homogeneous ones with data.to_homogeneous()"
            )
        if not isinstance(item, Data):
            raise InputError(f"expected PyG Data objects; got {type(item).__name__}")
        # What lies on a GPU is copied: PyG's own move would take the user's graph along.
        item = item if _is_on_cpu(item) else copy(item).cpu()
        items += item.to_data_list() if isinstance(item, Batch) else [item]
    return items


def _is_on_cpu(item: "Data") -> bool:
    return all(value.is_cpu for value in item.to_dict().values() if isinstance(value, Tensor))


def fields_of(items: list["Data"], *, as_is: bool) -> dict[str, Any]:
    """What :meth:`PackedGraphs.from_edges` takes, from PyG's graphs.

    The meaning of ``as_is``, and what comes along, is told by :meth:`PackedGraphs.from_data`.
    """
    if not items:
        raise InputError("no graphs were given; expected at least one PyG Data object")
    for number, item in enumerate(items):
        _check(number, item, as_is=as_is)
    widths = sorted({1 if item.x.dim() == 1 else item.x.shape[1] for item in items})
    if len(widths) > 1:
        raise InputError(f"graphs differ in the number of node features: {widths}")
    x = torch.cat([item.x if as_is else _column(item.x) for item in items])
    if as_is:
        pass  # a model of a user's is handed what its graphs hold
    elif x.is_floating_point():
        x = x.float()
    elif len(x) and int(x.min()) < 0:
        raise InputError("integer node features are codes from 0; got a negative one")
    is_code = x.dim() == 2 and not x.is_floating_point()
    codes = (x.amax(0).long() + 1).tolist() if is_code and len(x) else None
    if codes and sum(codes) > MOST_CODES and not as_is:
        raise InputError(
            f"integer node features are codes, which are embedded one by one; got one of "
            f"{max(codes) - 1}. If they are numbers, give floats: data.x.float()"
        )
    node_ptr = pointers(torch.tensor([item.num_nodes for item in items]))
    edge_index = _joined_edges(items, node_ptr)

    def gathered(name: str) -> Tensor | None:
        values = [getattr(item, name, None) for item in items]
        return None if any(v is None for v in values) else _joined(name, values)  # type: ignore[arg-type]

    edge_attr = gathered("edge_attr")
    if edge_attr is not None and edge_attr.is_floating_point() and not as_is:
        edge_attr = edge_attr.float()
    names = [getattr(item, "id", None) for item in items]
    return {
        "x": x.detach(),
        "edge_index": edge_index,
        "node_ptr": node_ptr,
        **(_further(items) if as_is else {}),
        "edge_attr": edge_attr,
        "edge_truth": gathered("edge_truth"),
        "node_truth": gathered("node_truth"),
        "y": None if as_is else labels_of(items),
        "ids": tuple(names) if all(isinstance(name, str) for name in names) else None,
        "cardinalities": None if codes is None else tuple(codes),
    }


def _joined(name: str, values: list[Tensor]) -> Tensor:
    """One tensor of all graphs, or an error where their rows differ in shape."""
    # torch.cat takes an empty row for nothing of any shape, and so does this.
    shapes = sorted({tuple(value.shape[1:]) for value in values if value.shape != (0,)})
    if len(shapes) > 1:
        told = " and ".join(str(list(shape)) for shape in shapes[:2])
        raise InputError(f"graphs differ in the shape of a row of their {name}: {told}")
    return torch.cat(values).detach()


def _joined_edges(items: list["Data"], node_ptr: Tensor) -> Tensor:
    """The edges of all graphs, ``[2, edges]``, their nodes numbered over all graphs."""
    empty = torch.zeros(2, 0, dtype=torch.int64)
    edges = [item.edge_index if item.edge_index is not None else empty for item in items]
    counts = torch.tensor([each.shape[1] for each in edges])
    joined = torch.cat(edges, dim=1)
    beyond = (joined < 0) | (joined >= node_ptr.diff().repeat_interleave(counts))
    if beyond.any():
        number = int(torch.arange(len(items)).repeat_interleave(counts)[beyond.any(0)][0])
        raise InputError(
            f"graph {number} has {items[number].num_nodes} nodes, but an edge to node "
            f"{int(joined[beyond][0])}; nodes are numbered from 0 within their graph"
        )
    return joined + node_ptr[:-1].repeat_interleave(counts)


def _check(number: int, item: "Data", *, as_is: bool) -> None:
    """Refuses a PyG graph that no model could read."""
    if item.x is None:
        raise InputError(
            f"graph {number} has no node features; set data.x, for instance with "
            "torch_geometric.transforms.OneHotDegree"
        )
    own = {name: item.get(name) for name in CHECKED}
    for name in ("edge_index", *PER_NODE, *PER_EDGE):
        if own[name] is not None:
            _check_kind(number, name, own[name])
    edges = own["edge_index"]
    if edges is None and "adj_t" in item:
        raise InputError(
            f"graph {number} has its edges in adj_t alone; keep edge_index too, with "
            "torch_geometric.transforms.ToSparseTensor(remove_edge_index=False)"
        )
    if edges is not None and (edges.is_floating_point() or edges.dim() != 2 or edges.shape[0] != 2):
        raise InputError(
            f"graph {number} has an edge_index of type {describe(edges)}; expected whole numbers "
            "of shape [2, edges], senders and receivers"
        )
    for name in FINITE:
        values = own[name]
        if (
            isinstance(values, Tensor)
            and values.is_floating_point()
            and not values.isfinite().all()
        ):
            raise InputError(f"graph {number} has NaN or infinite values in its {name}")
    counts = {"nodes": item.num_nodes, "edges": 0 if edges is None else edges.shape[1]}
    for what, names in (("nodes", PER_NODE), ("edges", PER_EDGE)):
        for name in names:
            if own[name] is not None:
                _check_rows(number, name, own[name], counts[what], what, as_is=as_is)


def _check_kind(number: int, name: str, values: Any) -> None:
    """Refuses what is no dense tensor of plain numbers."""
    if not isinstance(values, Tensor):
        raise InputError(
            f"the {name} of graph {number} is of type {type(values).__name__}; expected a tensor, "
            f"such as torch.as_tensor(data.{name})"
        )
    if values.layout != torch.strided:
        raise InputError(f"the {name} of graph {number} is sparse; give data.{name}.to_dense()")
    if values.is_complex():
        raise InputError(f"the {name} of graph {number} holds complex numbers; expected real ones")


def _check_rows(
    number: int, name: str, values: Tensor, count: int, what: str, *, as_is: bool
) -> None:
    """Refuses a tensor that has not one row for each node, or edge: the next graph would shift.

    What is read here is one number or one row for each; a model of a user's may read more.
    """
    if values.dim() == 0 or values.shape[0] != count:
        raise InputError(
            f"graph {number} has {count} {what}, but its {name} is of shape "
            f"{list(values.shape)}; expected a row for each"
            + (" direction of an edge" if what == "edges" else "")
        )
    width = 1 if name.endswith("_truth") else 2
    if values.dim() > width and not as_is:
        raise InputError(
            f"the {name} of graph {number} is of shape {list(values.shape)}; expected "
            f"{'one value' if width == 1 else 'one value or one row'} for each of its {what}"
        )


def _are_of_nodes(items: list["Data"]) -> bool:
    """Whether all labels are as many as the nodes, and no row: PyG's form of node labels."""
    return all(
        isinstance(item.y, Tensor) and item.y.dim() == 1 and len(item.y) == item.num_nodes
        for item in items
    ) and any(item.num_nodes != 1 for item in items)


def _further(items: list["Data"]) -> dict[str, dict[str, Tensor]]:
    """Tensors that every graph has, beyond the known ones, by what they have a row for."""
    known = {"x", "edge_index", "edge_attr", "y", "batch", "ptr", *PER_NODE, *PER_EDGE}
    found: dict[str, dict[str, Tensor]] = {group: {} for group in FURTHER}
    for name in items[0].keys():  # noqa: SIM118  # a Data is no dict
        values = [item.get(name) for item in items]
        if name in known or not all(isinstance(v, Tensor) for v in values):
            continue
        rows = [v.shape[0] if v.dim() else None for v in values]
        if len({(v.dtype, v.shape[1:]) for v in values}) > 1:
            continue
        sizes = {"of_nodes": "num_nodes", "of_edges": "num_edges"}
        fits = [g for g, size in sizes.items() if rows == [getattr(i, size) for i in items]]
        # Where nodes and edges are as many, the name decides, as in PyG.
        if len(fits) == 2:
            fits = ["of_edges" if "edge" in name else "of_nodes"]
        if fits:
            found[fits[0]][name] = torch.cat(values)
        elif len({v.shape for v in values}) == 1 and "index" not in name:
            whole = values[0].dim() > 0 and values[0].shape[0] == 1
            found["of_graphs"][name] = torch.cat(values) if whole else torch.stack(values)
    return found


def _column(values: Tensor) -> Tensor:
    return values.unsqueeze(1) if values.dim() == 1 else values


def labels_of(items: list["Data"]) -> Tensor | None:
    """The labels of graphs: ``[G]`` when each has one value, else ``[G, T]``.

    ``None`` where a graph has none.
    """
    if _are_of_nodes(items):
        raise InputError(
            "y has one label for each node; expected labels of graphs. Several values of a "
            "graph are a row, y of shape [1, values]"
        )
    if any(item.y is None for item in items):
        return None
    labels = [_label(number, item.y) for number, item in enumerate(items)]
    lengths = sorted({label.numel() for label in labels})
    if len(lengths) > 1:
        raise InputError(f"graphs differ in the number of labels: {lengths}; y is one row a graph")
    y = torch.stack([label.reshape(-1) for label in labels])
    return y.squeeze(1) if y.shape[1] == 1 else y


def _label(number: int, y: Any) -> Tensor:
    try:
        return torch.as_tensor(y).detach()
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"graph {number} has the label {y!r}; expected numbers, such as the number of its class"
        ) from None


def describe(values: Tensor) -> str:
    """Type and shape of a tensor, for a message."""
    return f"{str(values.dtype).removeprefix('torch.')}{list(values.shape)}"
