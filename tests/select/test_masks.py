import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.select.graphs import Packed, blocks_of, packed, parts_of

from vgib.errors import InputError
from vgib.select import masks as select
from vgib.select.blocktree import block_trees, connected_subgraphs


@given(packed(), st.sampled_from([0.1, 0.29, 0.3, 0.5, 0.55, 1.0]))
def test_keep_ratio_takes_the_best_nodes_of_each_graph(case, ratio):
    graphs, scores = case
    mask = select.keep_ratio(scores, graphs.node_ptr, ratio)
    for low, high in graphs.bounds():
        amount = max(1, math.floor(round(ratio * (high - low), 6) + 0.5))
        best = sorted(range(low, high), key=lambda node: (-scores[node], node))[:amount]
        assert np.flatnonzero(mask[low:high]).tolist() == sorted(node - low for node in best)


def test_a_half_is_rounded_up_as_on_paper():
    ptr = np.array([0, 50, 53, 54])
    assert select.sizes_of_ratio(ptr, 0.29).tolist() == [15, 1, 1]
    assert select.sizes_of_ratio(ptr, 0.5).tolist() == [25, 2, 1]


@given(packed())
def test_threshold_keeps_half_or_more_and_else_the_best_node(case):
    graphs, scores = case
    mask = select.threshold(scores, graphs.node_ptr)
    for low, high in graphs.bounds():
        own = scores[low:high]
        expected = own >= 0.5
        if not expected.any():
            expected[own.argmax()] = True
        np.testing.assert_array_equal(mask[low:high], expected)


@given(packed(), st.integers(1, 12))
def test_size_is_exact_unless_the_graph_is_smaller(case, amount):
    graphs, scores = case
    mask = select.size(scores, graphs.node_ptr, amount)
    for low, high in graphs.bounds():
        assert mask[low:high].sum() == min(amount, high - low)


@settings(deadline=None)
@given(packed())
def test_the_largest_connected_part_equals_a_walk(case):
    graphs, scores = case
    mask = scores >= 0.5
    kept = select.largest_connected(mask, graphs, scores)
    for low, high in graphs.bounds():
        parts = parts_of(graphs, [n for n in range(low, high) if mask[n]])
        parts.sort(key=lambda p: (-len(p), -sum(scores[n] for n in p), min(p)))
        expected = sorted(parts[0]) if parts else []
        assert (low + np.flatnonzero(kept[low:high])).tolist() == expected


def best(scores, graphs, amount, blocks=None):
    """The nodes of the first ranked set of each graph."""
    found = select.ranked(scores, graphs, sizes=[amount], blocks=blocks)
    return select.mask_of(found, graphs.node_ptr)


@settings(deadline=None)
@given(packed(), st.integers(1, 9))
def test_growth_by_score_takes_the_best_open_neighbor_each_time(case, amount):
    graphs, scores = case
    mask = best(scores, graphs, amount)
    for low, high in graphs.bounds():
        parts = parts_of(graphs, range(low, high))
        enough = [part for part in parts if len(part) >= min(amount, max(map(len, parts)))]
        if max(map(len, parts)) < amount:  # of the largest parts that with the best node
            enough = sorted(enough, key=lambda part: min((-scores[n], n) for n in part))[:1]
        grown = {min(set().union(*enough), key=lambda node: (-scores[node], node))}
        while len(grown) < amount:
            border = {o for n in grown for o in graphs.neighbors(n)} - grown
            if not border:
                break
            grown.add(min(border, key=lambda node: (-scores[node], node)))
        assert set((low + np.flatnonzero(mask[low:high])).tolist()) == grown


@settings(deadline=None)
@given(packed(tree=True), st.integers(1, 9), st.integers(1, 3))
def test_ring_intact_is_the_best_mean_at_the_nearest_size(case, amount, width):
    graphs, scores = case
    # Blocks: a node and its parent share one where the number allows; any partition into connected
    # parts of a tree is a tree again.
    blocks = blocks_of(graphs, width)
    mask = best(scores, graphs, amount, blocks)
    for (low, high), tree in zip(graphs.bounds(), block_trees(graphs, blocks), strict=True):
        options = tree.nodes(connected_subgraphs(tree, 1, high - low).masks)
        own = scores[low:high]
        wanted = min(amount, high - low)
        nearest = min((abs(o.sum() - wanted), -own[o].mean()) for o in options)
        chosen = mask[low:high]
        assert any((chosen == option).all() for option in options)
        assert abs(chosen.sum() - wanted) == nearest[0]
        assert own[chosen].mean() == pytest.approx(-nearest[1])


SELECTORS = {
    "threshold": lambda s, g, b: select.threshold(s, g.node_ptr),
    "keep_ratio": lambda s, g, b: select.keep_ratio(s, g.node_ptr, 0.5),
    "size": lambda s, g, b: select.size(s, g.node_ptr, 2),
    "largest_connected": lambda s, g, b: select.largest_connected(s >= 0.5, g, s),
}
RANKED = {
    "connected": lambda s, g, b: best(s, g, 3),
    "ring_intact": lambda s, g, b: best(s, g, 3, b),
}


@pytest.mark.parametrize("selector", [*SELECTORS.values(), *RANKED.values()])
@settings(deadline=None, max_examples=30)
@given(case=packed(tree=True))
def test_a_batch_and_its_graphs_one_by_one_get_the_same_mask(selector, case):
    graphs, scores = case
    blocks = blocks_of(graphs, 1)
    whole = selector(scores, graphs, blocks)
    for low, high in graphs.bounds():
        edges = [(0, n - low, o - low) for n in range(low, high) for o in graphs.neighbors(n)]
        single = Packed([high - low], [edge for edge in edges if edge[1] < edge[2]])
        alone = selector(scores[low:high], single, blocks[low:high])
        np.testing.assert_array_equal(alone, whole[low:high])


@pytest.mark.parametrize("name", SELECTORS)
def test_tensors_give_tensors_and_one_node_graphs_are_kept(name):
    graphs = Packed([1, 3], [(1, 0, 1), (1, 1, 2)])
    scores, blocks = torch.tensor([0.6, 0.1, 0.9, 0.2]), np.array([0, 0, 1, 2])
    mask = SELECTORS[name](scores, graphs, blocks)
    assert isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
    assert mask[0]
    np.testing.assert_array_equal(mask.numpy(), SELECTORS[name](scores.numpy(), graphs, blocks))


@pytest.mark.parametrize("selector", RANKED.values())
def test_tensors_are_ranked_as_arrays_and_one_node_graphs_are_kept(selector):
    graphs = Packed([1, 3], [(1, 0, 1), (1, 1, 2)])
    scores, blocks = torch.tensor([0.6, 0.1, 0.9, 0.2]), np.array([0, 0, 1, 2])
    mask = selector(scores, graphs, blocks)
    assert mask[0]
    np.testing.assert_array_equal(mask, selector(scores.numpy(), graphs, blocks))


def test_empty_graphs_stay_empty():
    graphs = Packed([0, 2], [(1, 0, 1)])
    scores = np.array([0.9, 0.1])
    for name, selector in (SELECTORS | RANKED).items():
        assert selector(scores, graphs, np.array([0, 1])).any(), name
    assert select.ranked(scores, graphs, sizes=[1])[0] == []


def test_ranked_subgraphs_come_by_size_and_then_by_score():
    graphs = Packed([6], [(0, i, i + 1) for i in range(5)])
    scores = np.array([0.9, 0.8, 0.1, 0.2, 0.7, 0.6])
    (found,) = select.ranked(scores, graphs, blocks=np.arange(6), sizes=(2, 3), n=2)
    assert found == [(0, 1), (4, 5), (0, 1, 2), (3, 4, 5)]


def test_ranked_without_blocks_grows_from_the_best_nodes():
    graphs = Packed([5], [(0, i, i + 1) for i in range(4)])
    scores = np.array([0.9, 0.1, 0.0, 0.1, 0.8])
    (found,) = select.ranked(scores, graphs, sizes=[2], n=2)
    assert found == [(0, 1), (3, 4)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: select.keep_ratio(np.ones(3), np.array([0, 3]), 0.0), "above 0 and at most 1"),
        (lambda: select.keep_ratio(np.ones(3), np.array([0, 3]), 30), "above 0 and at most 1"),
        (lambda: select.size(np.ones(3), np.array([0, 3]), 0), "a size of 0"),
        (lambda: select.size(np.ones(2), np.array([0, 3]), 1), "one score for each node"),
        (lambda: select.threshold(np.array([np.nan]), np.array([0, 1])), "node 0 is NaN"),
    ],
)
def test_wrong_arguments_say_what_was_expected(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_connected_nodes_are_as_many_as_asked_where_the_best_node_stands_alone():
    graphs, scores = Packed([4], [(0, 1, 2), (0, 2, 3)]), np.array([0.9, 0.1, 0.2, 0.3])
    assert np.flatnonzero(best(scores, graphs, 2)).tolist() == [2, 3]
    assert np.flatnonzero(best(scores, graphs, 1)).tolist() == [0]
    # More than any part has: the largest part.
    assert np.flatnonzero(best(scores, graphs, 4)).tolist() == [1, 2, 3]
