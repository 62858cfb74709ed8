"""Against the known explanation, and against another seed."""

import pytest
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.explain.agreement import ground_truth, stability


def test_the_truth_itself_is_found_and_chance_is_one_half() -> None:
    graphs = generate_ba2motifs(20, seed=0)
    assert graphs.node_truth is not None
    found = ground_truth(graphs, graphs.node_truth.float())
    assert found.node_auc.value == 1
    assert found.precision.value == 1
    assert found.edge_auc is None or found.edge_auc.value > 0.95
    assert 0.4 < found.random_node_auc.value < 0.6
    assert found.random_precision.value < 0.4


def test_without_truth_there_is_nothing_to_compare_with(graphs: PackedGraphs) -> None:
    with pytest.raises(InputError, match="no node_truth"):
        ground_truth(graphs, torch.rand(graphs.num_nodes))


def test_stability_is_the_mean_overlap_of_pairs() -> None:
    ptr = torch.tensor([0, 4, 6])
    a = torch.tensor([0.9, 0.8, 0.1, 0.0, 0.9, 0.1])
    b = torch.tensor([0.9, 0.0, 0.8, 0.1, 0.9, 0.1])
    (found,) = stability([a, b], ptr)
    assert found.jaccard.value == pytest.approx((1 / 3 + 1) / 2)
    (same,) = stability([a, a, a], ptr)
    assert same.jaccard.value == 1
    assert same.random_jaccard.value < 1
    with pytest.raises(InputError, match="at least two runs; got 1"):
        stability([a], ptr)
