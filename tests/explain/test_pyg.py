"""Our methods inside PyG's own Explainer, from end to end."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.metric import fidelity, groundtruth_metrics, unfaithfulness

from vgib.errors import InputError, UnknownNameError
from vgib.explain.lift import to_edges
from vgib.explain.many import explain_many
from vgib.explain.methods.fidelity_gate import FidelityGate
from vgib.explain.pyg import GIBExplainer, GSATExplainer, VGIBExplainer, side_by_side

ModelOf = Callable[[str], nn.Module]
ALGORITHMS = {
    "vgib": lambda: VGIBExplainer(steps=3),
    "vgib-paper": lambda: VGIBExplainer("paper", steps=3),
    "gib": lambda: GIBExplainer(steps=3, inner_steps=2),
    "gsat": lambda: GSATExplainer(steps=3),
}
MULTICLASS = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}


def explainer(model: nn.Module, algorithm: Any, **changes: Any) -> Explainer:
    settings = {
        "explanation_type": "model",
        "node_mask_type": "object",
        "edge_mask_type": "object",
        "model_config": MULTICLASS,
    }
    return Explainer(model, algorithm=algorithm, **(settings | changes))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("of", ["gcn", "gat-mean"])
def test_fit_explain_and_measure(name: str, of: str, model_of: ModelOf, data: list[Data]) -> None:
    model = model_of(of).train()
    explain = explainer(model, ALGORITHMS[name]())
    explain.algorithm.fit(model, data)
    batch = Batch.from_data_list(data)
    found = explain(batch.x, batch.edge_index, batch=batch.batch)
    assert found.node_mask.shape == (batch.num_nodes, 1)
    assert torch.equal(found.edge_mask, to_edges(found.node_mask.squeeze(1), batch.edge_index))
    plus, minus = fidelity(explain, found)
    assert 0 <= plus <= 1
    assert 0 <= minus <= 1
    assert 0 <= unfaithfulness(explain, found) <= 1
    assert found.get_explanation_subgraph().num_nodes > 0
    assert model.training
    assert explain.algorithm.removal in ("exact", "messages", "representation")


def test_a_single_graph_needs_no_batch_vector(data: list[Data]) -> None:
    class OneGraph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            from torch_geometric.nn import GCNConv

            self.conv = GCNConv(5, 3)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
            from torch_geometric.nn import global_add_pool

            return global_add_pool(self.conv(x, edge_index), batch)

    explain = explainer(OneGraph(), ALGORITHMS["vgib"]())
    explain.algorithm.fit(explain.model, data)
    found = explain(data[0].x, data[0].edge_index)
    assert found.node_mask.shape == (6, 1)


def test_without_fit_it_learns_from_what_it_is_given(
    model_of: ModelOf, data: list[Data], caplog: pytest.LogCaptureFixture
) -> None:
    explain = explainer(model_of("gcn"), ALGORITHMS["vgib"]())
    batch = Batch.from_data_list(data)
    with caplog.at_level(logging.WARNING):
        first = explain(batch.x, batch.edge_index, batch=batch.batch)
    assert "fitting on the 7 graph(s)" in caplog.text
    again = explain(batch.x, batch.edge_index, batch=batch.batch)
    assert torch.equal(first.node_mask, again.node_mask)


def test_thresholds_phenomena_and_single_masks(model_of: ModelOf, data: list[Data]) -> None:
    model = model_of("gcn")
    batch = Batch.from_data_list(data)
    algorithm = ALGORITHMS["vgib"]().fit(model, data)
    top = explainer(model, algorithm, threshold_config=("topk", 5))
    found = top(batch.x, batch.edge_index, batch=batch.batch)
    assert int((found.node_mask > 0).sum()) == 5
    true = explainer(model, algorithm, explanation_type="phenomenon", edge_mask_type=None)
    found = true(batch.x, batch.edge_index, batch=batch.batch, target=batch.y)
    assert "edge_mask" not in found
    assert torch.equal(found.target, batch.y)
    edges = explainer(model, algorithm, node_mask_type=None)
    assert "node_mask" not in edges(batch.x, batch.edge_index, batch=batch.batch)


def test_an_index_leaves_the_other_graphs_out(model_of: ModelOf, data: list[Data]) -> None:
    model = model_of("gcn")
    explain = explainer(model, ALGORITHMS["vgib"]().fit(model, data))
    batch = Batch.from_data_list(data)
    found = explain(batch.x, batch.edge_index, batch=batch.batch, index=2)
    mask = found.node_mask.squeeze(1)
    assert (mask[batch.batch != 2] == 0).all()
    assert (mask[batch.batch == 2] > 0).all()


class Returning(nn.Module):
    """The same model, giving probabilities or their logarithm."""

    def __init__(self, model: nn.Module, returns: str, *, is_single: bool = False) -> None:
        super().__init__()
        self.model, self.returns, self.is_single = model, returns, is_single

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        out: Tensor = self.model(x, edge_index, batch)
        if self.returns == "raw":
            return out
        if self.is_single:
            return out.sigmoid()
        logs = out.log_softmax(1)
        return logs if self.returns == "log_probs" else logs.exp()


@pytest.mark.parametrize("returns", ["probs", "log_probs"])
def test_what_the_model_returns_makes_no_difference(
    returns: str, model_of: ModelOf, data: list[Data]
) -> None:
    masks = []
    batch = Batch.from_data_list(data)
    for model, kind in (
        (model_of("gcn"), "raw"),
        (Returning(model_of("gcn"), returns), returns),
    ):
        explain = explainer(
            model, ALGORITHMS["gsat"](), model_config=MULTICLASS | {"return_type": kind}
        )
        explain.algorithm.fit(model, data)
        masks.append(explain(batch.x, batch.edge_index, batch=batch.batch).node_mask)
    torch.testing.assert_close(*masks, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("mode", ["regression", "binary_classification"])
def test_values_and_single_logits(mode: str, model_of: ModelOf, data: list[Data]) -> None:
    model = model_of("value")
    batch = Batch.from_data_list(data)
    explain = explainer(model, ALGORITHMS["vgib"](), model_config=MULTICLASS | {"mode": mode})
    explain.algorithm.fit(model, data)
    found = explain(batch.x, batch.edge_index, batch=batch.batch)
    assert torch.isfinite(found.node_mask).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_models_of_edges_are_refused_with_the_reason(name: str, model_of: ModelOf) -> None:
    config = MULTICLASS | {"task_level": "edge"}
    with pytest.raises(ValueError, match=r"not support the given explanation settings.*of edges"):
        explainer(model_of("gcn"), ALGORITHMS[name](), model_config=config)


RETURNS = {
    "multiclass_classification": ["raw", "probs", "log_probs"],
    "binary_classification": ["raw", "probs"],
    "regression": ["raw"],
}


@pytest.mark.parametrize("kind", ["model", "phenomenon"])
@pytest.mark.parametrize(("mode", "returns"), [(m, r) for m, all in RETURNS.items() for r in all])
def test_every_combination_of_masks_that_gnnexplainer_takes(
    kind: str, mode: str, returns: str, model_of: ModelOf, data: list[Data]
) -> None:
    """Two types, seven pairs of masks, six kinds of output: 84 in all."""
    plain = model_of("gcn" if mode.startswith("multi") else "value")
    model = Returning(plain, returns, is_single=mode.startswith("binary")).eval()
    batch = Batch.from_data_list(data)
    config = {"mode": mode, "task_level": "graph", "return_type": returns}
    algorithm = VGIBExplainer(steps=2)
    fitted = None
    for node in (None, "object", "attributes", "common_attributes"):
        for edge in (None, "object"):
            if node is edge is None:
                continue
            settings = {"explanation_type": kind, "node_mask_type": node, "edge_mask_type": edge}
            theirs = Explainer(model, GNNExplainer(epochs=1), model_config=config, **settings)
            ours = Explainer(model, algorithm, model_config=config, **settings)
            fitted = fitted or algorithm.fit(model, data)
            target = {}
            if kind == "phenomenon":
                said = model(batch.x, batch.edge_index, batch.batch)
                target = {"target": said if mode == "regression" else ours.get_target(said)}
            found, expected = (
                one(batch.x, batch.edge_index, batch=batch.batch, **target)
                for one in (ours, theirs)
            )
            for name in ("node_mask", "edge_mask"):
                assert (name in found) == (name in expected)
                if name in found:
                    assert found[name].shape == expected[name].shape
                    assert 0 <= float(found[name].min()) <= float(found[name].max()) <= 1
            assert torch.equal(found.target, expected.target)
            assert found.validate(raise_on_error=True)


def test_mistakes_are_named(model_of: ModelOf, data: list[Data]) -> None:
    with pytest.raises(InputError, match="preset must be 'recommended' or 'paper'; got 'best'"):
        VGIBExplainer("best")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="no method of GIBExplainer named 'gsat'"):
        GIBExplainer("gsat")
    model = model_of("gcn")
    algorithm = ALGORITHMS["vgib"]().fit(model, data)
    explainer(model, algorithm)
    graph = data[0]
    with pytest.raises(InputError, match="pos is neither of nodes nor of edges nor of graphs"):
        algorithm(model, graph.x, graph.edge_index, target=torch.tensor([0]), pos=torch.ones(77))
    for strange in (torch.tensor(1.0), [1.0, 2.0]):
        with pytest.raises(InputError, match="hint is neither of nodes nor of edges"):
            side_by_side(graph.x, graph.edge_index, None, {"hint": strange})
    with pytest.raises(InputError, match="must be sorted"):
        algorithm(
            model,
            graph.x,
            graph.edge_index,
            target=torch.tensor([0, 0]),
            batch=torch.tensor([0, 1, 0, 1, 0, 1]),
        )


def explained(model: nn.Module, data: list[Data], **changes: Any) -> Any:
    explain = explainer(model, ALGORITHMS["vgib"]().fit(model, data), **changes)
    batch = Batch.from_data_list(data)
    return explain(batch.x, batch.edge_index, batch=batch.batch)


def test_ground_truth_metrics_are_those_of_scikit_learn(
    model_of: ModelOf, data: list[Data]
) -> None:
    found = explained(model_of("gcn"), data)
    truth = Batch.from_data_list(data).x[:, 0] > 0
    names = ["accuracy", "recall", "precision", "f1_score", "auroc"]
    measured = groundtruth_metrics(found.node_mask, truth.float(), metrics=names, threshold=0.4)
    scores = found.node_mask.squeeze(1).numpy()
    assert measured[-1] == pytest.approx(roc_auc_score(truth.numpy(), scores), abs=1e-6)
    assert measured[0] == pytest.approx(float(((scores > 0.4) == truth.numpy()).mean()), abs=1e-6)
    edges = to_edges(truth.float(), found.edge_index)
    assert 0 <= groundtruth_metrics(found.edge_mask, edges, metrics="auroc") <= 1


@pytest.mark.parametrize(
    ("threshold", "kept"),
    [(("hard", 0.5), None), (("topk", 4), 4), (("topk_hard", 4), 4)],
    ids=["hard", "topk", "topk_hard"],
)
def test_every_kind_of_threshold_cuts_both_masks(
    threshold: tuple[str, float], kept: int | None, model_of: ModelOf, data: list[Data]
) -> None:
    model = model_of("gcn")
    plain = explained(model, data)
    found = explained(model, data, threshold_config=threshold)
    for name in ("node_mask", "edge_mask"):
        mask, scores = found[name].flatten(), plain[name].flatten()
        expected = (scores > 0.5).sum() if kept is None else torch.tensor(kept)
        assert int((mask > 0).sum()) == int(expected)
        assert mask[mask > 0].unique().numel() == 1 or threshold[0] == "topk"
    part = found.get_explanation_subgraph()
    assert found.get_complement_subgraph().num_nodes == found.num_nodes - part.num_nodes


@pytest.mark.parametrize("several", [True, False], ids=["explain_many", "Explainer"])
def test_pyg_draws_the_explanation(
    several: bool, model_of: ModelOf, data: list[Data], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="PyG draws with matplotlib")
    model = model_of("gcn")
    found = (
        explain_many(model, data, FidelityGate(steps=3))[0] if several else explained(model, data)
    )
    assert found.validate()
    found.visualize_graph(str(tmp_path / "graph.png"), backend="networkx")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="Cannot compute feature importance for object-level"):
        found.visualize_feature_importance(str(tmp_path / "features.png"))


def test_of_nodes_and_edges_that_are_as_many_the_name_decides() -> None:
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    named = {"edge_weight": torch.ones(3), "charge": torch.ones(3)}
    found = side_by_side(torch.ones(3, 1), ring, None, named)
    assert (list(found.of_edges), list(found.of_nodes)) == (["edge_weight"], ["charge"])
    # What is called after edges may still be of something else.
    path = torch.tensor([[0, 1], [1, 2]])
    found = side_by_side(torch.ones(3, 1), path, None, {"edge_of": torch.ones(3)})
    assert list(found.of_nodes) == ["edge_of"]
