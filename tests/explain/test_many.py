"""Many graphs at once, each with its own Explanation."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from vgib.data.packed import PackedGraphs
from vgib.explain.lift import to_edges
from vgib.explain.many import explain_many, score, show
from vgib.explain.methods.fidelity_gate import FidelityGate
from vgib.explain.methods.gradcam import GradCAM
from vgib.explain.methods.occlusion import Occlusion

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


def test_explanations_become_pictures(model_of: ModelOf, data: list[Data]) -> None:
    found = explain_many(model_of("gcn"), data, "gradcam")
    shown = show(found, keep_ratio=0.4)
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
