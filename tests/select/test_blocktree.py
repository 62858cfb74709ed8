from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vgib.errors import InputError
from vgib.select.blocktree import (
    BlockTree,
    Counted,
    best_subgraphs,
    block_trees,
    connected_subgraphs,
    nearest_size,
)


@st.composite
def trees(draw, forest=True):
    """A random forest of blocks with random weights."""
    count = draw(st.integers(1, 8))
    weights = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    neighbors = [[] for _ in range(count)]
    for child in range(1, count):
        parent = draw(st.integers(-1 if forest else 0, child - 1))
        if parent >= 0:
            neighbors[child].append(parent)
            neighbors[parent].append(child)
    block = np.repeat(np.arange(count), weights)
    return BlockTree(block, weights, neighbors)


def is_connected(tree, members):
    reached, stack = {members[0]}, [members[0]]
    while stack:
        for other in tree.neighbors[stack.pop()]:
            if other in members and other not in reached:
                reached.add(other)
                stack.append(other)
    return len(reached) == len(members)


def all_subgraphs(tree):
    """Every connected set of blocks, by trying all sets."""
    blocks = range(len(tree.weights))
    for amount in range(1, len(tree.weights) + 1):
        for members in combinations(blocks, amount):
            if is_connected(tree, members):
                yield sum(1 << b for b in members), sum(tree.weights[b] for b in members)


@settings(deadline=None)
@given(trees(), st.integers(1, 20), st.integers(0, 20))
def test_enumeration_finds_each_connected_union_in_the_window_once(tree, low, width):
    found = connected_subgraphs(tree, low, low + width)
    expected = [subgraph for subgraph, size in all_subgraphs(tree) if low <= size <= low + width]
    assert found.complete
    assert sorted(found.masks) == sorted(expected)


def test_enumeration_also_works_on_a_ring_of_blocks():
    ring = BlockTree(np.arange(4), [1] * 4, [[1, 3], [0, 2], [1, 3], [2, 0]])
    assert len(connected_subgraphs(ring, 1, 4).masks) == 4 + 4 + 4 + 1


def test_an_enumeration_that_reaches_its_cap_says_so():
    star = BlockTree(np.arange(30), [1] * 30, [list(range(1, 30)), *[[0]] * 29])
    found = connected_subgraphs(star, 10, 12, cap=100)
    assert not found.complete
    assert len(found.masks) <= 100


@settings(deadline=None)
@given(trees(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_best_subgraphs_are_the_best_of_all_subgraphs(tree, random, n):
    values = [float(random.randrange(100)) for _ in tree.weights]
    limit = sum(tree.weights)
    found = best_subgraphs(tree, values, limit=limit, n=n)
    expected = {}
    for subgraph, size in all_subgraphs(tree):
        total = sum(values[b] for b in range(len(values)) if subgraph >> b & 1)
        expected.setdefault(size, []).append((total, subgraph))
    assert list(found) == sorted(expected)
    for size, states in expected.items():
        best = sorted(states, key=lambda state: (-state[0], state[1]))[:n]
        assert found[size] == best


@settings(deadline=None)
@given(trees(), st.integers(1, 30))
def test_the_nearest_size_is_the_nearest_of_all_sizes(tree, wanted):
    sizes = {size for _, size in all_subgraphs(tree)}
    assert nearest_size(tree, wanted) == min(sizes, key=lambda size: (abs(size - wanted), size))


def test_random_subgraphs_are_uniform():
    tree = BlockTree(
        np.repeat(np.arange(6), [2, 1, 1, 3, 1, 1]),
        [2, 1, 1, 3, 1, 1],
        [[1, 2], [0, 3, 4], [0, 5], [1], [1], [2]],
    )
    expected = [subgraph for subgraph, size in all_subgraphs(tree) if 4 <= size <= 6]
    rng = np.random.default_rng(0)
    draws = 400 * len(expected)
    counts = Counter(Counted(tree, 6).draw(4, 6, rng) for _ in range(draws))
    assert set(counts) == set(expected)
    chi_square = sum((count - 400) ** 2 / 400 for count in counts.values())
    assert chi_square < 2.5 * len(expected)


def test_a_random_subgraph_of_an_unreachable_size_is_none():
    tree = BlockTree(np.zeros(6, dtype=int), [6], [[]])
    assert Counted(tree, 4).draw(2, 4, np.random.default_rng(0)) is None


def test_counting_goes_beyond_machine_integers():
    star = BlockTree(np.arange(200), [1] * 200, [list(range(1, 200)), *[[0]] * 199])
    subgraph = Counted(star, 100).draw(100, 100, np.random.default_rng(0))
    assert subgraph.bit_count() == 100 and subgraph & 1


@settings(deadline=None)
@given(trees())
def test_masks_turn_into_the_nodes_of_their_blocks(tree):
    subgraphs = [subgraph for subgraph, _ in all_subgraphs(tree)]
    masks = tree.nodes(subgraphs)
    for subgraph, mask in zip(subgraphs, masks, strict=True):
        assert mask.tolist() == [bool(subgraph >> block & 1) for block in tree.block]
    assert tree.nodes([]).shape == (0, len(tree.block))


class Packed:
    """Two graphs: a triangle with a tail (nodes 0-3), and a path of three."""

    node_ptr = np.array([0, 4, 7])
    indptr = np.array([0, 2, 4, 7, 8, 9, 11, 12])
    col = np.array([1, 2, 0, 2, 0, 1, 3, 2, 1, 0, 2, 1])


def test_trees_are_built_graph_by_graph_from_packed_arrays():
    first, second = block_trees(Packed, np.array([5, 5, 5, 9, 0, 1, 1]))
    assert first.weights == [3, 1] and first.neighbors == [[1], [0]]
    assert first.block.tolist() == [0, 0, 0, 1]
    assert second.weights == [1, 2] and second.neighbors == [[1], [0]]


def test_blocks_that_leave_a_ring_are_refused():
    with pytest.raises(InputError, match="graph 0 form a ring"):
        block_trees(Packed, np.array([0, 1, 2, 3, 0, 1, 2]))
