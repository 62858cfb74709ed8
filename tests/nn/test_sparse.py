"""The sparse products against dense matrices, and sums over graphs against loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from vgib.errors import InputError
from vgib.nn import sparse
from vgib.nn.sparse import Adjacency, Csr, Segments, edge_dot, product

KINDS = ["directed", "symmetric"]


def random_edges(num_nodes: int, kind: str, seed: int = 0, density: float = 0.4) -> Tensor:
    """Edges of a random graph in a random order; the last node stays alone."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.rand(num_nodes, num_nodes, generator=generator) < density
    if kind == "symmetric":
        dense = dense | dense.T
    dense.fill_diagonal_(False)
    dense[-1] = dense[:, -1] = False
    edges = dense.nonzero().T
    return edges[:, torch.randperm(edges.shape[1], generator=generator)]


def random_adjacency(num_nodes: int, kind: str, seed: int = 0) -> Adjacency:
    return Adjacency.from_edge_index(random_edges(num_nodes, kind, seed), num_nodes)


def dense_of(csr: Csr, weight: Tensor | None = None) -> Tensor:
    """The matrix written out, one entry at a time."""
    dense = torch.zeros(csr.num_rows, csr.num_cols, dtype=torch.float64)
    for row in range(csr.num_rows):
        for k in range(int(csr.indptr[row]), int(csr.indptr[row + 1])):
            dense[row, csr.col[k]] += 1.0 if weight is None else weight[k]
    return dense


def random_like(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


# ---- product and edge_dot ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_weighted", [True, False])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_product_is_that_of_the_dense_matrix(
    kind: str, is_weighted: bool, channels: int
) -> None:
    adj = random_adjacency(7, kind)
    x = random_like(7, channels)
    weight = random_like(adj.num_edges, seed=2) if is_weighted else None
    expected = dense_of(adj.csr, weight) @ x
    assert torch.allclose(product(adj.csr, x, weight), expected)
    assert torch.allclose(Adjacency(adj.csr, weight) @ x, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_product_is_right_in_single_precision_too(kind: str) -> None:
    adj = random_adjacency(7, kind)
    x = random_like(7, 3)
    single = adj @ x.float()
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), dense_of(adj.csr) @ x, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_weighted", [True, False])
def test_the_products_first_and_second_derivatives_are_right(kind: str, is_weighted: bool) -> None:
    csr = random_adjacency(5, kind).csr
    x = random_like(5, 2).requires_grad_()
    inputs = [x]
    if is_weighted:
        inputs.append(random_like(csr.col.numel(), seed=2).requires_grad_())
    assert gradcheck(lambda *t: product(csr, *t), inputs)
    assert gradgradcheck(lambda *t: product(csr, *t), inputs)


@pytest.mark.parametrize("has_mkl", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_edge_dot_is_an_inner_product_at_each_edge(
    kind: str, has_mkl: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "HAS_MKL", has_mkl and sparse.HAS_MKL)
    csr = random_adjacency(7, kind).csr
    a, b = random_like(7, 3), random_like(7, 3, seed=2)
    expected = (a @ b.T)[csr.row.long(), csr.col.long()]
    assert torch.allclose(edge_dot(csr, a, b), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_edge_dots_first_and_second_derivatives_are_right(kind: str) -> None:
    csr = random_adjacency(5, kind).csr
    a = random_like(5, 2).requires_grad_()
    b = random_like(5, 2, seed=2).requires_grad_()
    assert gradcheck(lambda a, b: edge_dot(csr, a, b), (a, b))
    assert gradgradcheck(lambda a, b: edge_dot(csr, a, b), (a, b))


@pytest.mark.parametrize("kind", KINDS)
def test_strided_and_expanded_inputs_give_the_same_numbers(kind: str) -> None:
    csr = random_adjacency(6, kind).csr
    wide = random_like(4, 6).T
    row = random_like(1, 4).expand(6, 4)
    for a in (wide, row, wide[:, ::2], row[:, ::2]):
        assert torch.allclose(product(csr, a), dense_of(csr) @ a)
        for b in (wide[:, : a.shape[1]], row[:, : a.shape[1]]):
            expected = (a @ b.T)[csr.row.long(), csr.col.long()]
            assert torch.allclose(edge_dot(csr, a, b), expected)


def test_the_gradient_of_a_sum_is_right_although_autograd_hands_over_an_expanded_tensor() -> None:
    csr = random_adjacency(6, "directed").csr
    x = random_like(6, 3).requires_grad_()
    weight = random_like(csr.col.numel(), seed=2).requires_grad_()
    product(csr, x, weight).sum().backward()
    expected = dense_of(csr, weight.detach()).sum(0)
    assert torch.allclose(x.grad, expected.unsqueeze(1).expand(6, 3))
    assert torch.allclose(weight.grad, x.detach()[csr.col.long()].sum(1))


def test_a_rectangular_matrix_has_the_right_product_and_gradient() -> None:
    csr = Csr(torch.tensor([0, 2, 2, 3], dtype=torch.int32), torch.tensor([0, 4, 1]).int(), 5)
    x = random_like(5, 2).requires_grad_()
    weight = random_like(3, seed=2).requires_grad_()
    assert torch.allclose(product(csr, x, weight), dense_of(csr, weight) @ x)
    assert gradcheck(lambda x, w: product(csr, x, w), (x, weight))


def test_a_row_without_entries_is_zero_and_gets_no_gradient() -> None:
    adj = random_adjacency(6, "symmetric")
    x = random_like(6, 2).requires_grad_()
    out = adj @ x
    out.sum().backward()
    assert torch.equal(out[-1], torch.zeros(2, dtype=torch.float64))
    assert torch.equal(x.grad[-1], torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize("num_nodes", [0, 1, 4])
@pytest.mark.parametrize("is_weighted", [True, False])
def test_no_edges_and_no_nodes_give_zeros_of_the_right_shape(
    num_nodes: int, is_weighted: bool
) -> None:
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes)
    x = torch.randn(num_nodes, 3, requires_grad=True)
    weight = torch.zeros(0, requires_grad=True) if is_weighted else None
    out = product(adj.csr, x, weight)
    out.square().sum().backward()
    assert torch.equal(out, torch.zeros(num_nodes, 3))
    assert torch.equal(x.grad, torch.zeros(num_nodes, 3))
    assert edge_dot(adj.csr, x, x).shape == (0,)
    if weight is not None:
        assert weight.grad.shape == (0,)
    assert adj.degree.shape == (num_nodes, 1)
    assert adj.edge_index.shape == (2, 0)


@given(st.integers(0, 8), st.sampled_from(KINDS), st.integers(0, 1000))
def test_the_transpose_is_the_transposed_matrix_with_its_values(
    num_nodes: int, kind: str, seed: int
) -> None:
    edges = random_edges(num_nodes, kind, seed) if num_nodes else torch.zeros(2, 0).long()
    csr = Adjacency.from_edge_index(edges, num_nodes).csr
    weight = random_like(csr.col.numel(), seed=seed)
    flipped = dense_of(csr.transpose, weight[csr.to_transpose])
    assert torch.equal(flipped, dense_of(csr, weight).T)


# ---- adjacency ---------------------------------------------------------------------------------


@given(st.integers(1, 8), st.sampled_from(KINDS), st.integers(0, 1000))
def test_edges_in_any_order_give_the_same_adjacency(num_nodes: int, kind: str, seed: int) -> None:
    edges = random_edges(num_nodes, kind, seed)
    order = torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(seed))
    one = Adjacency.from_edge_index(edges, num_nodes)
    other = Adjacency.from_edge_index(edges[:, order], num_nodes)
    assert torch.equal(one.csr.indptr, other.csr.indptr)
    assert torch.equal(one.csr.col, other.csr.col)
    assert {tuple(e) for e in one.edge_index.T.tolist()} == {tuple(e) for e in edges.T.tolist()}


def test_weights_follow_their_edges_and_carry_gradient() -> None:
    edges = torch.tensor([[3, 1, 0], [0, 0, 2]])
    weight = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    adj = Adjacency.from_edge_index(edges, 4, weight)
    assert dense_of(adj.csr, adj.weight).tolist() == [
        [0, 20, 0, 10],
        [0, 0, 0, 0],
        [30, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    (adj @ torch.tensor([[1.0], [2.0], [3.0], [4.0]])).sum().backward()
    assert weight.grad.tolist() == [4.0, 2.0, 1.0]


def test_self_loops_are_dropped_together_with_their_weights() -> None:
    edges = torch.tensor([[0, 1, 1, 0], [0, 0, 1, 1]])
    adj = Adjacency.from_edge_index(edges, 3, torch.tensor([7.0, 1.0, 7.0, 2.0]))
    assert adj.edge_index.tolist() == [[1, 0], [0, 1]]
    assert adj.weight.tolist() == [1.0, 2.0]


def test_an_edge_listed_twice_counts_twice() -> None:
    edges = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])
    adj = Adjacency.from_edge_index(edges, 2, torch.tensor([1.0, 2.0, 4.0, 8.0]))
    x = torch.tensor([[1.0], [10.0]], requires_grad=True)
    (adj @ x).backward(torch.tensor([[1.0], [0.0]]))
    assert (adj @ x).tolist() == [[120.0], [3.0]]
    assert x.grad.tolist() == [[0.0], [12.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_index_survives_the_round_trip(kind: str) -> None:
    adj = random_adjacency(7, kind)
    again = Adjacency.from_edge_index(adj.edge_index, 7)
    assert adj.edge_index.dtype == torch.int64
    assert torch.equal(again.edge_index, adj.edge_index)
    assert again.csr.symmetric == adj.csr.symmetric == (kind == "symmetric")


def test_a_graph_is_symmetric_only_when_every_edge_has_its_reverse() -> None:
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert Adjacency.from_edge_index(both, 3).csr.symmetric
    assert not Adjacency.from_edge_index(both[:, :3], 3).csr.symmetric


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_weighted", [True, False])
def test_the_degree_is_the_sum_of_what_a_node_receives(kind: str, is_weighted: bool) -> None:
    adj = random_adjacency(7, kind)
    weight = random_like(adj.num_edges) if is_weighted else None
    degree = adj.degree if weight is None else adj.with_weight(weight).degree
    assert torch.allclose(degree.double(), dense_of(adj.csr, weight).sum(1, keepdim=True))


# ---- segments ----------------------------------------------------------------------------------

SIZES = [[3, 0, 1, 4], [2], [0], [], [0, 0, 2, 0]]


def segments(sizes: list[int]) -> Segments:
    return Segments(torch.tensor([0, *sizes]).cumsum(0).int())


@pytest.mark.parametrize("sizes", SIZES)
def test_sum_mean_and_max_over_graphs_equal_a_loop(sizes: list[int]) -> None:
    graphs = segments(sizes)
    x = random_like(sum(sizes), 2)
    parts = x.split(sizes) if sizes else ()
    total = [part.sum(0) for part in parts]
    mean = [part.sum(0) / max(len(part), 1) for part in parts]
    largest = [max(part[:, 0].tolist(), default=-torch.inf) for part in parts]
    empty = torch.zeros(0, 2, dtype=torch.float64)
    assert torch.allclose(graphs.sum(x), torch.stack(total) if total else empty)
    assert torch.allclose(graphs.mean(x), torch.stack(mean) if mean else empty)
    assert graphs.max(x[:, 0]).tolist() == largest


@pytest.mark.parametrize("sizes", SIZES)
def test_spread_hands_every_node_the_row_of_its_graph(sizes: list[int]) -> None:
    graphs = segments(sizes)
    per_graph = random_like(len(sizes), 2)
    expected = [per_graph[g] for g, size in enumerate(sizes) for _ in range(size)]
    spread = graphs.spread(per_graph)
    assert spread.shape == (sum(sizes), 2)
    assert not expected or torch.equal(spread, torch.stack(expected))
    assert graphs.batch.tolist() == [g for g, size in enumerate(sizes) for _ in range(size)]


def test_a_single_row_for_all_graphs_stays_one_row() -> None:
    graphs = segments([3, 1])
    row = random_like(1, 2)
    assert graphs.spread_or_broadcast(row) is row
    two = random_like(2, 2)
    assert torch.equal(graphs.spread_or_broadcast(two), graphs.spread(two))


def test_sum_mean_and_spread_have_the_right_gradients() -> None:
    graphs = segments([3, 0, 1])
    x = random_like(4, 2).requires_grad_()
    per_graph = random_like(3, 2).requires_grad_()
    assert gradcheck(graphs.sum, x)
    assert gradcheck(graphs.mean, x)
    assert gradcheck(graphs.spread, per_graph)


@given(st.lists(st.integers(0, 5), max_size=6))
def test_a_batch_vector_and_pointers_say_the_same(sizes: list[int]) -> None:
    graphs = segments(sizes)
    assert graphs.num_graphs == len(sizes)
    assert graphs.sizes.flatten().tolist() == [max(size, 1) for size in sizes]
    again = Segments.from_batch(graphs.batch, num_graphs=len(sizes))
    assert torch.equal(again.ptr, graphs.ptr)


def test_a_batch_vector_that_is_not_sorted_is_refused() -> None:
    with pytest.raises(InputError, match="must be sorted"):
        Segments.from_batch(torch.tensor([0, 1, 0]))


def test_without_a_count_the_last_node_names_the_last_graph() -> None:
    assert Segments.from_batch(torch.tensor([0, 0, 2])).ptr.tolist() == [0, 2, 2, 3]
    assert Segments.from_batch(torch.zeros(0, dtype=torch.int64)).num_graphs == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_convolution_is_scaled_by_degrees_in_the_precision_asked_for(kind: str) -> None:
    adj = random_adjacency(9, kind)
    dense = (1 + dense_of(adj.csr).sum(1, keepdim=True)).rsqrt()
    for dtype in (torch.float32, torch.float64):
        found = adj.gcn_scale(dtype)
        torch.testing.assert_close(found, dense.to(dtype))
        assert adj.gcn_scale(dtype) is found
