"""What PyG's own tests ask of an explanation algorithm, in our words, asked of ours."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, ModelConfig
from torch_geometric.explain.metric import (
    characterization_score,
    fidelity,
    fidelity_curve_auc,
    groundtruth_metrics,
    unfaithfulness,
)
from torch_geometric.nn import GCNConv

from vgib.errors import InputError
from vgib.explain.many import explain_many
from vgib.explain.pyg import VGIBExplainer

ModelOf = Callable[[str], nn.Module]
OF_GRAPHS = ModelConfig("multiclass_classification", "graph", return_type="raw")
BOTH = {"node_mask_type": "object", "edge_mask_type": "object"}


@pytest.fixture
def one(data: list[Data]) -> Data:
    return max(data, key=lambda item: item.num_edges)


@pytest.fixture
def model(model_of: ModelOf) -> nn.Module:
    return model_of("gcn").eval()


@pytest.fixture
def algorithm(model: nn.Module, data: list[Data]) -> VGIBExplainer:
    return VGIBExplainer(steps=2).fit(model, data)


def explainer(model: nn.Module, algorithm: VGIBExplainer, **changes: Any) -> Explainer:
    settings = {"explanation_type": "model", "model_config": OF_GRAPHS, **BOTH}
    return Explainer(model, algorithm, **(settings | changes))


def asked(explain: Explainer, one: Data, **named: Any) -> Any:
    batch = torch.zeros(int(one.num_nodes or 0), dtype=torch.int64)
    return explain(one.x, one.edge_index, batch=batch, **named)


def test_the_explanation_is_valid_and_says_what_it_explains(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    explain = explainer(model, algorithm)
    found = asked(explain, one)
    assert found.validate(raise_on_error=True)
    assert set(found.available_explanations) == {"node_mask", "edge_mask"}
    assert found.node_mask.shape == (one.num_nodes, 1)
    assert found.edge_mask.shape == (one.num_edges,)
    for mask in (found.node_mask, found.edge_mask):
        assert ((mask >= 0) & (mask <= 1)).all() and not mask.requires_grad
    batch = torch.zeros(int(one.num_nodes or 0), dtype=torch.int64)
    said = explain.get_prediction(one.x, one.edge_index, batch=batch)
    torch.testing.assert_close(found.prediction, said)
    assert torch.equal(found.target, explain.get_target(said))


def test_the_model_is_left_as_it_was_and_asking_twice_gives_the_same(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.train()
    explain = explainer(model, algorithm)
    first, again = asked(explain, one), asked(explain, one)
    assert torch.equal(first.node_mask, again.node_mask)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    for layer in model.modules():
        assert not getattr(layer, "explain", False)
        assert getattr(layer, "_edge_mask", None) is None


def test_masks_of_ones_and_zeros_are_put_into_the_model(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    explain = explainer(model, algorithm)
    batch = torch.zeros(int(one.num_nodes or 0), dtype=torch.int64)
    whole = explain.get_prediction(one.x, one.edge_index, batch=batch)
    nodes, edges = torch.ones(len(batch), 1), torch.ones(one.num_edges)
    kept = explain.get_masked_prediction(one.x, one.edge_index, nodes, edges, batch=batch)
    torch.testing.assert_close(kept, whole)
    gone = explain.get_masked_prediction(one.x, one.edge_index, 0 * nodes, 0 * edges, batch=batch)
    assert not torch.allclose(gone, whole)


def test_a_phenomenon_needs_a_target_and_a_models_explanation_takes_none(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    phenomenon = explainer(model, algorithm, explanation_type="phenomenon")
    with pytest.raises(ValueError, match="target"):
        asked(phenomenon, one)
    target = torch.tensor([1])
    assert torch.equal(asked(phenomenon, one, target=target).target, target)
    with pytest.warns(UserWarning, match="should not be provided"):
        asked(explainer(model, algorithm), one, target=target)


def test_a_part_and_the_rest_make_the_graph(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    hard = explainer(model, algorithm, threshold_config={"threshold_type": "topk_hard", "value": 2})
    found = asked(hard, one)
    assert set(found.node_mask.unique().tolist()) <= {0.0, 1.0}
    part, rest = found.get_explanation_subgraph(), found.get_complement_subgraph()
    assert part.num_nodes == int((found.node_mask > 0).sum())
    assert part.num_nodes + rest.num_nodes == one.num_nodes
    assert part.num_edges <= int((found.edge_mask > 0).sum())


@pytest.mark.parametrize("index", [2, torch.tensor(2), torch.tensor([1, 2])], ids=str)
def test_nodes_are_explained_by_number_or_several(
    index: int | Tensor, data: list[Data], one: Data
) -> None:
    class OfNodes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = GCNConv(5, 8), GCNConv(8, 3)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.second(self.first(x, edge_index).relu(), edge_index)
            return out

    torch.manual_seed(0)
    of_nodes = ModelConfig("multiclass_classification", "node", return_type="raw")
    explain = explainer(OfNodes().eval(), VGIBExplainer(steps=1), model_config=of_nodes)
    found = explain(one.x, one.edge_index, index=index)
    assert found.node_mask.shape == (one.num_nodes, 1)
    assert found.validate(raise_on_error=True)
    assert 0 <= unfaithfulness(explain, found) <= 1


def test_edges_are_refused_with_the_reason(model: nn.Module, algorithm: VGIBExplainer) -> None:
    of_edges = ModelConfig("binary_classification", "edge", return_type="raw")
    with pytest.raises(InputError, match="models of graphs and of nodes, not of edges"):
        explainer(model, algorithm, model_config=of_edges)


def test_every_measure_of_pyg_takes_what_ours_gives(
    model: nn.Module, algorithm: VGIBExplainer, one: Data
) -> None:
    explain = explainer(model, algorithm)
    for found in (asked(explain, one), *explain_many(model, [one], algorithm)):
        plus, minus = fidelity(explain, found)
        assert 0 <= plus <= 1 and 0 <= minus <= 1
        assert 0 <= unfaithfulness(explain, found) <= 1
        truth = (found.edge_mask >= found.edge_mask.median()).float()
        assert groundtruth_metrics(found.edge_mask, truth, metrics="auroc") == 1
    of_features = explainer(model, algorithm, node_mask_type="attributes")
    assert 0 <= unfaithfulness(of_features, asked(of_features, one), top_k=2) <= 1
    shares = torch.tensor([0.2, 0.6])
    score = characterization_score(shares, 1 - shares)
    assert ((score >= 0) & (score <= 1)).all()
    assert float(fidelity_curve_auc(shares, 1 - shares, torch.tensor([0.0, 1.0]))) >= 0
