"""The stack of layers, modules of the user in its place, and the embedding before it."""

import pytest
import torch
import torch_geometric.nn as pyg
from tests.nn.support import random_graph
from torch import Tensor, nn

from vgib.errors import InputError, UnknownNameError
from vgib.nn.encoder import Embedding, Encoder, Wrapped
from vgib.nn.layers import LAYERS
from vgib.nn.sparse import Adjacency

NAMES = sorted(LAYERS)


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


def test_a_skip_goes_back_to_where_the_nodes_started() -> None:
    """The docstring's formula, written out."""
    x, edges = random_graph()
    attr = torch.rand(edges.shape[1], 3, dtype=torch.float64)
    adj = Adjacency.from_edge_index(edges, len(x), attr=attr)
    encoder = Encoder("gine-skip", 4, hidden=6, depth=2, edge_channels=3).double()
    assert encoder.start is not None and encoder.end is not None
    begun = encoder.start(x)
    first = (begun + encoder.layers[0](begun.relu(), adj)).relu()
    second = (begun + encoder.layers[1](first, adj)).relu()
    last = encoder.end(torch.cat([x, second], dim=1)).relu()
    for found, wanted in zip(encoder.states(x, adj), (first, last), strict=True):
        torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(encoder(x, edges, attr), last)
    bare = Encoder("gine-skip", 4, hidden=6, depth=2, edge_channels=3, last_relu=False).double()
    bare.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(bare(x, adj).relu(), last)
    assert bare(x, adj).min() < 0


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
