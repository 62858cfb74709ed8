"""Random masks that know nothing of a graph's label: what a predictor of parts learns from.

Independent draws almost never show a whole ring or group; balls around a node do. Their complements
show what a graph looks like without one, and the whole graph is what a part is compared with.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from vgib.nn.paper_vgib import relax
from vgib.nn.sparse import Adjacency, Segments

RATES = (0.01, 0.99)
"""The least and the largest keep-rate of independent gates."""

SHARPNESS = 0.3
"""Temperature of independent gates: nearly 0 or 1."""


def random_masks(
    adj: Adjacency, graphs: Segments, *, independent: float, ball: float, hops: int
) -> Tensor:
    """A mask for each graph, ``[num_nodes]``, in [0, 1].

    With probability ``independent`` each node has its own gate; with probability ``ball`` it is a
    ball of at most ``hops`` steps or, as often, all but the ball; else it is the whole graph.
    """
    kind = torch.rand(graphs.num_graphs, device=graphs.ptr.device)
    inside = ball_masks(adj, graphs, hops)
    turned = (torch.rand_like(kind) < 0.5)[graphs.batch]
    shown = torch.where(turned, 1 - inside, inside)
    shown = torch.where((kind < independent + ball)[graphs.batch], shown, 1.0)
    return torch.where((kind < independent)[graphs.batch], independent_masks(graphs), shown)


def independent_masks(graphs: Segments) -> Tensor:
    """Gates of single nodes, at a keep-rate of each graph's own, ``[num_nodes]``."""
    rate = torch.rand(graphs.num_graphs, device=graphs.ptr.device).clamp(*RATES)
    return relax(torch.logit(rate)[graphs.batch], SHARPNESS)


def ball_masks(adj: Adjacency, graphs: Segments, hops: int) -> Tensor:
    """In each graph the nodes within 1 to ``hops`` steps of a random node, ``[num_nodes]``."""
    first, sizes = graphs.ptr[:-1].long(), graphs.ptr.diff().long()
    drawn = (torch.rand(len(sizes), device=first.device) * sizes).long()
    center = (first + torch.minimum(drawn, sizes - 1))[sizes > 0]
    reached = torch.zeros(adj.num_nodes, 1, device=first.device)
    reached[center] = 1.0
    radius = torch.randint(1, hops + 1, sizes.shape, device=first.device)[graphs.batch, None]
    for step in range(1, hops + 1):
        grown = (adj @ reached + reached > 0).to(reached)
        reached = torch.where(radius >= step, grown, reached)
    return reached.squeeze(1)


def every_ball(
    adj: Adjacency, graphs: Segments, hops: int, most: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Balls of 0 to ``hops`` steps around the nodes of each graph, one of each graph at a time.

    Each comes as the nodes inside, ``[num_nodes]``, and whether the graph has such a ball,
    ``[num_graphs]``: a graph has one around each node, or around ``most`` evenly spaced ones.
    """
    first, sizes = graphs.ptr[:-1].long(), graphs.ptr.diff().long()
    centers = sizes.clamp(max=most)
    for number in range(int(centers.max()) if len(centers) else 0):
        has = centers > number
        reached = torch.zeros(adj.num_nodes, 1, device=first.device)
        reached[(first + number * sizes // centers.clamp(min=1))[has]] = 1.0
        for step in range(hops + 1):
            if step:
                reached = (adj @ reached + reached > 0).to(reached)
            yield reached.squeeze(1), has
