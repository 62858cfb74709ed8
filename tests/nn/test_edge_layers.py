"""Layers that read edge features are PyG's, with weights on their edges besides."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINEConv

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.nn.encoder import Encoder
from vgib.nn.layers import EDGE_LAYERS, as_channels
from vgib.nn.pyg_layers import open_to_pyg

NAMES = sorted(EDGE_LAYERS)


@pytest.fixture
def graphs() -> PackedGraphs:
    """Two graphs, one with a node that has no edge."""
    edges = torch.tensor([[0, 1, 1, 2, 4, 5, 5, 6], [1, 0, 2, 1, 5, 4, 6, 5]])
    attr = torch.rand(8, 3, generator=torch.Generator().manual_seed(0))
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    return PackedGraphs.from_edges(x, edges, torch.tensor([0, 4, 8]), edge_attr=attr)


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_is_pygs(name: str, graphs: PackedGraphs) -> None:
    ours = EDGE_LAYERS[name](4, 5, 3).eval()
    theirs: nn.Module = (
        GATConv(4, 5, edge_dim=3)
        if name == "gat-edge"
        else GINEConv(ours.nn, train_eps=True, edge_dim=3)
    )
    theirs.load_state_dict(ours.state_dict())
    batch = graphs.batch()
    expected = theirs.eval()(batch.x, batch.adj.edge_index, batch.adj.edge_attr)
    torch.testing.assert_close(ours(batch.x, batch.adj), expected)
    (twin,) = open_to_pyg(nn.Sequential(ours))
    torch.testing.assert_close(twin(batch.x, batch.adj), expected)
    attr = batch.adj.edge_attr
    torch.testing.assert_close(twin(batch.x, batch.adj.edge_index, attr), expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["weight", "ends"])
def test_gates_of_0_and_1_are_the_graph_without_those_nodes(
    name: str, way: str, graphs: PackedGraphs
) -> None:
    encoder = Encoder(name, 4, hidden=6, depth=2, edge_channels=3).eval()
    keep = torch.tensor([1, 1, 0, 1, 0, 1, 1, 1.0])
    batch = graphs.batch()
    adj = batch.adj.with_ends(keep)
    if way == "weight":
        weight = adj.edge_weight
        assert weight is not None
        adj = batch.adj.with_weight(weight)
    part = graphs.induced(keep > 0).batch()
    torch.testing.assert_close(encoder(batch.x, adj)[keep > 0], encoder(part.x, part.adj))


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_reaches_weights_and_features(name: str, graphs: PackedGraphs) -> None:
    encoder = Encoder(name, 4, hidden=6, depth=1, edge_channels=3).double().eval()
    batch = graphs.batch()
    x = batch.x.double().requires_grad_()
    ends = torch.rand(8, dtype=torch.float64, requires_grad=True)
    batch.adj.attr = lambda: graphs.edge_attr.double()  # type: ignore[union-attr]

    def output(x: Tensor, ends: Tensor) -> Tensor:
        return encoder(x, batch.adj.with_ends(ends))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(output, (x, ends), atol=1e-4)


def test_codes_are_one_hot_and_those_beyond_count_as_the_last() -> None:
    codes = torch.tensor([0, 2, 7], dtype=torch.int8)
    assert as_channels(codes, 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert as_channels(torch.tensor([0.5]), 1).tolist() == [[0.5]]


def test_graphs_without_edge_features_are_refused(graphs: PackedGraphs) -> None:
    encoder = Encoder("gine", 4, edge_channels=3)
    batch = graphs.batch()
    with pytest.raises(InputError, match="reads edge features; pass edge_attr"):
        encoder(batch.x, batch.adj.edge_index)
    batch.adj.attr = None
    with pytest.raises(InputError, match="reads edge features, but the graphs carry none"):
        encoder(batch.x, batch.adj)
