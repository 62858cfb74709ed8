"""Our layers against PyG's own, on whole graphs and on induced subgraphs."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.utils import subgraph

from vgib.errors import InputError, UnknownNameError
from vgib.nn.encoder import LAYERS, Embedding, Encoder, Wrapped
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
@pytest.mark.parametrize("is_directed", [True, False])
@pytest.mark.parametrize("form", ["adjacency", "edge_index"])
def test_a_layer_gives_pygs_values_and_gradients(name: str, is_directed: bool, form: str) -> None:
    x, edges = random_graph(is_directed=is_directed)
    ours, theirs = both_layers(name)
    entry = Adjacency.from_edge_index(edges, len(x)) if form == "adjacency" else edges
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


# ---- the stack ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("depth", "hidden"), [(1, 1), (2, 16), (5, 7)])
def test_an_encoder_has_any_depth_and_width(name: str, depth: int, hidden: int) -> None:
    x, edges = random_graph()
    encoder = Encoder(name, 4, hidden=hidden, depth=depth).double()
    states = encoder.states(x, Adjacency.from_edge_index(edges, len(x)))
    assert [state.shape for state in states] == [(len(x), hidden)] * depth
    assert torch.equal(encoder.eval()(x, edges), encoder.states(x, edges)[-1])
    assert encoder.out_channels == hidden


@pytest.mark.parametrize("name", ["gat", "gcn", "sage"])
def test_the_last_relu_can_be_left_out(name: str) -> None:
    x, edges = random_graph()
    encoder = Encoder(name, 4, depth=2).double()
    bare = Encoder(name, 4, depth=2, last_relu=False).double()
    bare.load_state_dict(encoder.state_dict())
    assert bare(x, edges).min() < 0
    assert torch.equal(bare(x, edges).relu(), encoder(x, edges))
    assert torch.equal(bare.states(x, edges)[0], encoder.states(x, edges)[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_last_representations_can_be_normalized(name: str) -> None:
    x, edges = random_graph()
    torch.manual_seed(0)
    plain = Encoder(name, 4, hidden=6).double().train()
    torch.manual_seed(0)
    normed = Encoder(name, 4, hidden=6, normalize=True).double().train()
    adj = Adjacency.from_edge_index(edges, len(x))
    last = plain(x, adj)
    # A GIN's own MLP ends in a batch norm; it gets no second one.
    wanted = last if name == "gin" else nn.functional.batch_norm(last, None, None, training=True)
    torch.testing.assert_close(normed(x, adj), wanted)
    torch.testing.assert_close(normed(x, edges), wanted)
    torch.testing.assert_close(normed.states(x, adj)[0], plain.states(x, adj)[0])


def test_an_unknown_layer_and_a_depth_of_zero_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'gcn'"):
        Encoder("gcnn", 4)
    with pytest.raises(InputError, match="at least 1; got 0 and 16"):
        Encoder("gcn", 4, depth=0)


# ---- modules of the user -----------------------------------------------------------------------


@pytest.mark.parametrize("model", [pyg.GCN, pyg.GraphSAGE, pyg.GIN, pyg.GAT])
def test_a_pyg_model_stands_in_for_an_encoder(model: type[nn.Module]) -> None:
    x, edges = random_graph()
    theirs = model(4, hidden_channels=6, num_layers=2, out_channels=5).double().eval()
    wrapped = Wrapped(theirs)
    assert wrapped.out_channels == 5
    adj = Adjacency.from_edge_index(edges, len(x))
    assert torch.allclose(wrapped(x, adj), theirs(x, edges))
    assert torch.equal(wrapped(x, edges), theirs(x, edges))
    assert len(wrapped.states(x, adj)) == 1


def test_message_weights_reach_a_pyg_model_that_takes_them() -> None:
    x, edges = random_graph()
    theirs = pyg.GCN(4, hidden_channels=6, num_layers=2).double()
    weight = torch.rand(edges.shape[1], dtype=torch.float64)
    adj = Adjacency.from_edge_index(edges, len(x), weight)
    assert torch.allclose(Wrapped(theirs)(x, adj), theirs(x, edges, edge_weight=weight))


@pytest.mark.parametrize("model", [pyg.GraphSAGE, pyg.GIN, pyg.GAT])
def test_message_weights_that_a_pyg_model_would_ignore_are_refused(model: type[nn.Module]) -> None:
    x, edges = random_graph()
    wrapped = Wrapped(model(4, hidden_channels=6, num_layers=2).double())
    adj = Adjacency.from_edge_index(edges, len(x), torch.ones(edges.shape[1], dtype=torch.float64))
    with pytest.raises(InputError, match=f"{model.__name__} takes no edge weights"):
        wrapped(x, adj)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.lin(x).index_add(0, edge_index[1], self.lin(x)[edge_index[0]])


def test_a_plain_module_must_say_how_wide_its_output_is() -> None:
    with pytest.raises(InputError, match="Plain does not say how wide its output is"):
        Wrapped(Plain())
    x, edges = random_graph()
    module = Plain().double()
    assert torch.equal(Wrapped(module, 3)(x, edges), module(x, edges))
    module.out_channels = 3
    assert Wrapped(module).out_channels == 3


# ---- embedding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cardinalities", [(5,), (3, 2, 4)])
def test_an_embedding_is_a_one_hot_matrix_product(cardinalities: tuple[int, ...]) -> None:
    embedding = Embedding(cardinalities, 6)
    codes = torch.stack([torch.randint(c, (11,)) for c in cardinalities], dim=1)
    columns = zip(codes.T, cardinalities, strict=True)
    one_hot = torch.cat([nn.functional.one_hot(c, n) for c, n in columns], dim=1).float()
    weight = embedding.table.weight.detach().clone().requires_grad_()
    expected = one_hot @ weight
    found = embedding(codes)
    assert torch.allclose(found, expected, atol=1e-6)
    coefficients = torch.randn_like(found)
    (found * coefficients).sum().backward()
    (expected * coefficients).sum().backward()
    assert torch.allclose(embedding.table.weight.grad, weight.grad, atol=1e-5)


@pytest.mark.parametrize("cardinalities", [(5,), (3, 2, 4)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_an_unseen_code_counts_as_the_last_one(
    cardinalities: tuple[int, ...], dtype: torch.dtype
) -> None:
    embedding = Embedding(cardinalities, 6)
    last = torch.tensor([[c - 1 for c in cardinalities]])
    unseen = torch.tensor([[c + 100 for c in cardinalities]], dtype=dtype)
    assert torch.equal(embedding(unseen), embedding(last))
    assert not torch.equal(embedding(unseen), embedding(torch.zeros_like(last)))


# ---- PyG's tools on our layers -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_pygs_edge_masks_act_on_our_layers(name: str) -> None:
    x, edges = random_graph()
    encoder = Encoder(name, 4, hidden=5, depth=2).double().eval()
    whole = encoder(x, edges)
    mask = nn.Parameter(torch.zeros(edges.shape[1], dtype=torch.float64))
    set_masks(encoder, mask, edges, apply_sigmoid=True)
    masked = encoder(x, edges)
    masked.sum().backward()
    clear_masks(encoder)
    assert not torch.allclose(masked, whole)
    assert mask.grad.abs().sum() > 0
    assert torch.equal(encoder(x, edges), whole)


class GraphModel(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.encoder = Encoder(name, 4, hidden=5, depth=2)
        self.head = nn.Linear(5, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.head(self.encoder(x, edge_index).sum(0, keepdim=True))


@pytest.mark.parametrize("name", NAMES)
def test_pygs_gnnexplainer_runs_on_our_layers(name: str) -> None:
    x, edges = random_graph()
    explainer = Explainer(
        GraphModel(name).eval(),
        GNNExplainer(epochs=5),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )
    explanation = explainer(x.float(), edges)
    assert explanation.edge_mask.shape == (edges.shape[1],)
    assert 0 < explanation.edge_mask.max() <= 1


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_masks_act_also_when_pygs_own_layer_was_used_before(name: str) -> None:
    parent = {"gat": pyg.GATConv, "gcn": pyg.GCNConv, "sage": pyg.SAGEConv}.get(name)
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.randn(3, 4)
    (parent(4, 4) if parent else pyg.GINConv(nn.Linear(4, 4)))(x, edge_index)
    layer = LAYERS[name](4, 4).eval()
    mask = nn.Parameter(torch.randn(4))
    set_masks(nn.Sequential(layer), mask, edge_index)
    layer(x, edge_index).square().sum().backward()
    assert mask.grad is not None
    assert mask.grad.abs().sum() > 0
