"""Random subgraphs: what a choice is compared with."""

from itertools import pairwise
from typing import Any

import numpy as np

from vgib.select.blocktree import Array, Counted, Graphs, Mask, block_trees, nearest_size
from vgib.select.masks import (
    Links,
    Sizes,
    as_numpy,
    connected_parts,
    largest_connected,
    size,
    sizes_of,
)


def random_nodes(graphs: Graphs, k: Sizes, rng: np.random.Generator) -> Mask:
    """``k`` random nodes of each graph, connected or not.

    Here and below, ``k`` may have a row for each draw, ``[draws, graphs]``, and then the masks do.
    """
    ptr = as_numpy(graphs.node_ptr)
    drawn = [size(rng.random(ptr[-1]), ptr, row) for row in _rows(k, ptr)]
    return _shaped(np.stack(drawn), k)


def random_atoms(graphs: Graphs, k: Sizes, rng: np.random.Generator) -> Mask:
    """The largest connected part of ``k`` random nodes of each graph; it has fewer nodes.

    What the paper's own rule gives for random scores. It matches the size of no choice, so that it
    is the control of none.
    """
    return largest_connected(random_nodes(graphs, k, rng), graphs)


def random_connected(graphs: Graphs, k: Sizes, rng: np.random.Generator) -> Mask:
    """``k`` connected nodes, grown from a random one by uniformly drawn neighbors of what is there.

    It starts in a component that has ``k`` nodes, if there is one.
    """
    ptr = as_numpy(graphs.node_ptr)
    wanted, links = _rows(k, ptr), Links(graphs)
    kept = np.zeros((len(wanted), ptr[-1]), dtype=bool)
    for row, amounts in zip(kept, wanted.tolist(), strict=True):
        for (low, high), amount in zip(pairwise(ptr.tolist()), amounts, strict=True):
            if low == high:
                continue
            nodes = _wander(int(rng.integers(low, high)), amount, links, rng)
            if len(nodes) < amount and len(roomy := _roomy(graphs, low, high, amount)):
                nodes = _wander(int(rng.choice(roomy)), amount, links, rng)
            row[nodes] = True
    return _shaped(kept, k)


def random_ring_intact(
    graphs: Graphs, blocks: Any, k: Sizes, rng: np.random.Generator, *, slack: int = 1
) -> Mask:
    """Uniform among the connected subgraphs of indivisible blocks within ``slack`` nodes of ``k``.

    Where none is so near, uniform among those of the nearest reachable size.
    """
    ptr = as_numpy(graphs.node_ptr)
    wanted = _rows(k, ptr)
    kept = np.zeros((len(wanted), ptr[-1]), dtype=bool)
    trees = block_trees(graphs, as_numpy(blocks))
    for graph, (tree, (low, high)) in enumerate(zip(trees, pairwise(ptr.tolist()), strict=True)):
        if low == high:
            continue
        most = max(int(wanted[:, graph].max()) + slack, max(tree.weights))
        counted = Counted(tree, most + max(tree.weights))
        subgraphs = []
        for amount in wanted[:, graph].tolist():
            subgraph = counted.draw(amount - slack, amount + slack, rng)
            if subgraph is None:
                at = nearest_size(tree, amount)
                subgraph = counted.draw(at, at, rng)
            assert subgraph is not None
            subgraphs.append(subgraph)
        kept[:, low:high] = tree.nodes(subgraphs)
    return _shaped(kept, k)


def _rows(k: Sizes, ptr: Array) -> Array:
    """Sizes as ``[draws, graphs]``."""
    wanted = as_numpy(k)
    rows = wanted if wanted.ndim == 2 else wanted[None]
    return np.stack([sizes_of(row, ptr) for row in rows])


def _shaped(masks: Mask, k: Sizes) -> Mask:
    """Masks ``[draws, nodes]``, or ``[nodes]`` where ``k`` has no dimension for draws."""
    return masks if as_numpy(k).ndim == 2 else masks[0]


def _wander(start: int, amount: int, links: Links, rng: np.random.Generator) -> list[int]:
    nodes: list[int] = []
    seen = {start}
    frontier = [start]
    draws = rng.random(amount).tolist()
    while frontier and len(nodes) < amount:
        place = int(draws[len(nodes)] * len(frontier))
        node, frontier[place] = frontier[place], frontier[-1]
        frontier.pop()
        nodes.append(node)
        for other in links[node]:
            if other not in seen:
                seen.add(other)
                frontier.append(other)
    return nodes


def _roomy(graphs: Graphs, low: int, high: int, amount: int) -> Any:
    """The nodes of one graph whose component has at least so many nodes."""
    own = np.zeros(as_numpy(graphs.node_ptr)[-1], dtype=bool)
    own[low:high] = True
    part = connected_parts(own, graphs)[low:high]
    return low + np.flatnonzero(np.bincount(part)[part] >= amount)
