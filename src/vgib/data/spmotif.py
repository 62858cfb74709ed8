"""SPMotif: the class is a motif, and in training the base to which it is joined gives it away.

Wu et al., "Discovering Invariant Rationales for Graph Neural Networks", ICLR 2022,
arXiv:2201.12872. A network that looks at the base does well in training and at random in the test.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split
from vgib.data.synthetic import FIVE_CYCLE, HOUSE, Array
from vgib.errors import InputError

CRANE = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (2, 4))
"""A square with a fifth node over two opposite corners."""
MOTIFS = (FIVE_CYCLE, HOUSE, CRANE)
MOTIF_NODES = 5
TREE, LADDER, WHEEL = range(3)
CHANNELS = 4
SIZES = (9000, 3000, 6000)
"""How many graphs train, validate and test."""


class Widths(NamedTuple):
    """From which numbers the size of a base is drawn (the last one is left out).

    A tree has so many levels below its root, a ladder so many rungs, a wheel so many nodes.
    """

    tree: tuple[int, int]
    ladder: tuple[int, int]
    wheel: tuple[int, int]


SMALL = Widths(tree=(3, 4), ladder=(8, 12), wheel=(15, 20))
LARGE = Widths(tree=(3, 6), ladder=(30, 50), wheel=(60, 80))


class _Makeup(NamedTuple):
    """What each graph is made of, ``int64 [graphs]`` each."""

    y: Array
    base: Array
    width: Array
    branching: Array


def generate_spmotif(
    bias: float,
    *,
    sizes: tuple[int, int, int] = SIZES,
    extra_edges: float = 0.05,
    seed: int = 0,
) -> PackedGraphs:
    """Graphs for training, then for validation, then for test; :func:`spmotif_split` tells them.

    A tree (0), ladder (1) or wheel (2) is joined by one random edge to a five-cycle, a house or a
    crane, the class. In training the base has the number of the class with probability ``bias``,
    else it is one of the other two; in validation and test it is drawn by itself, and the bases of
    the test are several times larger. The nodes of the motif are the ``node_truth`` and its inner
    edges the ``edge_truth``. The features, four random numbers for each node, tell nothing.

    Args:
        bias: How often the base gives the class away in training, at least 1/3.
        sizes: How many graphs there are for training, validation and test.
        extra_edges: So many random edges for each edge of a graph are tried, of which those stay
            that do not lie inside the motif.
        seed: The same seed gives the same graphs.

    Note:
        The published program draws smaller trees for the second and third class in training, which
        tells the classes apart by one more accident, and lists each edge in one direction only.
        Neither is meant to be, so neither is imitated.
    """
    if not 1 / 3 <= bias <= 1 or min(sizes) < 1:
        raise InputError(f"need 1/3 <= bias <= 1 and graphs in each part; got {bias} and {sizes}")
    random = np.random.default_rng(seed)
    plans = [
        _draw(sizes[0], bias, SMALL, random),
        _draw(sizes[1], 1 / 3, SMALL, random),
        _draw(sizes[2], 1 / 3, LARGE, random),
    ]
    return _assembled(_Makeup(*map(np.concatenate, zip(*plans, strict=True))), extra_edges, random)


def spmotif_split(sizes: tuple[int, int, int] = SIZES) -> Split:
    """Which graphs of :func:`generate_spmotif` train, validate and test."""
    train, val, test = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:2])
    return Split(train, val, test)


def _draw(graphs: int, bias: float, widths: Widths, random: np.random.Generator) -> _Makeup:
    y = np.arange(graphs) % len(MOTIFS)
    other = (y + random.integers(1, 3, graphs)) % 3
    base = np.where(random.random(graphs) < bias, y, other)
    low, high = np.array(widths)[base].T
    return _Makeup(y, base, random.integers(low, high), random.integers(2, 4, graphs))


def _assembled(plan: _Makeup, extra_edges: float, random: np.random.Generator) -> PackedGraphs:
    graphs = len(plan.y)
    shape = np.stack([plan.base, plan.width, np.where(plan.base == TREE, plan.branching, 0)], 1)
    kinds, kind = np.unique(shape, axis=0, return_inverse=True)
    templates = [_base_edges(*map(int, row)) for row in kinds]
    base_nodes = np.array([int(edges.max()) + 1 for edges in templates])[kind]
    ptr = np.concatenate([[0], np.cumsum(base_nodes + MOTIF_NODES)])
    motif = ptr[:-1] + base_nodes
    parts = [_repeated(edges, ptr[:-1][kind == place]) for place, edges in enumerate(templates)]
    parts += [_repeated(np.array(e).T, motif[plan.y == label]) for label, e in enumerate(MOTIFS)]
    join = ptr[:-1] + random.integers(base_nodes), motif + random.integers(MOTIF_NODES, size=graphs)
    edges = np.concatenate([*parts, np.stack(join)], axis=1)
    truth = np.ones(ptr[-1], dtype=bool)
    truth[np.concatenate([np.arange(a, b) for a, b in zip(ptr[:-1], motif, strict=True)])] = False
    edges = np.concatenate([edges, _extra(edges, ptr, truth, extra_edges, random)], axis=1)
    edges = np.concatenate([edges, edges[::-1]], axis=1)
    return PackedGraphs.from_edges(
        torch.from_numpy(random.random((int(ptr[-1]), CHANNELS), dtype=np.float32)),
        torch.from_numpy(edges),
        torch.from_numpy(ptr),
        y=torch.from_numpy(plan.y),
        node_truth=torch.from_numpy(truth),
        edge_truth=torch.from_numpy(truth[edges].all(axis=0)),
    )


def _base_edges(base: int, width: int, branching: int) -> Array:
    """The edges ``[2, edges]`` of one base; nodes are numbered from 0."""
    if base == TREE:
        node = np.arange(1, sum(branching**level for level in range(width + 1)))
        return np.stack([(node - 1) // branching, node])
    if base == LADDER:
        step = np.arange(width - 1)
        rails = np.stack([step, step + 1])
        rungs = np.stack([np.arange(width), np.arange(width) + width])
        return np.concatenate([rails, rails + width, rungs], axis=1)
    rim = np.arange(1, width)
    spokes = np.stack([np.zeros_like(rim), rim])
    return np.concatenate([spokes, np.stack([rim, np.roll(rim, -1)])], axis=1)


def _repeated(edges: Array, first: Array) -> Array:
    """The same edges in several graphs, whose first nodes are given."""
    return (edges[:, None, :] + first[None, :, None]).reshape(2, -1)


def _extra(
    edges: Array,
    ptr: Array,
    in_motif: npt.NDArray[np.bool_],
    share: float,
    random: np.random.Generator,
) -> Array:
    """Random edges between nodes of one graph that were not joined, not both in the motif."""
    nodes = int(ptr[-1])
    graph = np.searchsorted(ptr, edges[0], side="right") - 1
    tries = (np.bincount(graph, minlength=len(ptr) - 1) * share).astype(np.int64)
    open_ = np.repeat(np.arange(len(tries)), tries)
    taken = np.sort(edges.min(0) * nodes + edges.max(0))
    found: list[Array] = []
    while len(open_):
        size = ptr[open_ + 1] - ptr[open_]
        ends = np.sort(ptr[open_] + random.integers(size, size=(2, len(open_))), axis=0)
        key = ends[0] * nodes + ends[1]
        is_taken = taken[np.searchsorted(taken, key).clip(max=len(taken) - 1)] == key
        fits = (ends[0] != ends[1]) & ~is_taken
        found.append(ends[:, fits])
        open_ = open_[~fits]
    made = np.concatenate([np.zeros((2, 0), dtype=np.int64), *found], axis=1)
    return made[:, ~in_motif[made].all(axis=0)]
