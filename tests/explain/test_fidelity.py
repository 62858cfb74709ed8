"""Fidelity against a loop over graphs and shares, by every definition."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain.metric import characterization_score
from torch_geometric.loader import DataLoader

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain import fidelity as module
from vgib.explain.fidelity import DEFINITIONS, Judge, fidelity, fidelity_of
from vgib.select.masks import sizes_of_ratio

ModelOf = Callable[[str], nn.Module]
RATIOS = (0.3, 0.5, 1.0)


def predict(model: nn.Module, graphs: PackedGraphs, number: int, nodes: list[int]) -> Tensor | None:
    """The output for some nodes of one graph."""
    if not nodes:
        return None
    mask = torch.zeros(graphs.num_nodes, dtype=torch.bool)
    mask[int(graphs.node_ptr[number]) + torch.tensor(nodes)] = True
    batch = graphs.induced(mask)[[number]].batch()
    with torch.no_grad():
        out: Tensor = model.eval()(batch.x, batch.adj.edge_index, batch.graphs.batch)[0]
    return out


def slow(
    model: nn.Module, graphs: PackedGraphs, scores: Tensor, ratio: float, definition: str
) -> tuple[float, float]:
    """Fidelity+ and Fidelity-, graph by graph."""
    assert graphs.y is not None
    sizes = sizes_of_ratio(graphs.node_ptr, ratio)
    plus, minus = [], []
    for number in range(len(graphs)):
        low, high = graphs.node_ptr[number].item(), graphs.node_ptr[number + 1].item()
        order = torch.argsort(scores[low:high], descending=True, stable=True).tolist()
        whole = predict(model, graphs, number, order)
        assert whole is not None
        y = int(graphs.y[number])
        for part, found in ((order[: sizes[number]], minus), (order[sizes[number] :], plus)):
            output = predict(model, graphs, number, part)
            if output is None:
                continue
            found.append(
                {
                    "accuracy": int(whole.argmax() == y) - int(output.argmax() == y),
                    "agreement": int(whole.argmax() != output.argmax()),
                    "probability": float(
                        whole.softmax(0).max() - output.softmax(0)[whole.argmax()]
                    ),
                    "change": float((whole - output).abs().mean()),
                }[definition]
            )
    return (float(np.mean(plus)) if plus else float("nan")), float(np.mean(minus))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_one_pass_equals_the_loop(definition: str, model_of: ModelOf, graphs: PackedGraphs) -> None:
    model = model_of("value" if definition == "change" else "gin-mean")
    scores = torch.rand(graphs.num_nodes)
    found = fidelity(model, graphs, scores, keep_ratios=RATIOS, definition=definition)  # type: ignore[arg-type]
    for result in found:
        plus, minus = slow(model, graphs, scores, result.keep_ratio, definition)
        assert result.definition == definition
        assert result.plus.value == pytest.approx(plus, abs=1e-5, nan_ok=True)
        assert result.minus.value == pytest.approx(minus, abs=1e-5)
        assert result.plus.low <= result.plus.value <= result.plus.high or result.plus.n == 0


def test_what_is_kept_whole_loses_nothing_and_has_no_complement(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    (whole,) = fidelity(model_of("gcn"), graphs, torch.rand(graphs.num_nodes), keep_ratios=[1.0])
    assert whole.minus.value == 0
    assert whole.plus.n == 0


def test_the_default_definition_follows_the_model_and_the_labels(
    model_of: ModelOf, graphs: PackedGraphs, data: list[Data]
) -> None:
    scores = torch.rand(graphs.num_nodes)
    bare = [Data(x=item.x, edge_index=item.edge_index) for item in data]
    half = {"keep_ratios": [0.5]}
    assert fidelity(model_of("gcn"), graphs, scores, **half)[0].definition == "accuracy"
    assert fidelity(model_of("gcn"), data, scores, **half)[0].definition == "accuracy"
    assert fidelity(model_of("gcn"), bare, scores, **half)[0].definition == "agreement"
    value = fidelity(model_of("value"), bare, scores, **half)[0]
    assert value.definition == "change"
    assert value.flipped is None
    assert "change at 0.5: Fidelity+" in str(value)


def test_the_control_has_the_same_size_and_another_choice(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    constant = torch.rand(graphs.num_nodes, generator=torch.Generator().manual_seed(4))
    (own,) = fidelity(model, graphs, constant, keep_ratios=[0.5], definition="probability", seed=4)
    assert own.random_plus.value == pytest.approx(own.plus.value, abs=1e-6)
    assert own.random_minus.value == pytest.approx(own.minus.value, abs=1e-6)


def test_flips_are_the_agreement_of_the_complement(model_of: ModelOf, graphs: PackedGraphs) -> None:
    scores = torch.rand(graphs.num_nodes)
    (found,) = fidelity(model_of("gin"), graphs, scores, keep_ratios=[0.5], definition="agreement")
    assert found.flipped == found.plus
    assert found.to_json()["flipped"]["n"] == found.plus.n


def test_characterization_is_pygs(model_of: ModelOf, graphs: PackedGraphs) -> None:
    for result in fidelity(
        model_of("gin"), graphs, torch.rand(graphs.num_nodes), definition="agreement"
    ):
        if result.plus.value > 0:
            expected = characterization_score(result.plus.value, result.minus.value)
            assert result.characterization.value == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("definition", "of", "message"),
    [
        ("paper", "gcn", "no definition of fidelity named 'paper'"),
        ("change", "gcn", "'change' is not defined for a classifier"),
        ("agreement", "value", "'agreement' is not defined for a regression model"),
    ],
)
def test_definitions_that_do_not_fit_are_refused(
    definition: str, of: str, message: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    with pytest.raises(InputError, match=message):
        fidelity(model_of(of), graphs, torch.rand(graphs.num_nodes), definition=definition)  # type: ignore[arg-type]


def test_labels_must_be_there_and_fit(model_of: ModelOf, data: list[Data]) -> None:
    bare = [Data(x=item.x, edge_index=item.edge_index) for item in data]
    scores = torch.rand(sum(item.num_nodes for item in data))
    with pytest.raises(InputError, match="needs true labels"):
        fidelity(model_of("gcn"), bare, scores, definition="accuracy")
    with pytest.raises(InputError, match="7 graphs, but 2 labels"):
        fidelity(model_of("gcn"), bare, scores, y=torch.tensor([0, 1]))


def test_labels_come_from_the_batches_of_a_loader_and_from_a_single_graph(
    model_of: ModelOf, data: list[Data]
) -> None:
    model, scores = model_of("gcn"), torch.rand(sum(item.num_nodes for item in data))
    loaded = fidelity(model, DataLoader(data, batch_size=3), scores)
    assert loaded == fidelity(model, data, scores)
    assert loaded[0].definition == "accuracy"
    alone = scores[: data[0].num_nodes]
    assert fidelity(model, data[0], alone) == fidelity(model, data[:1], alone)


def test_labels_are_read_whatever_the_features_are() -> None:
    class Sign(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([[1.0, -1.0]]))

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            total = torch.zeros(int(batch.max()) + 1, 1).index_add(0, batch, x.float())
            return total * self.weight

    edges = torch.tensor([[0, 1], [1, 0]])
    data = [Data(x=torch.tensor([[-1], [value]]), edge_index=edges, y=0) for value in (3, -5)]
    (found,) = fidelity(Sign(), data, torch.tensor([0.1, 0.9, 0.1, 0.9]), keep_ratios=[0.5])
    # Without its best node the first graph is taken for class 1; the second one is wrong before.
    assert (found.definition, found.plus.value, found.minus.value) == ("accuracy", 0.5, 0.0)


def test_several_definitions_need_one_pass_over_the_parts(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions: list[module.Definition] = ["accuracy", "agreement", "probability"]
    model, kept = model_of("gcn"), torch.rand(2, graphs.num_nodes) < 0.5
    one_by_one = [
        found
        for each in definitions
        for found in fidelity_of(model, graphs, kept, ~kept, shares=[0.3, 0.6], definition=each)
    ]
    passes = []
    usual = Judge.outputs
    monkeypatch.setattr(
        Judge, "outputs", lambda self, masks: passes.append(len(masks)) or usual(self, masks)
    )
    judge = Judge(model, graphs)
    assert judge.fidelities(kept, ~kept, [0.3, 0.6], definitions) == one_by_one
    assert passes == [8]


def test_the_precision_is_that_of_the_outputs(model_of: ModelOf, graphs: PackedGraphs) -> None:
    judge = Judge(model_of("gcn"), graphs)
    outputs = judge.outputs(torch.rand(1, graphs.num_nodes) < 0.5)
    for definition in ("accuracy", "agreement", "probability"):
        single, double = (
            judge.differences(each, definition) for each in (outputs, outputs.double())
        )
        assert single.dtype == torch.float32 and double.dtype == torch.float64
        torch.testing.assert_close(single.double(), double, equal_nan=True)


def test_chosen_subgraphs_are_judged_as_they_are(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of("gin-mean")
    masks = torch.rand(2, graphs.num_nodes) < 0.5
    masks[:, graphs.node_ptr[:-1]] = True
    found = fidelity_of(model, graphs, masks, masks, definition="probability")
    for result, mask in zip(found, masks, strict=True):
        shares = [m.float().mean() for m in torch.split(mask, graphs.sizes.tolist())]
        assert result.keep_ratio == pytest.approx(float(torch.stack(shares).mean()))
        assert (result.plus, result.minus) == (result.random_plus, result.random_minus)
        drops = []
        for number, own in enumerate(torch.split(mask, graphs.sizes.tolist())):
            whole = predict(model, graphs, number, list(range(len(own))))
            part = predict(model, graphs, number, own.nonzero().flatten().tolist())
            drops.append(whole.softmax(0).max() - part.softmax(0)[whole.argmax()])
        assert result.minus.value == pytest.approx(float(torch.stack(drops).mean()), abs=1e-6)
    monkeypatch.setattr(module, "MOST_EDGES", 1)
    assert fidelity_of(model, graphs, masks, masks, definition="probability") == found


def test_a_misspelled_setting_is_no_setting(model_of: ModelOf, graphs: PackedGraphs) -> None:
    scores = torch.rand(graphs.num_nodes)
    with pytest.raises(TypeError, match="unexpected keyword argument 'defnition'"):
        fidelity(model_of("gcn"), graphs, scores, defnition="change")  # type: ignore[call-arg]
