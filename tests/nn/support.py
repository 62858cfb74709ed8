"""Graphs on which layers and encoders are compared."""

import torch
from torch import Tensor


def random_graph(
    num_nodes: int = 9, is_directed: bool = False, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Features and edges in a random order; the last node stays alone."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.rand(num_nodes, num_nodes, generator=generator) < 0.3
    if not is_directed:
        dense = dense | dense.T
    dense.fill_diagonal_(False)
    dense[-1] = dense[:, -1] = False
    edges = dense.nonzero().T
    edges = edges[:, torch.randperm(edges.shape[1], generator=generator)]
    return torch.randn(num_nodes, 4, dtype=torch.float64, generator=generator), edges
