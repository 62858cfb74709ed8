"""The TU graph collection: a zip or a folder of text files -> :class:`PackedGraphs`.

Reference: Morris et al., TUDataset: A collection of benchmark datasets for learning with graphs,
ICML 2020 workshop GRL+, arXiv:2007.08663.
"""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.data.tu_files import Numbers, TuFiles, check_lines, check_range
from vgib.errors import FileFormatError, InputError
from vgib.limits import PLAIN, FileReading

Features: TypeAlias = Literal["auto", "labels", "attributes", "all", "degree"]
Target: TypeAlias = Literal["auto", "labels", "attributes"]

MAX_DEGREE_CODES = 1000
"""Above this degree a table of codes would be larger than what it teaches."""

MAX_LABELS = 1000
"""Different labels of a node that become columns of their own."""

logger = logging.getLogger(__name__)


def read_tu(
    path: Path,
    *,
    features: Features = "auto",
    target: Target = "auto",
    how: FileReading = PLAIN,
) -> PackedGraphs:
    """The graphs of one TU dataset.

    Self-loops and repeated edges are removed and missing reverse edges added; nodes that are not
    listed graph by graph are put in order. Labels become codes 0, 1, ... in the order of their
    values, as in PyG. Where ``NAME_edge_gt.txt`` marks edges (0 or 1 for each line of
    ``NAME_A.txt``), these are the ``edge_truth`` and their ends the ``node_truth``.

    Args:
        path: the zip, or the folder that it unpacks to.
        features: what ``x`` holds. ``labels``: the codes of the node labels; ``attributes``: the
            float attributes; ``all``: attributes and one-hot labels side by side, as PyG gives
            them; ``degree``: the degree as a code or, where one exceeds ``MAX_DEGREE_CODES``, as
            one standardized float column; ``auto``: the first of labels, attributes and degree
            that there is.
        target: ``labels`` for classes, ``attributes`` for values to regress; ``auto``: values
            where the dataset has them, else classes.
        how: how much a zip may unpack to.

    Raises:
        FileFormatError: a file is missing, damaged, or contradicts another one.
        InputError: a feature or target that this dataset does not have.
    """
    with TuFiles.find(Path(path), how) as files:
        return _read(files, features, target)


def _read(files: TuFiles, features: Features, target: Target) -> PackedGraphs:
    indicator = files.read("graph_indicator", "int64", width=1)[0]
    y, num_graphs = _targets(files, target)
    check_range(files.name("graph_indicator"), indicator, num_graphs, "graph")
    order = np.argsort(indicator, kind="stable")
    is_sorted = bool((np.diff(order) == 1).all())
    sizes = np.bincount(indicator - 1, minlength=num_graphs)
    _report_empty_graphs(files.stem, sizes)

    edges = _read_edges(files, indicator)
    per_edge = _read_edge_columns(files, edges.shape[1])
    if not is_sorted:
        logger.info("%s: nodes put in the order of their graphs", files.stem)
        edges = np.argsort(order)[edges]
    node_ptr = np.concatenate([[0], np.cumsum(sizes)])
    graphs = replace(_pack(edges, per_edge, node_ptr), y=y)
    # Degrees are counted after the cleaning, hence the features come last.
    x, cardinalities = _features(files, features, graphs, order)
    return replace(graphs, x=x, cardinalities=cardinalities, node_truth=_ends(graphs))


def _targets(files: TuFiles, target: Target) -> tuple[Tensor, int]:
    """Classes ``[G]`` or values ``[G]`` / ``[G, T]``, and the number of graphs."""
    if target not in ("auto", "labels", "attributes"):
        raise InputError(f"target must be 'auto', 'labels' or 'attributes', got {target!r}")
    part = "graph_labels" if target == "labels" else "graph_attributes"
    if target == "auto" and part not in files:
        part = "graph_labels"
    if target == "attributes" and part not in files:
        raise InputError(f"{files.path} has no graph attributes; use target='labels'")
    if part == "graph_attributes":
        values = files.read(part, "float64").T
        y = torch.tensor(values[:, 0] if values.shape[1] == 1 else values, dtype=torch.float32)
        return y, len(y)
    classes = np.unique(files.read(part, "int64", width=1)[0], return_inverse=True)[1]
    return torch.from_numpy(classes.astype(np.int64)), len(classes)


def _read_edges(files: TuFiles, indicator: Numbers) -> Numbers:
    """The edges of ``NAME_A.txt``, ``[2, lines]``, with nodes counted from 0 over all graphs."""
    edges = files.read("A", "int32", width=2)
    for end in edges:
        check_range(files.name("A"), end, len(indicator), "node")
    edges -= 1
    graph = indicator.astype(np.int32)
    astray = graph[edges[0]] != graph[edges[1]]
    if astray.any():
        line = int(astray.argmax())
        raise FileFormatError(
            f"{files.name('A')}, line {line + 1}: nodes {edges[0, line] + 1} and "
            f"{edges[1, line] + 1} belong to different graphs ({graph[edges[0, line]]} and "
            f"{graph[edges[1, line]]}); correct that line or the graph indicator"
        )
    return edges


def _read_edge_columns(files: TuFiles, lines: int) -> dict[str, Numbers]:
    """What is known of each line of ``NAME_A.txt``: ``edge_attr`` and ``edge_truth``."""
    columns: dict[str, Numbers] = {}
    if "edge_labels" in files:
        columns["edge_attr"] = _squeeze(_codes(files.read("edge_labels", "int64"))[0])
    elif "edge_attributes" in files:
        columns["edge_attr"] = _squeeze(files.read("edge_attributes", "float64").T.astype("f4"))
    if "edge_gt" in files:
        marks = files.read("edge_gt", "int64", width=1)[0]
        if not np.isin(marks, (0, 1)).all():
            line = int((~np.isin(marks, (0, 1))).argmax())
            raise FileFormatError(
                f"{files.name('edge_gt')}, line {line + 1}: expected 0 or 1, got {marks[line]}"
            )
        columns["edge_truth"] = marks.astype(bool)
    for key, values in columns.items():
        check_lines(files.path, key, len(values), lines, "edge")
    return columns


def _pack(edges: Numbers, per_edge: dict[str, Numbers], node_ptr: Numbers) -> PackedGraphs:
    """Graphs without features from edges in any order; of edges listed twice the first stays.

    ``PackedGraphs.from_edges`` does the same for edges that are symmetric already, but keeps some
    ten arrays of the length of the edge list alive; here it is three.
    """
    num_nodes = int(node_ptr[-1])
    order = None
    if _is_symmetric(edges, num_nodes):
        key = _keys(edges[1], edges[0], num_nodes)
    else:
        # A reverse that was listed comes before the copy made here and survives in its place.
        per_edge = {name: np.concatenate([values, values]) for name, values in per_edge.items()}
        key = _keys(edges[::-1].reshape(-1), edges.reshape(-1), num_nodes)
    if per_edge:
        order = np.argsort(key, kind="stable")
        key = key[order]
    else:
        key.sort()
    first = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=first[1:])
    first &= key % (num_nodes + 1) != 0
    key = key[first]
    receiver = key // num_nodes if num_nodes else key
    col = (key - receiver * num_nodes).astype(np.int32)
    degree = np.bincount(receiver, minlength=num_nodes)
    start = np.repeat(node_ptr[:-1], np.diff(node_ptr))
    col -= np.repeat(start.astype(np.int32), degree)
    kept = {} if order is None else {k: v[order[first]] for k, v in per_edge.items()}
    tensors: dict[str, Any] = {name: torch.from_numpy(values) for name, values in kept.items()}
    return PackedGraphs(
        x=torch.zeros(num_nodes, 0),
        node_ptr=torch.from_numpy(node_ptr.astype(np.int64)),
        indptr=torch.from_numpy(np.concatenate([[0], np.cumsum(degree)])),
        col=torch.from_numpy(col),
        **tensors,
    )


def _is_symmetric(edges: Numbers, num_nodes: int) -> bool:
    """Whether each edge is listed as often as its reverse; logs how many have none at all."""
    forward = _keys(edges[0], edges[1], num_nodes)
    backward = _keys(edges[1], edges[0], num_nodes)
    forward.sort()
    backward.sort()
    if np.array_equal(forward, backward):
        return True
    if missing := len(np.setdiff1d(backward, forward)):
        logger.info("added the missing reverse of %d edges", missing)
    return False


def _keys(row: Numbers, column: Numbers, num_nodes: int) -> Numbers:
    """A number for each edge, sorting by row, then column; n + 1 divides that of a self-loop."""
    key = row.astype(np.int64)
    key *= num_nodes
    key += column
    return key


def _features(
    files: TuFiles, features: Features, graphs: PackedGraphs, order: Numbers
) -> tuple[Tensor, tuple[int, ...] | None]:
    """``x`` and the number of codes of each of its columns (``None`` for floats)."""
    has = {"labels": "node_labels" in files, "attributes": "node_attributes" in files}
    if features == "auto":
        features = "labels" if has["labels"] else "attributes" if has["attributes"] else "degree"
    wanted = has if features == "all" else {features: has.get(features, features == "degree")}
    if not all(wanted.values()):
        there = [name for name, present in has.items() if present]
        raise InputError(
            f"features={features!r} cannot be had from {files.path.name}; "
            f"it has {', '.join([*there, 'degree'])}"
        )
    if features == "degree":
        return _degrees(graphs.indptr.diff())
    if features == "labels":
        codes, cardinalities = _node_labels(files, graphs.num_nodes, order)
        return torch.from_numpy(codes), cardinalities
    floats = files.read("node_attributes", "float64").T
    check_lines(files.path, "node_attributes", len(floats), graphs.num_nodes, "node")
    x = torch.from_numpy(floats[order].astype(np.float32))
    if features == "all":
        codes, cardinalities = _node_labels(files, graphs.num_nodes, order)
        if max(cardinalities) > MAX_LABELS:
            raise InputError(
                f"{files.path.name} has {max(cardinalities):,} different node labels, more than "
                f"the {MAX_LABELS:,} that become columns; use features='labels'"
            )
        hot = [np.eye(k, dtype=np.float32)[c] for k, c in zip(cardinalities, codes.T, strict=True)]
        x = torch.cat([x, *map(torch.from_numpy, hot)], dim=1)
    return x, None


def _degrees(degree: Tensor) -> tuple[Tensor, tuple[int, ...] | None]:
    largest = int(degree.max()) if len(degree) else 0
    if largest <= MAX_DEGREE_CODES:
        return degree.unsqueeze(1), (largest + 1,)
    value = degree.double()
    return ((value - value.mean()) / value.std()).float().unsqueeze(1), None


def _node_labels(files: TuFiles, num_nodes: int, order: Numbers) -> tuple[Numbers, tuple[int, ...]]:
    codes, cardinalities = _codes(files.read("node_labels", "int64"))
    check_lines(files.path, "node_labels", len(codes), num_nodes, "node")
    return codes[order], cardinalities


def _codes(labels: Numbers) -> tuple[Numbers, tuple[int, ...]]:
    """Columns ``[C, lines]`` of labels -> codes ``[lines, C]`` in the order of the label values."""
    found = [np.unique(column, return_inverse=True) for column in labels]
    return np.stack([codes for _, codes in found], axis=1), tuple(
        len(values) for values, _ in found
    )


def _ends(graphs: PackedGraphs) -> Tensor | None:
    """The nodes at either end of a marked edge (marks hold for both directions of an edge)."""
    if graphs.edge_truth is None:
        return None
    source = torch.repeat_interleave(torch.arange(graphs.num_nodes), graphs.indptr.diff())
    start = torch.repeat_interleave(graphs.node_ptr[:-1], graphs.sizes)
    target = graphs.col + start[source]
    truth = torch.zeros(graphs.num_nodes, dtype=torch.bool)
    truth[source[graphs.edge_truth]] = True
    truth[target[graphs.edge_truth]] = True
    return truth


def _squeeze(columns: Numbers) -> Numbers:
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _report_empty_graphs(name: str, sizes: Numbers) -> None:
    empty = np.flatnonzero(sizes == 0) + 1
    if len(empty):
        shown = ", ".join(map(str, empty[:5])) + (", ..." if len(empty) > 5 else "")
        logger.warning("%s: %d graphs have no node (graph %s)", name, len(empty), shown)
