r"""Connected subgraphs of indivisible blocks of a graph: the best, a random one, or all of them.

A molecule's ring systems and multiply bonded groups are blocks that no cut may divide; every other
atom is a block of its own. Each bond between blocks is then in no ring, so the blocks of a molecule
form a *tree*, and the questions below have exact answers by dynamic programming over it. With
:math:`T_v(s)` the subgraphs of ``s`` nodes whose topmost block is ``v``, and children
:math:`c_1, c_2, \ldots` merged one after the other,

.. math:: T_v(s) \leftarrow T_v(s) \cup \{a \cup b : a \in T_v(s - t),\ b \in T_{c_i}(t)\}.

A subgraph is a bitmask over the blocks of its graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from vgib.errors import InputError
from vgib.select.ties import TIE

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Graphs(Protocol):
    """Graphs as flat arrays or tensors: pointers and neighbors numbered within their graph."""

    @property
    def node_ptr(self) -> Any: ...
    @property
    def indptr(self) -> Any: ...
    @property
    def col(self) -> Any: ...


@dataclass(frozen=True)
class BlockTree:
    """The blocks of one graph.

    Attributes:
        block: ``[nodes]``; the block of each node, from 0.
        weights: The number of nodes in each block.
        neighbors: The adjacent blocks of each block.
    """

    block: Array
    weights: list[int]
    neighbors: list[list[int]]

    def nodes(self, subgraphs: Sequence[int]) -> Mask:
        """Which nodes each subgraph contains, ``bool [subgraphs, nodes]``."""
        width = (len(self.weights) + 7) // 8
        raw = b"".join(subgraph.to_bytes(width, "little") for subgraph in subgraphs)
        packed = np.frombuffer(raw, dtype=np.uint8).reshape(len(subgraphs), width)
        bits = np.unpackbits(packed, axis=1, bitorder="little")
        return bits[:, self.block].astype(bool)

    def sums(self, values: Array) -> list[float]:
        """The total of a node value over each block."""
        totals: list[float] = np.bincount(self.block, weights=values).tolist()
        return totals

    @cached_property
    def order(self) -> list[tuple[int, list[int]]]:
        """Each block with its children, children first; every component has its own root."""
        found: list[tuple[int, list[int]]] = []
        seen = [False] * len(self.weights)
        for root in range(len(seen)):
            if seen[root]:
                continue
            seen[root] = True
            stack = [root]
            while stack:
                block = stack.pop()
                children = [other for other in self.neighbors[block] if not seen[other]]
                for child in children:
                    seen[child] = True
                found.append((block, children))
                stack += children
        return found[::-1]

    @cached_property
    def adjacent(self) -> list[int]:
        """The adjacent blocks of each block, as a bitmask."""
        return [sum([1 << other for other in others]) for others in self.neighbors]

    @cached_property
    def reachable(self) -> int:
        """The numbers of nodes that a connected subgraph can have, as a bitmask."""
        sizes: dict[int, int] = {}
        every = 0
        for block, children in self.order:
            own = 1 << self.weights[block]
            for child in children:
                merged, extra = own, sizes[child]
                while extra:
                    bit = extra & -extra
                    merged |= own * bit  # a power of two: shifted by as many nodes
                    extra ^= bit
                own = merged
            sizes[block] = own
            every |= own
        return every


def block_trees(graphs: Graphs, blocks: Array) -> list[BlockTree]:
    """The block tree of each graph.

    Args:
        graphs: undirected graphs; each edge is listed from both ends.
        blocks: ``int [nodes]``; nodes of one graph with equal numbers cannot be separated.
    """
    ptr, indptr, col = (np.asarray(a) for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    labels = np.asarray(blocks, dtype=np.int64)
    span = int(labels.max(initial=0)) + 1
    distinct, block = np.unique(graph * span + labels, return_inverse=True)
    block_ptr = np.searchsorted(distinct, np.arange(len(ptr)) * span)
    receiver = np.repeat(np.arange(len(graph)), np.diff(indptr))
    ends = np.stack([block[receiver], block[col + ptr[graph[receiver]]]])
    ends = ends[:, ends[0] != ends[1]]
    pairs = np.unique(ends[0] * max(len(distinct), 1) + ends[1])
    start, other = np.divmod(pairs, max(len(distinct), 1))
    row_ptr = np.searchsorted(start, np.arange(len(distinct) + 1)).tolist()
    home = distinct // span
    other = (other - block_ptr[home[other]]).tolist()
    weights = np.bincount(block, minlength=len(distinct)).tolist()
    local = block - block_ptr[graph]
    trees = []
    for number, (low, high) in enumerate(pairwise(block_ptr.tolist())):
        tree = BlockTree(
            block=local[ptr[number] : ptr[number + 1]],
            weights=weights[low:high],
            neighbors=[other[row_ptr[b] : row_ptr[b + 1]] for b in range(low, high)],
        )
        # A forest has one root for each component and one edge for each other block.
        if sum(map(len, tree.neighbors)) != 2 * sum(len(kids) for _, kids in tree.order):
            raise InputError(
                f"the blocks of graph {number} form a ring; give all nodes of a ring one block, "
                "as vgib.chem.blocks.indivisible_blocks does"
            )
        trees.append(tree)
    return trees


# (value, -mask): the masks of a tree's branches are disjoint, so both parts just add up, and of two
# equal values the lower mask is the larger state.
_State: TypeAlias = tuple[float, int]


def best_subgraphs(
    tree: BlockTree, values: Sequence[float], *, limit: int, n: int = 1
) -> dict[int, list[tuple[float, int]]]:
    """For each reachable size up to ``limit`` the ``n`` subgraphs of largest total value.

    The best one comes first.

    Exact, but for ties (:mod:`vgib.select.ties`), of which the subgraph of lower block numbers
    comes first.

    Args:
        values: one value for each block, for instance ``tree.sums(scores)``.
    """
    if n == 1:
        return {size: [state] for size, state in _best(tree, values, limit).items()}
    tables: dict[int, dict[int, list[_State]]] = {}
    best: dict[int, list[_State]] = {}
    for block, children in tree.order:
        table: dict[int, list[_State]] = {tree.weights[block]: [(values[block], -(1 << block))]}
        for child in children:
            merged = {size: list(states) for size, states in table.items()}
            for size, states in table.items():
                for extra, others in tables[child].items():
                    if size + extra <= limit:
                        merged.setdefault(size + extra, []).extend(
                            [(a + b, x + y) for a, x in states for b, y in others]
                        )
            table = {size: _largest(states, n, size) for size, states in merged.items()}
        tables[block] = table
        for size, states in table.items():
            if size <= limit:
                best.setdefault(size, []).extend(states)
    return {
        size: [(value, -subgraph) for value, subgraph in _largest(best[size], n, size)]
        for size in sorted(best)
    }


def _largest(states: list[_State], n: int, size: int) -> list[_State]:
    """The ``n`` largest states of a size; of those that are a tie the lower masks."""
    ordered = sorted(states, reverse=True)
    level, ranked = 0, []
    for before, state in pairwise((ordered[0], *ordered)):
        level += before[0] - state[0] > TIE * size
        ranked.append((level, -state[1], state))
    ranked.sort()
    return [state for _, _, state in ranked[:n]]


def _best(tree: BlockTree, values: Sequence[float], limit: int) -> dict[int, _State]:
    """The one best subgraph of each size: the same without lists, and much faster."""
    tables: dict[int, dict[int, _State]] = {}
    best: dict[int, _State] = {}
    for block, children in tree.order:
        table: dict[int, _State] = {tree.weights[block]: (values[block], -(1 << block))}
        for child in children:
            merged = dict(table)
            for extra, (value, subgraph) in tables[child].items():
                for size, (own, mask) in table.items():
                    total = size + extra
                    if total <= limit:
                        state = (own + value, mask + subgraph)
                        if total not in merged or _is_better(state, merged[total], total):
                            merged[total] = state
            table = merged
        tables[block] = table
        for size, state in table.items():
            if size <= limit and (size not in best or _is_better(state, best[size], size)):
                best[size] = state
    return {size: (best[size][0], -best[size][1]) for size in sorted(best)}


def _is_better(state: _State, other: _State, size: int) -> bool:
    gain, tie = state[0] - other[0], TIE * size
    return gain > tie or (gain >= -tie and state[1] > other[1])


def nearest_size(tree: BlockTree, wanted: int) -> int:
    """The reachable size nearest to the wanted one; of two equally near the smaller."""
    below = tree.reachable & ((2 << wanted) - 1)
    above = tree.reachable >> wanted
    largest = below.bit_length() - 1
    if not above:
        return largest
    smallest = wanted + (above & -above).bit_length() - 1
    return largest if below and wanted - largest <= smallest - wanted else smallest


class Counted:
    """The connected subgraphs of up to ``high`` nodes, counted so that one can be drawn.

    They are not listed, so that no molecule is too large.
    """

    def __init__(self, tree: BlockTree, high: int) -> None:
        # stages[block][i][size]: the number of subgraphs below it with its first i children merged.
        stages: dict[int, list[dict[int, int]]] = {}
        for block, children in tree.order:
            counts = {tree.weights[block]: 1}
            stages[block] = [counts]
            for child in children:
                merged = dict(counts)
                for size, count in counts.items():
                    for extra, others in stages[child][-1].items():
                        if size + extra <= high:
                            merged[size + extra] = merged.get(size + extra, 0) + count * others
                counts = merged
                stages[block].append(counts)
        self.stages, self.children_of = stages, dict(tree.order)

    def draw(self, low: int, high: int, rng: np.random.Generator) -> int | None:
        """One of ``low`` to ``high`` nodes, all equally likely; ``None`` if there is none."""
        stages = self.stages
        starts = {
            (block, size): count
            for block, steps in stages.items()
            for size, count in steps[-1].items()
            if low <= size <= high
        }
        if not starts:
            return None
        subgraph = 0
        todo = [_draw(starts, rng)]
        while todo:
            block, size = todo.pop()
            subgraph |= 1 << block
            for step in range(len(self.children_of[block]), 0, -1):
                child = self.children_of[block][step - 1]
                before = stages[block][step - 1]
                shares = {
                    extra: before[size - extra] * others
                    for extra, others in ({0: 1} | stages[child][-1]).items()
                    if size - extra in before
                }
                extra = _draw(shares, rng)
                if extra:
                    todo.append((child, extra))
                    size -= extra
        return subgraph


def _draw(weights: dict[Any, int], rng: np.random.Generator) -> Any:
    total = sum(weights.values())
    # Counts can exceed every machine integer; 53 random bits are plenty for a ratio.
    position = int(rng.integers(1 << 53)) * total >> 53
    for choice, weight in weights.items():
        position -= weight
        if position < 0:
            return choice
    raise AssertionError("weights are positive")


class ListedSubgraphs(NamedTuple):
    """Enumerated subgraphs, and whether these are all."""

    masks: list[int]
    complete: bool


def connected_subgraphs(
    tree: BlockTree, low: int, high: int, *, cap: int = 10_000
) -> ListedSubgraphs:
    """Every connected subgraph of ``low`` to ``high`` nodes, each once.

    Works for any block graph, also one with rings. The set of smallest block ``r`` is grown block
    by block; a block that was tried and left is closed for all that is tried after it.

    Args:
        cap: the most subgraphs that are visited, those below ``low`` included; where it is reached
            the answer is a part of the truth and says so.
    """
    adjacent, weights = tree.adjacent, tree.weights
    found: list[int] = []
    visited = 0
    for root, weight in enumerate(weights):
        if weight > high:
            continue
        closed = (2 << root) - 1
        stack = [(1 << root, adjacent[root] & ~closed, closed, weight)]
        while stack:
            subgraph, frontier, closed, size = stack.pop()
            if visited == cap:
                return ListedSubgraphs(found, complete=False)
            visited += 1
            if size >= low:
                found.append(subgraph)
            while frontier:
                bit = frontier & -frontier
                frontier ^= bit
                closed |= bit
                block = bit.bit_length() - 1
                grown = size + weights[block]
                if grown <= high:
                    opened = frontier | adjacent[block] & ~closed
                    stack.append((subgraph | bit, opened, closed, grown))
    return ListedSubgraphs(found, complete=True)
