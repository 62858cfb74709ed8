"""PyG's tools on our layers."""

import pickle

import pytest
import torch
import torch_geometric.nn as pyg
from tests.nn.support import random_graph
from torch import Tensor, nn
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from vgib.nn.encoder import Encoder
from vgib.nn.layers import EDGE_LAYERS, LAYERS
from vgib.nn.pyg_layers import open_to_pyg
from vgib.nn.sparse import Adjacency

NAMES = sorted(LAYERS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["by name", "by an edge_index"])
def test_an_encoder_is_opened_without_changing_it(name: str, how: str) -> None:
    x, edges = random_graph()
    adj = Adjacency.from_edge_index(edges, len(x))
    encoder = Encoder(name, 4, hidden=5, depth=2, normalize=True).double().eval()
    before, weights = encoder(x, adj), dict(encoder.named_parameters())
    state, drawn = set(encoder.state_dict()), torch.get_rng_state()
    assert not any(isinstance(layer, pyg.MessagePassing) for layer in encoder.layers)
    if how == "by name":
        assert open_to_pyg(encoder) is encoder
    else:
        torch.testing.assert_close(encoder(x, edges), before)
    opened = list(encoder.layers)
    assert all(isinstance(layer, pyg.MessagePassing) for layer in opened)
    assert not any(module.training for module in encoder.modules())
    assert torch.equal(torch.get_rng_state(), drawn)
    assert torch.equal(encoder(x, adj), before)
    assert set(encoder.state_dict()) == state
    after = dict(encoder.named_parameters())
    assert set(after) == set(weights) and all(after[key] is weights[key] for key in weights)
    assert list(open_to_pyg(encoder).layers) == opened


@pytest.mark.parametrize("name", NAMES)
def test_pygs_edge_masks_act_on_our_layers(name: str) -> None:
    x, edges = random_graph()
    encoder = Encoder(name, 4, hidden=5, depth=2).double().eval()
    whole = open_to_pyg(encoder)(x, edges)
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


@pytest.mark.parametrize("name", NAMES)
def test_masks_act_also_when_pygs_own_layer_was_used_before(name: str) -> None:
    parent = {"gat": pyg.GATConv, "gcn": pyg.GCNConv, "sage": pyg.SAGEConv}.get(name)
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.randn(3, 4)
    (parent(4, 4) if parent else pyg.GINConv(nn.Linear(4, 4)))(x, edge_index)
    (layer,) = open_to_pyg(nn.Sequential(LAYERS[name](4, 4))).eval()
    mask = nn.Parameter(torch.randn(4))
    set_masks(nn.Sequential(layer), mask, edge_index)
    layer(x, edge_index).square().sum().backward()
    assert mask.grad is not None
    assert mask.grad.abs().sum() > 0


@pytest.mark.parametrize("name", [*LAYERS, *EDGE_LAYERS])
def test_an_opened_layer_is_pickled_by_its_name(name: str) -> None:
    x, edges = random_graph()
    layer = EDGE_LAYERS[name](4, 3, 2) if name in EDGE_LAYERS else LAYERS[name](4, 3)
    adj = Adjacency.from_edge_index(edges, len(x), attr=torch.zeros(edges.shape[1], 2))
    (opened,) = open_to_pyg(nn.Sequential(layer)).eval()
    again = pickle.loads(pickle.dumps(opened))
    assert type(again) is type(opened)
    assert torch.equal(again(x.float(), adj), opened(x.float(), adj))
