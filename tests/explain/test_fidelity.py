"""Fidelity against a loop over graphs and shares, by every definition."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain.metric import characterization_score
from torch_geometric.nn import GCNConv

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain import fidelity as module
from vgib.explain.explainer import Case, Explainer, RandomScores
from vgib.explain.fidelity import (
    DEFINITIONS,
    fidelity,
    fidelity_of,
    fine_tuned,
    fine_tuned_fidelity,
    robust_fidelity,
    self_consistency,
)
from vgib.select.masks import keep_ratio, sizes_of_ratio

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


def test_robust_fidelity_with_certain_removal_is_fidelity(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, scores = model_of("gcn"), torch.rand(graphs.num_nodes)
    options = {"keep_ratios": [0.5], "definition": "probability"}
    plain = fidelity(model, graphs, scores, **options)[0]  # type: ignore[arg-type]
    certain = robust_fidelity(
        model,
        graphs,
        scores,
        remove_explanation=1.0,
        remove_rest=1.0,
        samples=2,
        **options,  # type: ignore[arg-type]
    )[0]
    assert certain.plus.value == pytest.approx(plain.plus.value, abs=1e-5)
    assert certain.minus.value == pytest.approx(plain.minus.value, abs=1e-5)
    mild = robust_fidelity(
        model,
        graphs,
        scores,
        remove_explanation=0.0,
        remove_rest=0.0,
        samples=1,
        **options,  # type: ignore[arg-type]
    )[0]
    assert mild.plus.value == pytest.approx(0, abs=1e-6)
    assert mild.minus.value == pytest.approx(0, abs=1e-6)


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


def test_fine_tuned_fidelity_removes_few_nodes_of_the_explanation_or_of_the_rest(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []
    usual = module._Judge.outputs

    def watched(judge: module._Judge, masks: Tensor) -> Tensor:
        seen.append(masks)
        return usual(judge, masks)

    monkeypatch.setattr(module._Judge, "outputs", watched)
    scores = torch.rand(graphs.num_nodes)
    (found,) = fine_tuned_fidelity(
        model_of("gcn"), graphs, scores, keep_ratios=[0.5], most=0.3, share=0.5, samples=4
    )
    part = keep_ratio(scores, graphs.node_ptr, 0.5)
    owner = torch.repeat_interleave(graphs.sizes)
    for masks in seen:
        alone, _, without, _ = masks  # those of random nodes stand between them
        assert not (~alone & part).any() and not (~without & ~part).any()
        for left, some in ((alone, ~part), (without, part)):
            gone, own = (torch.bincount(owner, m.double()) for m in (~left, some))
            most = torch.minimum(0.5 * own, 0.3 * graphs.sizes).floor().clamp(min=1)
            assert torch.equal(gone, torch.minimum(most, own).to(gone))
    assert len({tuple(masks[2].tolist()) for masks in seen}) > 1  # drawn anew each time
    assert found.keep_ratio == 0.5 and np.isfinite(found.plus.value)


def test_a_fine_tuned_copy_knows_graphs_that_lack_nodes(graphs: PackedGraphs) -> None:
    class Size(nn.Module):
        """Two classes by the number of nodes, about a bound that is learned."""

        def __init__(self) -> None:
            super().__init__()
            self.bound = nn.Parameter(torch.tensor(5.0))
            self.conv = GCNConv(1, 1)  # for the sake of a message-passing layer

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            far = torch.bincount(batch).float() - self.bound
            return torch.stack([-far, far], dim=1)

    sizes = torch.tensor([9] * 40 + [11] * 40)
    paths = [Data(x=torch.ones(n, 1), edge_index=torch.zeros(2, 0).long()) for n in sizes.tolist()]
    model, y = Size(), (sizes > 10).long()
    copy = fine_tuned(model, paths, y=y, most=0.2, epochs=150, batch_size=20, lr=0.1)
    # Whole graphs are told apart by a bound of 10, graphs that lack up to a fifth by one of 9.
    assert model.bound.item() == 5.0 and 8.5 < copy.get_parameter("bound").item() < 9.8
    assert not copy.training
    with pytest.raises(InputError, match="labels"):
        fine_tuned(model, paths)


def test_a_method_that_scores_by_features_finds_its_part_again(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    class ByFeature(Explainer):
        """The first feature, whatever the graph."""

        def explain(self, case: Case) -> Tensor:
            return case.batch.x[:, 0].double().argsort().argsort() / len(case.batch.x)

    values = torch.rand(graphs.num_nodes)
    data = replace(
        graphs, x=torch.cat([values.unsqueeze(1), graphs.x[:, 1:]], 1), cardinalities=None
    )
    model = model_of("gcn")
    assert self_consistency(ByFeature(), model, data, values).value == 1
    many = data[torch.arange(len(data)).repeat(30)]
    chance = self_consistency(RandomScores(), model, many, torch.rand(many.num_nodes))
    assert 0.2 < chance.value < 0.6
