"""Many graphs at once, each with its own Explanation."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Subset
from torch_geometric.data import Data
from torch_geometric.explain import Explainer as PygExplainer
from torch_geometric.explain.metric import fidelity
from torch_geometric.loader import DataLoader

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.lift import to_edges
from vgib.explain.many import explain_many, score, show
from vgib.explain.methods.fidelity_gate import FidelityGate
from vgib.explain.methods.gradcam import GradCAM
from vgib.explain.methods.occlusion import Occlusion
from vgib.explain.pyg import VGIBExplainer

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize("form", ["list", "loader", "packed"])
def test_one_explanation_for_each_graph(
    form: str, model_of: ModelOf, data: list[Data], graphs: PackedGraphs
) -> None:
    given = {"list": data, "loader": DataLoader(data, batch_size=3), "packed": graphs}[form]
    model = model_of("gcn")
    found = explain_many(model, given, "gradcam", batch_size=2)
    assert len(found) == len(data)
    whole = torch.cat([one.node_mask.squeeze(1) for one in found])
    torch.testing.assert_close(whole, score(GradCAM(), model, graphs), atol=1e-4, rtol=1e-3)
    for one, item in zip(found, data, strict=True):
        assert one.validate(raise_on_error=True)
        assert one.x.shape == item.x.shape
        assert torch.equal(one.edge_mask, to_edges(one.node_mask.squeeze(1), one.edge_index))
        assert one.prediction.shape == (1, 3)
        assert one.target.tolist() == one.prediction.argmax(1).tolist()
        assert one.removal == "none"
        assert one.get_explanation_subgraph().num_nodes <= item.num_nodes


def test_methods_that_learn_are_fitted_on_what_they_explain_or_on_other_graphs(
    model_of: ModelOf, data: list[Data]
) -> None:
    model = model_of("gcn")
    lazily = explain_many(model, data, "fidelity-gate", steps=2)
    assert lazily[0].removal == "exact"
    other = explain_many(model, data, "fidelity-gate", steps=2, fit_on=data[:3])
    assert not torch.equal(lazily[0].node_mask, other[0].node_mask)
    ready = FidelityGate(steps=2).fit(model, data)
    learned = ready.module_
    again = explain_many(model, data, ready)
    assert ready.module_ is learned
    assert torch.equal(again[0].node_mask, lazily[0].node_mask)


def test_a_value_keeps_its_value_as_target(model_of: ModelOf, data: list[Data]) -> None:
    found = explain_many(model_of("value"), data[:1], Occlusion)
    assert torch.equal(found[0].target, found[0].prediction)


def test_subsets_are_taken_and_graphs_without_a_node_have_empty_masks(
    model_of: ModelOf, data: list[Data]
) -> None:
    empty = Data(x=torch.zeros(0, 5), edge_index=torch.zeros(2, 0, dtype=torch.int64))
    found = explain_many(model_of("gcn"), Subset([empty, *data, empty], [0, 1, 4, 8]), "occlusion")
    assert [one.node_mask.shape[0] for one in found] == [0, 6, 9, 0]
    assert "prediction" not in found[0]
    assert "target" not in found[3]
    alone = explain_many(model_of("gcn"), [data[0]], "occlusion")
    torch.testing.assert_close(found[1].node_mask, alone[0].node_mask)
    fitted = explain_many(model_of("gcn"), [empty, *data], steps=2)
    assert len(fitted) == 8
    assert len(explain_many(model_of("gcn"), [empty, empty], "occlusion")) == 2


def test_nodes_without_any_edge_need_no_edge_index(model_of: ModelOf) -> None:
    found = explain_many(model_of("gcn"), [Data(x=torch.eye(5))], "occlusion")
    assert found[0].node_mask.shape == (5, 1)
    assert "edge_mask" not in found[0]


def test_a_model_that_gives_nan_names_the_graph(model_of: ModelOf, data: list[Data]) -> None:
    class Sour(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model_of("gcn")

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            out: Tensor = self.inner(x, edge_index, batch)
            return torch.where(torch.bincount(batch)[:, None] == 9, torch.nan, out)

    with pytest.raises(InputError, match=r"NaN or infinite outputs for 1 graphs, .* graph 3"):
        explain_many(Sour(), data, "gradcam")


@pytest.mark.parametrize("form", ["name", "algorithm"])
def test_pygs_fidelity_works_on_each_explanation(
    form: str, model_of: ModelOf, data: list[Data]
) -> None:
    model = model_of("gcn").eval()
    method = "vgib" if form == "name" else VGIBExplainer(steps=2)
    found = explain_many(model, data, method, **({"steps": 2} if form == "name" else {}))
    judge = PygExplainer(
        model,
        algorithm=VGIBExplainer(),
        explanation_type="model",
        node_mask_type="object",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )
    for one in found:
        assert all(value in (0.0, 1.0) for value in fidelity(judge, one))


def test_explanations_become_pictures(model_of: ModelOf, data: list[Data]) -> None:
    found = explain_many(model_of("gcn"), data, "gradcam")
    shown = show(found, keep_ratio=0.4)
    assert show(found[0], keep_ratio=0.4)[0] == shown[0]
    for one, picture in zip(found, shown, strict=True):
        assert picture.scores == pytest.approx(one.node_mask.flatten().tolist())
        assert picture.prediction == int(one.target)
        svg = picture.svg()
        assert svg.count("<circle ") == one.num_nodes
        assert svg.count("<line ") == one.num_edges // 2
    values = show(explain_many(model_of("value"), data, "gradcam"), rule="nodes")
    assert values[0].prediction == pytest.approx(
        float(explain_many(model_of("value"), data, "gradcam")[0].prediction)
    )


def test_a_graph_without_a_node_is_a_picture_without_a_prediction(
    model_of: ModelOf, data: list[Data]
) -> None:
    empty = Data(x=torch.zeros(0, 5), edge_index=torch.zeros(2, 0, dtype=torch.int64))
    found = explain_many(model_of("gcn"), [data[0], empty], "occlusion")
    shown = show(found)
    assert shown[0].prediction == int(found[0].target)
    assert shown[1].prediction == [] and shown[1].scores == () and shown[1].subgraphs == ()
    assert "<circle " not in shown[1].svg()
    assert shown._repr_html_().count("<svg") == 2


def test_graphs_may_be_explained_one_by_one(model_of: ModelOf, data: list[Data]) -> None:
    model = model_of("gcn")
    alone = explain_many(model, data, "gradcam", batch_size=1)
    for one, other in zip(alone, explain_many(model, data, "gradcam"), strict=True):
        torch.testing.assert_close(one.node_mask, other.node_mask)
    with pytest.raises(InputError, match="batch_size must be at least 1; got 0"):
        explain_many(model, data, "gradcam", batch_size=0)
