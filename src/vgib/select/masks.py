"""Node scores to node masks: by threshold, by share, by size, connected, or ring-intact.

Scores are packed: ``scores[ptr[g]:ptr[g + 1]]`` belong to graph *g*. Which method made them is
nobody's business here. Masks come back in the kind of the scores, NumPy array or tensor.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]  # ships no types
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
from torch import Tensor

from vgib.errors import InputError
from vgib.select.blocktree import Array, BlockTree, Graphs, Mask, best_subgraphs, block_trees
from vgib.select.policy import Nodes, check_share
from vgib.select.ties import TIE, best, levels

A = TypeVar("A", npt.NDArray[Any], Tensor)
Sizes: TypeAlias = int | Sequence[int] | Array | Tensor
"""One size for all graphs or one for each; a graph that is smaller is taken whole."""

ROUNDING_SLACK = 1e-9
"""``0.29 * 50`` is 14.499999999999998 in floating point; a person means 14.5."""


def sizes_of_ratio(ptr: Any, ratio: float) -> npt.NDArray[np.int64]:
    """How many nodes a share of each graph is: ``k = max(1, floor(ratio n + 0.5))``."""
    check_share(ratio)
    nodes = np.diff(as_numpy(ptr))
    return np.maximum(1, np.floor(ratio * nodes + 0.5 + ROUNDING_SLACK)).astype(np.int64)


def threshold(scores: A, ptr: Any, at: float = 0.5) -> A:
    """Nodes that score ``at`` or more; where there is none, the best-scored node (the paper)."""
    values, bounds = _checked(scores, ptr)
    kept = values >= at - TIE
    return _like(kept | (_ranks(values, bounds) == 0) & _nothing(kept, bounds), scores)


def keep_ratio(scores: A, ptr: Any, ratio: float) -> A:
    """The best-scored share of each graph; equal scores by node number."""
    return size(scores, ptr, sizes_of_ratio(ptr, ratio))


def size(scores: A, ptr: Any, k: Sizes) -> A:
    """The ``k`` best-scored nodes of each graph; equal scores by node number."""
    values, bounds = _checked(scores, ptr)
    wanted = np.repeat(sizes_of(k, bounds), np.diff(bounds))
    return _like(_ranks(values, bounds) < wanted, scores)


def largest_connected(mask: A, graphs: Graphs, scores: Any = None) -> A:
    """The largest connected part of a mask in each graph; an empty mask stays empty.

    Of equally large parts the one of higher total score, then the one with the lowest node.
    """
    chosen, ptr = as_numpy(mask).astype(bool), as_numpy(graphs.node_ptr)
    values = np.zeros(len(chosen)) if scores is None else as_numpy(scores).astype(np.float64)
    nodes = np.flatnonzero(chosen)
    if not len(nodes):
        return _like(chosen, mask)
    part = connected_parts(chosen, graphs)[nodes]
    first = np.unique(part, return_index=True)[1]
    graph = np.searchsorted(ptr, nodes[first], side="right") - 1
    amount = np.bincount(part)
    mean = np.bincount(part, weights=values[nodes]) / amount
    order = np.lexsort((nodes[first], levels(mean, graph), -amount, graph))
    winner = order[np.unique(graph[order], return_index=True)[1]]
    kept = np.zeros_like(chosen)
    kept[nodes[np.isin(part, winner)]] = True
    return _like(kept, mask)


def block_means(scores: Any, graphs: Graphs, blocks: Any) -> Array:
    """Each node's score replaced by the mean of its indivisible block."""
    values, ptr = _checked(scores, graphs.node_ptr)
    # Blocks are numbered from 0 in each graph, and there are no more of them than nodes.
    block = as_numpy(blocks) + np.repeat(ptr[:-1], np.diff(ptr))
    total = np.bincount(block, weights=values, minlength=len(values))
    count = np.bincount(block, minlength=len(values))
    means: Array = total[block] / count[block]
    return means


def ranked(
    scores: Any, graphs: Graphs, *, sizes: Sequence[Sizes], blocks: Any = None, n: int = 1
) -> list[list[Nodes]]:
    """For each graph up to ``n`` connected sets of nodes at each size, from one scoring.

    Sizes come in the order asked for, and at each size the best mean score first; what two sizes
    have in common is listed once.

    Args:
        sizes: Numbers of nodes, each one for all graphs or one for each.
        blocks: The indivisible blocks, for ring-intact sets (exact); without them connected sets
            are grown from the ``n`` best-scored nodes.
    """
    values, ptr = _checked(scores, graphs.node_ptr)
    wanted = np.stack([sizes_of(k, ptr) for k in sizes], axis=1).tolist()
    links = Links(graphs)
    trees = None if blocks is None else block_trees(graphs, as_numpy(blocks))
    answer = []
    for graph, (low, high) in enumerate(pairwise(ptr.tolist())):
        own = values[low:high]
        if low == high:
            found: list[list[int]] = []
        elif trees is None:
            found = _grown(own, wanted[graph], n, links, low)
        else:
            found = _united(own, wanted[graph], n, trees[graph])
        answer.append(list(dict.fromkeys(tuple(nodes) for nodes in found)))
    return answer


def distinct(masks: Sequence[Any], ptr: Any) -> list[list[Nodes]]:
    """Masks, one for each size, as the sets of nodes of each graph; empty ones are left out."""
    chosen = [as_numpy(mask).astype(bool) for mask in masks]
    answer = []
    for low, high in pairwise(as_numpy(ptr).tolist()):
        sets = (tuple(np.flatnonzero(mask[low:high]).tolist()) for mask in chosen)
        answer.append([nodes for nodes in dict.fromkeys(sets) if nodes])
    return answer


def at_least_one(mask: Any, ptr: Any) -> Array:
    """How many nodes of each graph are in a mask, ``int [graphs]``; none counts as one."""
    before = np.concatenate([[0], np.cumsum(as_numpy(mask))])
    counts: Array = np.maximum(1, np.diff(before[as_numpy(ptr)]))
    return counts


def mask_of(found: Sequence[Sequence[Nodes]], ptr: Any, rank: int = 0) -> Mask:
    """The nodes of the subgraph of this rank in each graph, ``bool [nodes]``."""
    bounds = as_numpy(ptr)
    mask = np.zeros(bounds[-1], dtype=bool)
    for low, ranked_sets in zip(bounds[:-1].tolist(), found, strict=True):
        if len(ranked_sets) > rank:  # a graph without nodes has none
            mask[[low + node for node in ranked_sets[rank]]] = True
    return mask


def masks_of(sets: Sequence[Sequence[int]], nodes: int) -> Mask:
    """Sets of nodes of one graph as rows, ``bool [sets, nodes]``."""
    masks = np.zeros((len(sets), nodes), dtype=bool)
    for mask, own in zip(masks, sets, strict=True):
        mask[list(own)] = True
    return masks


def _nearest(subgraphs: dict[int, list[tuple[float, int]]], wanted: int) -> int:
    """The size nearest to the wanted one; of two, that of the higher mean, else the smaller."""
    away = min(abs(size - wanted) for size in subgraphs)
    near = [size for size in (wanted - away, wanted + away) if size in subgraphs]
    return near[int(best([subgraphs[size][0][0] / size for size in near], 1)[0])]


def _united(values: Array, wanted: list[int], n: int, tree: BlockTree) -> list[list[int]]:
    limit = max(wanted) + max(tree.weights)  # one more block always passes the wanted size
    subgraphs = best_subgraphs(tree, tree.sums(values), limit=limit, n=n)
    chosen = [
        subgraph for amount in wanted for _, subgraph in subgraphs[_nearest(subgraphs, amount)]
    ]
    block = tree.block.tolist()
    return [[node for node, own in enumerate(block) if subgraph >> own & 1] for subgraph in chosen]


def _grown(values: Array, wanted: list[int], n: int, links: "Links", low: int) -> list[list[int]]:
    """Sets grown from the ``n`` best nodes in components with room, else the largest components."""
    level = levels(values)
    order = (low + np.argsort(level, kind="stable")).tolist()
    found = []
    for amount in wanted:
        grown: list[list[int]] = []
        small: list[list[int]] = []
        passed: set[int] = set()
        for start in order:
            if start in passed:
                continue
            nodes = _grow(start, amount, links, lambda node: level[node - low])
            if len(nodes) < amount:
                small.append(nodes)
                passed.update(nodes)
            else:
                grown.append(nodes)
            if len(grown) == n:
                break
        parts = grown or sorted(small, key=len, reverse=True)[:n]
        local = [sorted(node - low for node in nodes) for nodes in parts]
        found += [local[place] for place in best([values[nodes].mean() for nodes in local])]
    return found


class Links:
    """Neighbors by number over the whole batch, as Python lists, which a loop reads fastest."""

    def __init__(self, graphs: Graphs) -> None:
        ptr, indptr, col = (as_numpy(a) for a in (graphs.node_ptr, graphs.indptr, graphs.col))
        self.start: list[int] = indptr.tolist()
        self.other: list[int] = (col + np.repeat(ptr[:-1], np.diff(indptr[ptr]))).tolist()

    def __getitem__(self, node: int) -> list[int]:
        return self.other[self.start[node] : self.start[node + 1]]


def _grow(start: int, amount: int, links: Links, cost: Callable[[int], float]) -> list[int]:
    nodes: list[int] = []
    seen = {start}
    queue = [(cost(start), start)]
    while queue and len(nodes) < amount:
        node = heappop(queue)[1]
        nodes.append(node)
        for other in links[node]:
            if other not in seen:
                seen.add(other)
                heappush(queue, (cost(other), other))
    return nodes


def _ranks(values: Array, ptr: Array) -> Array:
    """The place of each node in its graph, best first, equal scores by number."""
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    order = np.argsort(levels(values, graph), kind="stable")
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values)) - ptr[graph]
    return ranks


def _nothing(mask: Mask, ptr: Array) -> Mask:
    """For each node, whether its graph has no node in the mask."""
    running = np.concatenate([[0], np.cumsum(mask)])
    return np.repeat(running[ptr[1:]] == running[ptr[:-1]], np.diff(ptr))


def connected_parts(chosen: Mask, graphs: Graphs) -> Array:
    """For each node in the mask the number of its connected part; -1 for the other nodes."""
    ptr, indptr, col = (as_numpy(a) for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    receiver = np.repeat(np.arange(len(chosen)), np.diff(indptr))
    sender = col + np.repeat(ptr[:-1], np.diff(indptr[ptr]))
    inside = chosen[receiver] & chosen[sender]
    entries = (np.ones(int(inside.sum()), dtype=np.int8), (receiver[inside], sender[inside]))
    matrix = csr_matrix(entries, shape=(len(chosen), len(chosen)))
    raw = connected_components(matrix, directed=False)[1]
    parts = np.full(len(chosen), -1, dtype=np.int64)
    parts[chosen] = np.unique(raw[chosen], return_inverse=True)[1]
    return parts


def _checked(scores: Any, ptr: Any) -> tuple[Array, Array]:
    values, bounds = as_numpy(scores).astype(np.float64), as_numpy(ptr)
    if values.ndim != 1 or len(values) != bounds[-1]:
        raise InputError(
            f"scores have shape {values.shape}, the graphs {int(bounds[-1])} nodes; "
            "give one score for each node"
        )
    if np.isnan(values).any():
        node = int(np.flatnonzero(np.isnan(values))[0])
        raise InputError(f"the score of node {node} is NaN; check the model that made the scores")
    return values, bounds


def sizes_of(k: Sizes, ptr: Array) -> Array:
    """A size for each graph, ``int [graphs]``; no graph has more nodes than it has."""
    sizes = np.broadcast_to(as_numpy(k), len(ptr) - 1)
    if (sizes < 1).any():
        raise InputError(f"a size of {int(sizes.min())} was asked for; expected at least 1")
    smaller: Array = np.minimum(sizes, np.diff(ptr))
    return smaller


def as_numpy(values: Any) -> Array:
    """A tensor or anything like an array as an array."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _like(mask: Mask, kind: A) -> A:
    return torch.from_numpy(mask).to(kind.device) if isinstance(kind, Tensor) else mask
