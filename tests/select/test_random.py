"""Random subgraphs: what a choice is compared with."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.select.graphs import Packed, blocks_of, packed, parts_of

from vgib.select import random
from vgib.select.blocktree import block_trees, connected_subgraphs, nearest_size


@settings(deadline=None)
@given(packed(tree=True), st.integers(1, 9), st.integers(0, 99))
def test_random_controls_are_connected_and_of_the_size(case, amount, seed):
    graphs, _ = case
    blocks = blocks_of(graphs, 2)
    grown = random.random_connected(graphs, amount, np.random.default_rng(seed))
    whole = random.random_ring_intact(graphs, blocks, amount, np.random.default_rng(seed))
    loose = random.random_atoms(graphs, amount, np.random.default_rng(seed))
    again = random.random_ring_intact(graphs, blocks, amount, np.random.default_rng(seed))
    np.testing.assert_array_equal(whole, again)
    for (low, high), tree in zip(graphs.bounds(), block_trees(graphs, blocks), strict=True):
        wanted = min(amount, high - low)
        assert grown[low:high].sum() == wanted
        assert 1 <= loose[low:high].sum() <= wanted
        for mask in (grown, whole, loose):
            assert len(parts_of(graphs, (low + np.flatnonzero(mask[low:high])).tolist())) == 1
        nearest = abs(nearest_size(tree, wanted) - wanted)
        assert abs(whole[low:high].sum() - wanted) <= max(1, nearest)
        options = tree.nodes(connected_subgraphs(tree, 1, high - low).masks)
        assert any((whole[low:high] == option).all() for option in options)


def test_a_random_connected_set_starts_anywhere_and_grows_evenly():
    star = Packed([4], [(0, 0, 1), (0, 0, 2), (0, 0, 3)])
    rng = np.random.default_rng(0)
    leaves = sum(random.random_connected(star, 2, rng)[1:].astype(int) for _ in range(3000))
    np.testing.assert_allclose(leaves / 3000, 1 / 3, atol=0.04)


@settings(deadline=None)
@given(packed(), st.integers(1, 6), st.integers(0, 99))
def test_a_random_connected_set_is_as_large_as_a_component_allows(case, amount, seed):
    graphs, _ = case
    grown = random.random_connected(graphs, amount, np.random.default_rng(seed))
    for low, high in graphs.bounds():
        largest = max(map(len, parts_of(graphs, range(low, high))))
        if largest >= amount:
            assert grown[low:high].sum() == amount


def test_several_draws_are_rows():
    path = Packed([5, 3], [(0, i, i + 1) for i in range(4)] + [(1, 0, 1), (1, 1, 2)])
    wanted = np.array([[1, 1], [3, 2], [5, 3]])
    blocks = np.array([0, 1, 2, 3, 4, 0, 1, 2])
    rng = np.random.default_rng(0)
    for masks in (
        random.random_nodes(path, wanted, rng),
        random.random_connected(path, wanted, rng),
        random.random_ring_intact(path, blocks, wanted, rng, slack=0),
    ):
        assert [[int(row[:5].sum()), int(row[5:].sum())] for row in masks] == wanted.tolist()
