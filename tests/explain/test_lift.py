"""Nodes to edges, edges to nodes, attributions to scores."""

import torch

from vgib.explain.lift import ranks, scaled, to_edges, to_nodes, undirected
from vgib.nn.sparse import Segments

# A path 0 - 1 - 2 whose second edge is listed in one direction only; node 3 is alone.
EDGES = torch.tensor([[0, 1, 2], [1, 0, 1]])


def test_an_edge_scores_as_its_worse_end_so_that_thresholds_induce_subgraphs() -> None:
    scores = torch.tensor([0.9, 0.4, 0.7, 1.0])
    edges = to_edges(scores, EDGES)
    assert torch.equal(edges, torch.tensor([0.4, 0.4, 0.4]))
    for bar in (0.3, 0.5):
        kept = scores >= bar
        assert torch.equal(edges >= bar, kept[EDGES[0]] & kept[EDGES[1]])


def test_both_directions_of_an_edge_share_one_score() -> None:
    found = undirected(torch.tensor([1.0, 0.5, 0.2]), EDGES, 4)
    assert torch.allclose(found, torch.tensor([0.75, 0.75, 0.2]))


def test_a_node_scores_the_mean_of_its_edges_however_often_they_are_listed() -> None:
    found = to_nodes(torch.tensor([1.0, 0.5, 0.25]), EDGES, 4)
    assert torch.allclose(found, torch.tensor([0.75, 0.5, 0.25, 0.0]))


def test_without_edges_nodes_score_nothing() -> None:
    none = torch.zeros(2, 0, dtype=torch.int64)
    assert torch.equal(to_nodes(torch.zeros(0), none, 2), torch.zeros(2))
    assert to_edges(torch.rand(2), none).shape == (0,)
    assert undirected(torch.zeros(0), none, 2).shape == (0,)


def test_attributions_fill_the_unit_interval_of_each_graph_in_the_same_order() -> None:
    graphs = Segments.from_batch(torch.tensor([0, 0, 0, 1, 1, 2]))
    found = scaled(torch.tensor([-4.0, 0.0, 4.0, 3.0, 3.0 + 1e-7, -1.0]), graphs)
    assert torch.allclose(found, torch.tensor([0.0, 0.5, 1.0, 0.5, 0.5, 0.5]))


def test_ranks_count_within_a_graph_and_break_ties_by_number() -> None:
    graphs = Segments.from_batch(torch.tensor([0, 0, 0, 1, 1]))
    found = ranks(torch.tensor([0.1, 0.9, 0.1, 0.5, 0.5]), graphs)
    assert found.tolist() == [1, 0, 2, 0, 1]
