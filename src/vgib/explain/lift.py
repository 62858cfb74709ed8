"""Between nodes and edges, and onto the scale from 0 to 1: one way for every method."""

import torch
from torch import Tensor

from vgib.nn.sparse import Segments

FLAT = 0.5
"""The score of every node of a graph whose nodes are all alike."""


def to_edges(scores: Tensor, edge_index: Tensor) -> Tensor:
    r"""Edge scores from node scores, :math:`s_{ij} = \min(s_i, s_j)`.

    At every threshold the edges that are left are those of the induced subgraph.

    >>> to_edges(torch.tensor([0.9, 0.2, 0.7]), torch.tensor([[0, 1, 0], [1, 0, 2]]))
    tensor([0.2000, 0.2000, 0.7000])
    """
    return torch.minimum(scores[edge_index[0]], scores[edge_index[1]])


def to_nodes(edge_scores: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Node scores from edge scores: the mean over a node's edges, 0 for a node without any.

    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> to_nodes(torch.tensor([1.0, 0.6, 0.2, 0.2]), edges, 4)
    tensor([0.8000, 0.5000, 0.2000, 0.0000])
    """
    pairs, means, _ = _undirected(edge_scores, edge_index, num_nodes)
    # Each undirected edge is met once at each of its ends, whichever directions are listed.
    ends = torch.cat([pairs // max(num_nodes, 1), pairs % max(num_nodes, 1)])
    total = means.new_zeros(num_nodes).index_add(0, ends, means.repeat(2))
    count = means.new_zeros(num_nodes).index_add(0, ends, means.new_ones(len(ends)))
    return total / count.clamp(min=1)


def undirected(edge_scores: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """One score for the two directions of an edge: their mean."""
    _, means, key = _undirected(edge_scores, edge_index, num_nodes)
    return means[key]


def _undirected(
    edge_scores: Tensor, edge_index: Tensor, num_nodes: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of the pairs that have an edge, their mean scores, and the pair of each edge."""
    low, high = edge_index.min(0).values, edge_index.max(0).values
    pairs, key = torch.unique(low * num_nodes + high, return_inverse=True)
    total = edge_scores.new_zeros(len(pairs)).index_add(0, key, edge_scores)
    count = edge_scores.new_zeros(len(pairs)).index_add(0, key, torch.ones_like(edge_scores))
    return pairs, total / count, key


def scaled(values: Tensor, graphs: Segments, flat: float = 1e-6) -> Tensor:
    r"""Attributions to [0, 1], graph by graph, in the same order.

    .. math:: s_j = \frac{a_j - \min_k a_k}{\max_k a_k - \min_k a_k}

    Where all are equal but for rounding (``flat``, relative to the largest), one half.
    """
    top, bottom = graphs.max(values), -graphs.max(-values)
    spread = top - bottom
    is_flat = spread <= flat * torch.maximum(top.abs(), bottom.abs())
    of_node = graphs.batch
    span = torch.where(is_flat, 1.0, spread)[of_node]
    return torch.where(is_flat[of_node], FLAT, (values - bottom[of_node]) / span)


def ranks(values: Tensor, graphs: Segments) -> Tensor:
    """The place of each node in its graph, best first, ties by number, ``int64 [num_nodes]``."""
    order = torch.argsort(values, descending=True, stable=True)
    order = order[torch.argsort(graphs.batch[order], stable=True)]
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return place - graphs.ptr.long()[graphs.batch]
