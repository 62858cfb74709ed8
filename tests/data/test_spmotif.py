"""SPMotif: how the graphs are made, and in which parts they differ."""

import time

import numpy as np
import pytest
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.spmotif import _extra, generate_spmotif, spmotif_split
from vgib.errors import InputError
from vgib.select.masks import largest_connected

SIZES = (900, 300, 300)


def base_of(graphs: PackedGraphs, number: int) -> int:
    """The base by its degrees: a wheel has a hub, a ladder only nodes of two or three."""
    nodes = slice(int(graphs.node_ptr[number]), int(graphs.node_ptr[number + 1]) - 5)
    degree = graphs.indptr.diff()[nodes]
    if degree.max() >= len(degree) - 1:
        return 2
    return 1 if degree.min() >= 2 else 0


def test_each_graph_is_connected_and_ends_in_its_motif() -> None:
    graphs = generate_spmotif(0.5, sizes=(30, 30, 30), extra_edges=0.0, seed=3)
    assert graphs.is_undirected
    assert graphs.y is not None and graphs.node_truth is not None and graphs.edge_truth is not None
    assert largest_connected(torch.ones(graphs.num_nodes) > 0, graphs).all()
    degrees = {0: [2, 2, 2, 2, 2], 1: [2, 2, 2, 3, 3], 2: [2, 2, 2, 3, 3]}
    for number in range(len(graphs)):
        data = graphs.to_data(number)
        assert data.node_truth.nonzero().flatten().tolist() == [*range(data.num_nodes)][-5:]
        inner = data.edge_index[:, data.edge_truth]
        counts = torch.bincount(inner[0], minlength=data.num_nodes)[-5:]
        label = int(data.y)
        assert sorted(counts.tolist()) == degrees[label]
        adj = torch.zeros(data.num_nodes, data.num_nodes)
        adj[tuple(data.edge_index)] = 1
        triangles = torch.linalg.matrix_power(adj[-5:, -5:], 3).trace() / 6
        assert triangles == (label == 1)  # the house has a roof; the crane has no triangle
        across = adj[:-5, -5:].sum()
        assert across == 1


def test_the_base_gives_the_class_away_in_training_only() -> None:
    graphs = generate_spmotif(0.9, sizes=SIZES, extra_edges=0.0, seed=1)
    assert graphs.y is not None
    split = spmotif_split(SIZES)
    shares = [
        np.mean([base_of(graphs, number) == int(graphs.y[number]) for number in part])
        for part in (split.train, split.val, split.test)
    ]
    assert shares[0] == pytest.approx(0.9, abs=0.05)
    assert shares[1] == pytest.approx(1 / 3, abs=0.1)
    assert shares[2] == pytest.approx(1 / 3, abs=0.1)
    sizes = graphs.sizes.double()
    assert sizes[split.test].mean() > 3 * sizes[split.train].mean()
    assert sizes[split.val].mean() == pytest.approx(float(sizes[split.train].mean()), rel=0.1)
    assert torch.bincount(graphs.y[split.train]).tolist() == [300, 300, 300]


def test_extra_edges_never_lie_inside_the_motif() -> None:
    plain, more = (
        generate_spmotif(0.5, sizes=(60, 30, 30), extra_edges=share, seed=0) for share in (0, 0.3)
    )
    assert torch.equal(plain.node_truth, more.node_truth)  # type: ignore[arg-type]
    assert plain.edge_truth is not None and more.edge_truth is not None
    assert more.edge_truth.sum() == plain.edge_truth.sum()
    assert 1.2 < more.num_edges / plain.num_edges < 1.3


def test_the_same_seed_gives_the_same_graphs_in_seconds() -> None:
    started = time.perf_counter()
    one = generate_spmotif(0.7, seed=5)
    assert time.perf_counter() - started < 30
    assert len(one) == 18_000
    small = [generate_spmotif(0.7, sizes=(9, 9, 9), seed=seed).fingerprint() for seed in (1, 1, 2)]
    assert small[0] == small[1] != small[2]
    with pytest.raises(InputError, match="1/3 <= bias"):
        generate_spmotif(0.2)


def test_no_edge_is_listed_twice_or_leaves_its_graph() -> None:
    graphs = generate_spmotif(0.5, sizes=(60, 30, 30), extra_edges=0.8, seed=1)
    for number in range(len(graphs)):
        edges = graphs.to_data(number).edge_index
        assert len(torch.unique(edges, dim=1).T) == edges.shape[1]
        assert edges.max() < graphs.sizes[number] and (edges[0] != edges[1]).all()


def test_every_pair_of_nodes_that_was_not_joined_may_be_joined_and_no_other() -> None:
    path = np.stack([np.arange(1, 8), np.arange(2, 9)])
    ptr, is_motif = np.array([0, 1, 9]), np.zeros(9, dtype=bool)
    made = [_extra(path, ptr, is_motif, 0.5, np.random.default_rng(seed)) for seed in range(200)]
    assert {edges.shape for edges in made} == {(2, 3)}
    pairs = {(int(one), int(other)) for edges in made for one, other in edges.T}
    assert pairs == {(one, other) for one in range(1, 9) for other in range(one + 2, 9)}
