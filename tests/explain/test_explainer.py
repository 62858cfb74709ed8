"""The contract, over every registered explainer."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

import vgib.explain  # noqa: F401  # registers
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, NotFittedError, UnknownNameError
from vgib.explain.explainer import Explainer, as_batch, as_graphs, check_positive, explainers

# Each method at toy size.
CASES: dict[str, dict[str, Any]] = {
    "attention": {"steps": 3},
    "fidelity-each": {"refine": 3},
    "fidelity-gate": {"steps": 3},
    "gib": {"steps": 3, "inner_steps": 2},
    "gmt-sam": {"steps": 3, "draws": 2},
    "gnnexplainer": {"epochs": 4},
    "gradcam": {},
    "graphmask": {"steps": 3},
    "gsat": {"steps": 3},
    "ig": {"steps": 4},
    "occlusion": {},
    "pgexplainer": {"steps": 3},
    "random": {},
    "random-connected": {},
    "subgraphx": {"samples": 1},
    "vgib": {"steps": 3},
    "vgib-beta0": {"steps": 3},
    "vgib-counts": {"steps": 3},
    "vgib-paper": {"steps": 3},
}
RANDOM = {"random", "random-connected", "subgraphx", "gnnexplainer", "fidelity-each"}
"""Scores are drawn, or start from a draw that depends on the place in the batch."""
DETERMINISTIC = sorted(set(CASES) - RANDOM)
MODELS = ["ours-gcn", "ours-gat", "gcn", "gin-mean", "gat-max", "sage", "value"]

ModelOf = Callable[[str], nn.Module]


def fitted(name: str, model: nn.Module, graphs: Any) -> Explainer:
    return explainers.make(name, **CASES[name]).fit(model, graphs)


def test_every_registered_explainer_has_a_case() -> None:
    assert sorted(CASES) == explainers.names()


@pytest.mark.parametrize("of", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_scores_are_finite_between_0_and_1_one_for_each_node(
    name: str, of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of(of)
    scores = fitted(name, model, graphs).scores(model, graphs.batch())
    assert scores.shape == (graphs.num_nodes,)
    assert not scores.requires_grad
    assert torch.isfinite(scores).all()
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("name", CASES)
def test_a_single_node_and_an_edgeless_graph_can_be_explained_alone(
    name: str, model_of: ModelOf, graphs: PackedGraphs, data: list[Data]
) -> None:
    model = model_of("gcn")
    explainer = fitted(name, model, graphs)
    for lonely in (data[1], data[-1]):
        scores = explainer.scores(model, lonely)
        assert scores.shape == (lonely.num_nodes,)
        assert torch.isfinite(scores).all()


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_scores(
    name: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    once = fitted(name, model, graphs).scores(model, graphs.batch())
    torch.rand(7)
    again = fitted(name, model, graphs).scores(model, graphs.batch())
    assert torch.equal(once, again)


@pytest.mark.parametrize("of", ["ours-gcn", "gin-mean"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_batch_and_its_graphs_one_by_one_get_equal_scores(
    name: str, of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of(of)
    explainer = fitted(name, model, graphs)
    together = explainer.scores(model, graphs.batch())
    alone = [explainer.scores(model, graphs.batch(torch.tensor([g]))) for g in range(len(graphs))]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_scores_follow_the_nodes_when_they_are_relabeled(
    name: str, model_of: ModelOf, graphs: PackedGraphs, data: list[Data]
) -> None:
    model = model_of("gcn")
    explainer = fitted(name, model, graphs)
    graph = data[3]
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(5))
    place = torch.argsort(order)
    moved = Data(x=graph.x[order], edge_index=place[graph.edge_index])
    before, after = explainer.scores(model, graph), explainer.scores(model, moved)
    torch.testing.assert_close(before[order], after, atol=1e-4, rtol=1e-3)


def everything(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("name", CASES)
def test_model_and_random_state_are_as_before(
    name: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn").train()
    model(graphs.x, graphs.batch().adj.edge_index, graphs.batch().graphs.batch).sum().backward()
    before = everything(model)
    gradients = [parameter.grad.clone() for parameter in model.parameters()]  # type: ignore[union-attr]
    flags = [parameter.requires_grad for parameter in model.parameters()]
    attributes = [sorted(vars(module)) for module in model.modules()]
    random = torch.get_rng_state()
    fitted(name, model, graphs).scores(model, graphs.batch())
    assert torch.equal(torch.get_rng_state(), random)
    assert all(module.training for module in model.modules())
    assert [parameter.requires_grad for parameter in model.parameters()] == flags
    assert attributes == [sorted(vars(module)) for module in model.modules()]
    assert all(torch.equal(before[key], value) for key, value in everything(model).items())
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, gradient)
    layers = [module for module in model.modules() if hasattr(module, "explain")]
    assert all(layer.explain is None and layer._edge_mask is None for layer in layers)


@pytest.mark.parametrize("name", CASES)
def test_an_explainer_that_must_learn_says_so(
    name: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    explainer = explainers.make(name, **CASES[name])
    if not explainer.needs_fit:
        assert explainer.fit(model_of("gcn"), graphs) is explainer
        return
    with pytest.raises(NotFittedError, match=r"call fit\(model, graphs\) first"):
        explainer.scores(model_of("gcn"), graphs.batch())


@pytest.mark.parametrize("name", CASES)
def test_another_class_can_be_asked_about(
    name: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    goal = torch.full((len(graphs),), 2)
    scores = fitted(name, model, graphs).scores(model, graphs.batch(), goal)
    assert torch.isfinite(scores).all()


def test_a_model_that_an_explainer_of_pyg_left_masked_is_explained_all_the_same(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    clean = explainers.make("gradcam").scores(model, graphs.batch())
    leaked = copy.deepcopy(model)
    for layer in leaked.gnn.convs:  # type: ignore[union-attr]
        layer.explain = True
        layer._edge_mask = nn.Parameter(torch.zeros(graphs.num_edges))
    assert torch.equal(explainers.make("gradcam").scores(leaked, graphs.batch()), clean)


def test_unknown_names_and_options_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'vgib'"):
        explainers.make("vgibb")
    with pytest.raises(TypeError, match="explain"):
        Explainer().explain(None)  # type: ignore[arg-type]


def test_graphs_come_in_every_form(data: list[Data]) -> None:
    packed = PackedGraphs.from_data(data)
    assert as_graphs(packed) is packed
    for given in (data, iter(data), Batch.from_data_list(data), [Batch.from_data_list(data)]):
        found = as_graphs(given)
        assert torch.equal(found.x, packed.x)
        assert torch.equal(found.col, packed.col)
    assert as_batch(data[0]).num_graphs == 1
    # A model may see loops and edges that are listed twice, so they stay.
    odd = Data(x=torch.ones(2, 5), edge_index=torch.tensor([[0, 1, 1], [0, 0, 0]]))
    assert as_graphs(odd).num_edges == 3
    with pytest.raises(InputError, match="PyG Data objects; got int"):
        as_graphs([1])


@pytest.mark.parametrize("value", ["one", None, -1, -0.5, 0])
def test_an_option_that_counts_is_a_number_above_zero(value: Any) -> None:
    with pytest.raises(InputError, match="steps must be positive; got"):
        check_positive("steps", value)
    check_positive("steps", 1)
    check_positive("weight", 0, or_zero=True)
    if value != 0:
        with pytest.raises(InputError, match="weight must be zero or positive; got"):
            check_positive("weight", value, or_zero=True)
