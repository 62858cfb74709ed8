"""Masks that know nothing of the label: what they show, and how often."""

import torch

from vgib.nn.masks import ball_masks, every_ball, independent_masks, random_masks
from vgib.nn.sparse import Adjacency, Segments


def paths(count: int, nodes: int) -> tuple[Adjacency, Segments]:
    """So many paths of so many nodes."""
    starts = torch.arange(count * nodes).view(count, nodes)
    ends = torch.stack([starts[:, :-1].flatten(), starts[:, 1:].flatten()])
    edge_index = torch.cat([ends, ends.flip(0)], dim=1)
    graphs = Segments.from_batch(torch.arange(count).repeat_interleave(nodes))
    return Adjacency.from_edge_index(edge_index, count * nodes), graphs


def test_a_ball_is_a_stretch_of_a_path_of_the_right_lengths() -> None:
    adj, graphs = paths(500, 21)
    shown = ball_masks(adj, graphs, hops=3).view(500, 21)
    assert set(shown.unique().tolist()) == {0.0, 1.0}
    edges = (shown.diff(dim=1) != 0).sum(1)
    assert int(edges.max()) <= 2  # connected
    sizes = shown.sum(1)
    assert int(sizes.min()) >= 2 and int(sizes.max()) == 7
    assert {3, 5, 7} <= set(sizes.int().tolist())


def test_independent_gates_have_a_rate_of_each_graphs_own() -> None:
    _, graphs = paths(400, 50)
    rates = independent_masks(graphs).view(400, 50).mean(1)
    assert float(rates.min()) < 0.1 and float(rates.max()) > 0.9
    assert abs(float(rates.mean()) - 0.5) < 0.05


def test_the_shares_of_the_kinds_are_those_asked_for() -> None:
    adj, graphs = paths(4000, 12)
    shown = random_masks(adj, graphs, independent=0.0, ball=0.4, hops=2).view(4000, 12)
    whole = (shown == 1).all(1).float().mean()
    assert abs(float(whole) - 0.6) < 0.03
    parts = shown[(shown != 1).any(1)]
    small = (parts.sum(1) < 6).float().mean()  # a ball, or all but the ball
    assert abs(float(small) - 0.5) < 0.06


def test_graphs_without_nodes_are_passed_over() -> None:
    graphs = Segments(torch.tensor([0, 0, 2, 2], dtype=torch.int32))
    adj = Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
    mask = random_masks(adj, graphs, independent=0.3, ball=0.4, hops=4)
    assert mask.shape == (2,)


def test_there_is_a_ball_of_every_radius_around_every_node() -> None:
    adj, graphs = paths(1, 5)
    found = [(ball.int().tolist(), has.tolist()) for ball, has in every_ball(adj, graphs, 1, 64)]
    assert len(found) == 10
    assert found[4] == ([0, 0, 1, 0, 0], [True])
    assert found[5] == ([0, 1, 1, 1, 0], [True])


def test_a_graph_has_no_more_balls_than_nodes_or_than_the_most() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    adj = Adjacency.from_edge_index(edge_index, 6)
    graphs = Segments.from_batch(torch.tensor([0, 0, 1, 1, 1, 1]))
    balls = list(every_ball(adj, graphs, 0, most=3))
    assert [has.tolist() for _, has in balls] == [[True, True], [True, True], [False, True]]
    # Of four nodes the three that are asked for, evenly spaced.
    centers = [ball[2:].nonzero().flatten().tolist() for ball, _ in balls]
    assert centers == [[0], [1], [2]]
