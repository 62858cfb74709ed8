"""BA-2Motifs: random trees with one of two motifs attached, so that the explanation is known.

Reference: Luo et al., Parameterized Explainer for Graph Neural Network, NeurIPS 2020,
arXiv:2011.04573.
"""

import zipfile
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from vgib.data.packed import PackedGraphs
from vgib.errors import FileFormatError, InputError

Array: TypeAlias = npt.NDArray[np.int64]

BASE_NODES = 20
MOTIF_NODES = 5
FIVE_CYCLE = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))
HOUSE = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))  # four walls, and the roof over 0-1
MOTIFS = (FIVE_CYCLE, HOUSE)


def generate_ba2motifs(num_graphs: int = 1000, *, seed: int = 0) -> PackedGraphs:
    """Graphs of 25 nodes: a Barabasi-Albert tree and, by one edge, a five-cycle (0) or a house (1).

    Nodes 20 to 24 of each graph are the motif: its nodes are the ``node_truth`` and its inner edges
    the ``edge_truth``. The joining edge leads from the motif's first node to a random tree node.
    Classes alternate, so that any stretch is balanced.

    Note:
        In the published graphs the joining edge always leads to the first node of the tree, and in
        40 of the 1,000 it is missing (a self-loop stands in its place). Neither is meant to tell
        anything, so neither is imitated.

    The features are one constant column of ones. The published ten columns of 0.1 say no more: a
    first linear layer sees the same constant up to its weights.
    """
    if num_graphs < 1:
        raise InputError(f"num_graphs must be at least 1, got {num_graphs}")
    random = np.random.default_rng(seed)
    y = np.arange(num_graphs) % 2
    tree = _barabasi_albert_trees(num_graphs, random)
    join = np.stack([random.integers(BASE_NODES, size=num_graphs), np.full(num_graphs, BASE_NODES)])
    parts = [(tree, np.arange(num_graphs)), (join[:, :, None], np.arange(num_graphs))]
    for label, motif in enumerate(MOTIFS):
        of_class = np.flatnonzero(y == label)
        edges = np.array(motif).T[:, None, :] + BASE_NODES
        parts.append((np.broadcast_to(edges, (2, len(of_class), len(motif))), of_class))
    size = BASE_NODES + MOTIF_NODES
    edges = np.concatenate(
        [(ends + graph[:, None] * size).reshape(2, -1) for ends, graph in parts], axis=1
    )
    return _pack(edges, y)


def read_ba2motifs(path: Path) -> PackedGraphs:
    """The published graphs from an ``.npz`` with ``adj [G, n, n]``, ``label [G]``, ``motif_nodes``.

    Their self-loops (one in each of 40 graphs, in place of the joining edge) are dropped, which
    leaves the motif of those graphs unconnected. Features are as in :func:`generate_ba2motifs`.

    Raises:
        FileFormatError: the file is damaged or holds other arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            adj, label, motif = arrays["adj"], arrays["label"], arrays["motif_nodes"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(
            f"{path} is no BA-2Motifs file with adj, label and motif_nodes ({error}); "
            "fetch it again, or use the generated 'BA-2Motifs'"
        ) from error
    size = BASE_NODES + MOTIF_NODES
    expected = np.arange(BASE_NODES, size)
    if adj.shape != (len(label), size, size) or not np.array_equal(motif, expected):
        raise FileFormatError(
            f"{path} has adj {adj.shape}, label {label.shape} and motif nodes {motif.tolist()}; "
            f"expected [G, {size}, {size}], [G] and {expected.tolist()}"
        )
    graph, source, target = np.nonzero(adj)
    return _pack(np.stack([source, target]) + graph * size, label.astype(np.int64))


def _barabasi_albert_trees(num_graphs: int, random: np.random.Generator) -> Array:
    """Edges ``[2, graphs, 19]``: node t joins an earlier node with probability by its degree.

    Each edge puts both of its ends on a list; a uniform draw from the list is a draw by degree.
    """
    ends = np.zeros((num_graphs, 2 * (BASE_NODES - 1)), dtype=np.int64)
    rows = np.arange(num_graphs)
    for node in range(1, BASE_NODES):
        listed = 2 * (node - 1)
        # The list is empty for node 1, which can only join node 0.
        ends[:, listed] = ends[rows, random.integers(max(listed, 1), size=num_graphs)]
        ends[:, listed + 1] = node
    return ends.reshape(num_graphs, -1, 2).transpose(2, 0, 1)


def _pack(edges: Array, y: Array) -> PackedGraphs:
    """Graphs of 25 nodes from global edges in one or both directions."""
    size = BASE_NODES + MOTIF_NODES
    edges = np.concatenate([edges, edges[::-1]], axis=1)
    num_nodes = len(y) * size
    return PackedGraphs.from_edges(
        torch.ones(num_nodes, 1),
        torch.from_numpy(edges),
        torch.arange(0, num_nodes + 1, size),
        y=torch.from_numpy(y),
        node_truth=torch.from_numpy(np.arange(num_nodes) % size >= BASE_NODES),
        edge_truth=torch.from_numpy((edges % size >= BASE_NODES).all(axis=0)),
    )
