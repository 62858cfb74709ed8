"""BA-2Motifs: the construction, its randomness, and the published graphs."""

import time
from pathlib import Path

import numpy as np
import pytest
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs, read_ba2motifs
from vgib.errors import FileFormatError, InputError


def dense(graphs: PackedGraphs) -> np.ndarray:
    """Adjacency ``[G, 25, 25]``."""
    adj = np.zeros((len(graphs), 25, 25), dtype=int)
    row = np.repeat(np.arange(graphs.num_nodes), graphs.indptr.diff().numpy())
    adj[row // 25, row % 25, graphs.col.numpy()] = 1
    return adj


def test_each_graph_is_a_tree_with_a_motif_on_one_edge() -> None:
    graphs = generate_ba2motifs(200)
    adj = dense(graphs)
    assert graphs.is_undirected
    assert (adj[:, :20, :20].sum((1, 2)) == 2 * 19).all()
    assert (adj[:, :20, 20:].sum((1, 2)) == 1).all()
    reach = np.linalg.matrix_power((adj + np.eye(25, dtype=int)).astype(float), 24)
    assert (reach > 0).all()  # with 19 edges on 20 nodes, connected means a tree
    assert graphs.y is not None
    cycle, house = (np.sort(adj[graphs.y == label][:, 20:, 20:].sum(2)) for label in (0, 1))
    assert (cycle == 2).all()
    assert (house == [2, 2, 2, 3, 3]).all()
    closed_walks = np.linalg.matrix_power(adj[:, 20:, 20:], 3).trace(axis1=1, axis2=2)
    assert (
        closed_walks == 6 * graphs.y.numpy()
    ).all()  # the house has one triangle, the cycle none


def test_the_truth_is_the_motif_and_its_inner_edges() -> None:
    graphs = generate_ba2motifs(10)
    assert graphs.node_truth is not None
    assert (
        graphs.node_truth.reshape(10, 25).nonzero()[:, 1].reshape(10, 5).tolist()
        == [[20, 21, 22, 23, 24]] * 10
    )
    assert graphs.edge_truth is not None
    assert [int(graphs.to_data(i).edge_truth.sum()) for i in range(4)] == [10, 12, 10, 12]
    assert graphs.x.shape == (250, 1)
    assert (graphs.x == 1).all()


def test_same_seed_same_graphs_without_touching_global_randomness() -> None:
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    one, again, other = (generate_ba2motifs(50, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one.col, again.col)
    assert not torch.equal(one.col, other.col)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_classes_alternate_and_a_thousand_graphs_take_a_moment() -> None:
    began = time.perf_counter()
    graphs = generate_ba2motifs()
    assert time.perf_counter() - began < 2
    assert len(graphs) == 1000
    assert graphs.y is not None
    assert graphs.y[:4].tolist() == [0, 1, 0, 1]
    with pytest.raises(InputError, match="at least 1, got 0"):
        generate_ba2motifs(0)


def test_the_trees_prefer_nodes_of_high_degree() -> None:
    degree = dense(generate_ba2motifs(2000))[:, :20, :20].sum(2)
    # The first node of a Barabasi-Albert tree has an expected degree of the product of (1 + 1/2t),
    # a node that joins uniformly would have the harmonic number 1 + 1/2 + ... + 1/18 + 1.
    expected = np.prod([1 + 1 / (2 * t) for t in range(1, 19)])
    assert degree[:, 0].mean() == pytest.approx(expected, abs=0.2)


@pytest.mark.data
def test_the_published_graphs_have_the_statistics_of_ours(mirror: Path) -> None:
    published, ours = read_ba2motifs(mirror / "extra/BA_2Motifs.npz"), generate_ba2motifs()
    assert len(published) == len(ours)
    assert published.num_nodes == ours.num_nodes
    assert published.y is not None and ours.y is not None
    assert published.y.bincount().tolist() == ours.y.bincount().tolist() == [500, 500]
    assert ours.num_edges - published.num_edges == 2 * 40  # joining edges that were self-loops
    assert published.edge_truth is not None and ours.edge_truth is not None
    assert int(published.edge_truth.sum()) == int(ours.edge_truth.sum()) == 11_000
    degrees = [
        np.bincount(dense(g)[:, :20, :20].sum(2).ravel(), minlength=20)[:6]
        for g in (published, ours)
    ]
    assert np.abs(degrees[0] - degrees[1]).max() < 0.02 * 20_000
    motifs = [np.sort(dense(g)[:, 20:, 20:].sum(2)) for g in (published, ours)]
    for label in (0, 1):
        assert (motifs[0][published.y == label][0] == motifs[1][ours.y == label]).all()


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(b"<html>")
    with pytest.raises(FileFormatError, match="no BA-2Motifs file"):
        read_ba2motifs(path)
    np.savez(path, adj=np.zeros((2, 4, 4)), label=np.zeros(2), motif_nodes=np.arange(20, 25))
    with pytest.raises(FileFormatError, match=r"adj \(2, 4, 4\)"):
        read_ba2motifs(path)
    np.savez(path, adj=np.array([{}], dtype=object), label=np.zeros(2), motif_nodes=np.zeros(5))
    with pytest.raises(FileFormatError, match="allow_pickle=False"):
        read_ba2motifs(path)
