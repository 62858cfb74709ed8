"""Our layers against PyG's own, on whole graphs and on induced subgraphs."""

import pytest
import torch
import torch_geometric.nn as pyg
from tests.nn.support import random_graph
from torch import nn
from torch_geometric.utils import subgraph

from vgib.nn.encoder import Encoder
from vgib.nn.layers import EDGE_LAYERS, LAYERS
from vgib.nn.pyg_layers import open_to_pyg
from vgib.nn.sparse import Adjacency

NAMES = sorted(LAYERS)


def mlp_of(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, outputs),
        nn.ReLU(),
        nn.Linear(outputs, outputs),
        nn.ReLU(),
        nn.BatchNorm1d(outputs),
    )


# PyG's own layer behind each of our names.
THEIRS = {
    "gat": pyg.GATConv,
    "gcn": pyg.GCNConv,
    "gin": lambda i, o: pyg.GINConv(mlp_of(i, o), train_eps=True),
    "sage": pyg.SAGEConv,
}


def both_layers(name: str, inputs: int = 4, outputs: int = 3) -> tuple[nn.Module, nn.Module]:
    """Our layer and PyG's, of equal weights, none of them zero."""
    ours, theirs = LAYERS[name](inputs, outputs).double(), THEIRS[name](inputs, outputs).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def test_every_layer_is_compared_with_pygs() -> None:
    assert set(THEIRS) == set(LAYERS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("inputs", "outputs"), [(4, 3), (1, 16), (37, 16), (16, 64)])
def test_a_seed_gives_pygs_first_weights(name: str, inputs: int, outputs: int) -> None:
    torch.manual_seed(inputs)
    ours, after = LAYERS[name](inputs, outputs).state_dict(), torch.rand(1)
    torch.manual_seed(inputs)
    theirs = THEIRS[name](inputs, outputs).state_dict()
    assert torch.equal(after, torch.rand(1))
    assert set(ours) == set(theirs)
    for key, value in ours.items():
        assert torch.equal(value, theirs[key]), key


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_directed", [True, False])
@pytest.mark.parametrize("form", ["plain", "opened on adjacency", "opened on edge_index"])
def test_a_layer_gives_pygs_values_and_gradients(name: str, is_directed: bool, form: str) -> None:
    x, edges = random_graph(is_directed=is_directed)
    ours, theirs = both_layers(name)
    if form != "plain":
        (ours,) = open_to_pyg(nn.Sequential(ours))
    entry = edges if form.endswith("edge_index") else Adjacency.from_edge_index(edges, len(x))
    results = []
    for layer, where in ((ours, entry), (theirs, edges)):
        leaf = x.clone().requires_grad_()
        out = layer(leaf, where)
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        results.append([out, leaf.grad, *(p.grad for p in layer.parameters())])
    for mine, yours in zip(*results, strict=True):
        assert torch.allclose(mine, yours, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_layers_second_derivative_exists(name: str) -> None:
    x, edges = random_graph(5)
    layer = both_layers(name)[0].eval()
    adj = Adjacency.from_edge_index(edges, len(x))
    weight = torch.rand(adj.num_edges, dtype=torch.float64).add(0.1).requires_grad_()
    call = lambda x, w: layer(x, adj.with_weight(w))  # noqa: E731
    assert torch.autograd.gradcheck(call, (x.requires_grad_(), weight))
    assert torch.autograd.gradgradcheck(call, (x, weight), atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_directed", [True, False])
def test_zero_one_weights_give_the_induced_subgraph(name: str, is_directed: bool) -> None:
    x, edges = random_graph(is_directed=is_directed)
    encoder = Encoder(name, 4, hidden=5, depth=3).double().eval()
    keep = torch.tensor([1, 1, 0, 1, 1, 0, 1, 0, 1], dtype=torch.bool)
    adj = Adjacency.from_edge_index(edges, len(x))
    ends = adj.edge_index
    weight = (keep[ends[0]] & keep[ends[1]]).double()
    assert 0 < weight.sum() < adj.num_edges
    weighted = encoder(x, adj.with_weight(weight))[keep]
    induced, _ = subgraph(keep, edges, relabel_nodes=True, num_nodes=len(x))
    alone = encoder(x[keep], induced)
    assert torch.allclose(weighted, alone, atol=1e-10)
    # So does the readout of what is kept.
    assert torch.allclose(weighted.sum(0), alone.sum(0), atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_weighted", [True, False])
def test_factors_at_the_ends_are_weights_on_the_edges(name: str, is_weighted: bool) -> None:
    x, edges = random_graph(is_directed=True)
    layer = both_layers(name)[0].eval()
    adj = Adjacency.from_edge_index(edges, len(x))
    if is_weighted:
        adj = adj.with_weight(torch.rand(adj.num_edges, dtype=torch.float64))
    results = []
    for form in ("ends", "edges"):
        ends = torch.linspace(0.1, 0.9, len(x), dtype=torch.float64).requires_grad_()
        factors = adj.with_ends(ends)
        out = layer(x, factors if form == "ends" else adj.with_weight(factors.edge_weight))
        out.square().sum().backward()
        results.append((out, ends.grad))
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_weights_of_one_change_nothing(name: str) -> None:
    x, edges = random_graph(is_directed=True)
    layer = both_layers(name)[0]
    adj = Adjacency.from_edge_index(edges, len(x))
    ones = adj.with_weight(torch.ones(adj.num_edges, dtype=torch.float64))
    assert torch.allclose(layer(x, ones), layer(x, adj))


def test_gcn_with_fractional_weights_is_pygs_weighted_gcn() -> None:
    x, edges = random_graph(is_directed=True)
    ours, theirs = both_layers("gcn")
    weight = torch.rand(edges.shape[1], dtype=torch.float64)
    adj = Adjacency.from_edge_index(edges, len(x), weight)
    assert torch.allclose(ours(x, adj), theirs(x, edges, weight))


def test_attention_survives_logits_that_would_overflow() -> None:
    x, edges = random_graph()
    layer = both_layers("gat")[0].float()
    adj = Adjacency.from_edge_index(edges, len(x))
    x = (1e4 * x).float().requires_grad_()
    out = layer(x, adj)
    out.sum().backward()
    assert out.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_is_finite_without_edges(name: str) -> None:
    layer = both_layers(name)[0].eval()
    for num_nodes in (1, 3):
        adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), num_nodes)
        x = torch.randn(num_nodes, 4, dtype=torch.float64, requires_grad=True)
        out = layer(x, adj)
        out.sum().backward()
        assert out.shape == (num_nodes, 3)
        assert out.isfinite().all()
        assert x.grad.isfinite().all()


# PyG's own layer behind each name of ours that reads edge features.
THEIRS_WITH_EDGES = {
    "gat-edge": lambda i, o, e: pyg.GATConv(i, o, edge_dim=e),
    "gine": lambda i, o, e: pyg.GINEConv(mlp_of(i, o), train_eps=True, edge_dim=e),
    "gine-skip": lambda i, o, e: pyg.GINEConv(nn.Linear(i, o), train_eps=True, edge_dim=e),
}


@pytest.mark.parametrize("name", sorted(EDGE_LAYERS))
@pytest.mark.parametrize("is_directed", [True, False])
def test_a_layer_that_reads_edges_gives_pygs_values_and_gradients(
    name: str, is_directed: bool
) -> None:
    x, edges = random_graph(is_directed=is_directed)
    generator = torch.Generator().manual_seed(5)
    attr = torch.randn(edges.shape[1], 2, dtype=x.dtype, generator=generator)
    ours = EDGE_LAYERS[name](4, 3, 2).double()
    theirs = THEIRS_WITH_EDGES[name](4, 3, 2).double()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    theirs.load_state_dict(ours.state_dict())
    results = []
    for layer in (ours, theirs):
        leaf = x.clone().requires_grad_()
        if layer is ours:
            out = layer(leaf, Adjacency.from_edge_index(edges, len(x), attr=attr))
        else:
            out = layer(leaf, edges, attr)
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        grads = dict(layer.named_parameters())
        results.append([out, leaf.grad, *(grads[key].grad for key in sorted(grads))])
    for mine, yours in zip(*results, strict=True):
        assert torch.allclose(mine, yours, atol=1e-10)


def test_every_layer_that_reads_edges_is_compared_with_pygs() -> None:
    assert set(THEIRS_WITH_EDGES) == set(EDGE_LAYERS)
