"""Attention pooling against PyG's softmax."""

import pytest
import torch
from torch_geometric.utils import softmax

from vgib.nn.attention import Attention
from vgib.nn.bottleneck import Encoded
from vgib.nn.sparse import Adjacency, Segments

SIZES = [3, 1, 4]


def encoded_of(h: torch.Tensor, readout: str = "sum") -> Encoded:
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), len(h))
    graphs = Segments(torch.tensor([0, *SIZES]).cumsum(0).int())
    return Encoded(h, (h,), adj, graphs, readout)


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_the_readout_is_the_attention_weighted_sum_of_the_nodes(readout: str) -> None:
    h = torch.randn(8, 5, dtype=torch.float64)
    attention = Attention(5).double()
    encoded = encoded_of(h, readout)
    perturbed = attention(encoded)
    alpha = softmax(attention.gate(h), encoded.graphs.batch)
    expected = torch.stack([part.sum(0) for part in (alpha[:, None] * h).split(SIZES)])
    assert torch.allclose(perturbed.graph, expected)


def test_scores_are_relative_to_the_largest_weight_of_the_graph() -> None:
    encoded = encoded_of(torch.randn(8, 5))
    attention = Attention(5)
    alpha = softmax(attention.gate(encoded.h), encoded.graphs.batch)
    for scores, weight in zip(
        attention(encoded).scores.split(SIZES), alpha.split(SIZES), strict=True
    ):
        assert torch.allclose(scores, weight / weight.max())
        assert scores.max() == 1


def test_the_gradient_is_that_of_the_softmax() -> None:
    h = torch.randn(8, 5, dtype=torch.float64, requires_grad=True)
    attention = Attention(5).double()

    def pooled(h: torch.Tensor) -> torch.Tensor:
        return attention(encoded_of(h)).graph

    assert torch.autograd.gradcheck(pooled, h)


def test_logits_that_would_overflow_stay_finite() -> None:
    attention = Attention(5)
    with torch.no_grad():
        attention.gate.mlp[-1].weight.mul_(1e4)
    h = torch.randn(8, 5)
    perturbed = attention(encoded_of(h))
    assert perturbed.scores.isfinite().all()
    # Weights that sum to one keep the readout between the smallest and the largest of the nodes.
    for graph, own in zip(perturbed.graph, h.split(SIZES), strict=True):
        assert (graph >= own.amin(0) - 1e-5).all()
        assert (graph <= own.amax(0) + 1e-5).all()
