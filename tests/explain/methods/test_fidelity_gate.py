"""A gate that is trained on fidelity, on frozen models."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.explain.amortized import keep_nodes
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods import fidelity_gate
from vgib.explain.methods.fidelity_gate import (
    LEVELS,
    AwareGate,
    FidelityGate,
    gate_features,
    pulls,
    soft_top_share,
    top_share,
)
from vgib.nn.sparse import Segments

ModelOf = Callable[[str], nn.Module]


class Marked(nn.Module):
    """Class 1 as soon as a graph holds a node whose first feature is one."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(2, 1, bias=False)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = 0 * self.conv(x, edge_index)
        logit = 8 * global_add_pool(h + x[:, :1], batch) - 4
        return torch.cat([-logit, logit], dim=1)


class MarkedByLayer(nn.Module):
    """Marks nodes through the layer: the mark is the message-passing layer's own output."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(2, 1, bias=False)
        nn.init.constant_(self.conv.lin.weight, 0.0)
        self.conv.lin.weight.data[0, 0] = 1.0

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        logit = 8 * global_add_pool(self.conv(x, edge_index), batch) - 2
        return torch.cat([-logit, logit], dim=1)


def test_the_gate_finds_what_the_prediction_hangs_on(marked: PackedGraphs) -> None:
    model = MarkedByLayer()
    explainer = FidelityGate(steps=150).fit(model, marked)
    assert explainer.removal == "exact"
    scores = explainer.scores(model, marked.batch()).view(60, 6)
    assert marked.node_truth is not None
    found = scores.argmax(1) == marked.node_truth.view(60, 6).int().argmax(1)
    assert found.float().mean() > 0.9
    assert explainer.losses_[-1] < explainer.losses_[0]


def test_without_a_way_to_remove_nodes_messages_and_features_are_used(
    marked: PackedGraphs,
) -> None:
    model = Marked()
    explainer = FidelityGate(steps=150).fit(model, marked)
    assert explainer.removal == "messages"
    scores = explainer.scores(model, marked.batch()).view(60, 6)
    assert marked.node_truth is not None
    truth = marked.node_truth.view(60, 6)
    assert scores[truth].mean() > scores[~truth].mean() + 0.2


def test_each_term_has_its_price(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = FidelityGate(steps=1).fit(model_of("gcn"), graphs)

    def loss() -> float:
        torch.manual_seed(0)
        return float(explainer.loss(case, 0))

    whole = loss()
    explainer.beta = 0.0
    without = loss()
    assert without < whole
    monkeypatch.setattr(Frozen, "opposition", lambda self, output, goal: torch.zeros(len(goal)))
    assert loss() < without


def test_gates_harden_evenly_from_the_first_temperature_to_the_last(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.of(Frozen(model_of("ours-gcn")), graphs.batch())

    def loss(start: float, end: float, progress: float) -> float:
        monkeypatch.setattr(fidelity_gate, "TEMPERATURES", (start, end))
        explainer = FidelityGate()
        explainer.look_at(case)
        torch.manual_seed(0)
        logits = torch.randn(graphs.num_nodes)
        return float(explainer.loss_of(case, logits, progress))

    for progress, temperature in ((0.0, 0.8), (0.5, 0.4), (1.0, 0.2)):
        expected = loss(temperature, temperature, 0.0)
        assert loss(0.8, 0.2, progress) == pytest.approx(expected, rel=1e-4)
    assert loss(0.8, 0.8, 0.0) != pytest.approx(loss(0.2, 0.2, 0.0), rel=1e-2)


def test_the_gate_sees_all_layers_and_the_class(model_of: ModelOf, graphs: PackedGraphs) -> None:
    model = model_of("gcn")
    case = Case.of(Frozen(model), graphs.batch())
    features = gate_features(case)
    assert features.shape == (graphs.num_nodes, 5 + 8 + 8 + 8 + 3 + 1)
    other = Case.of(Frozen(model), graphs.batch(), (case.goal + 1) % 3)
    assert not torch.equal(gate_features(other), features)
    value = Case.of(Frozen(model_of("value")), graphs.batch())
    assert gate_features(value).shape == (graphs.num_nodes, 5 + 8 + 8 + 8 + 1)


def test_a_pull_is_the_slope_of_the_margin_along_the_gate(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("ours-gcn")), graphs.batch())
    found = pulls(case, "sum", torch.zeros(5))
    assert found.shape == (graphs.num_nodes, 2 * len(LEVELS))
    step = 1e-2
    for place, level in enumerate(LEVELS):
        margins = []
        for change in (-step, step):
            gate = torch.full((graphs.num_nodes,), level)
            gate[3] += change
            output = keep_nodes(case, gate, readout="sum")
            margins.append(float(case.frozen.evidence(output, case.goal)[0]))
        slope = (margins[1] - margins[0]) / (2 * step)
        assert float(found[3, place]) == pytest.approx(slope, rel=0.05, abs=1e-3)
    # The last columns are in units of each graph's root mean square.
    squares = case.batch.graphs.mean(found[:, len(LEVELS) :].square())
    assert bool(((squares - 1).abs() < 1e-4).logical_or(squares < 1e-6).all())


def test_the_gate_starts_from_the_pulls(model_of: ModelOf, graphs: PackedGraphs) -> None:
    model, batch = model_of("ours-gcn"), graphs.batch()
    explainer = FidelityGate(steps=1, lr=1e-9).fit(model, graphs)
    case = Case.of(Frozen(model), batch)
    g = explainer.features(case)[:, -len(LEVELS) :].mean(1)
    torch.testing.assert_close(explainer.fitted(explainer.features(case)), g, atol=1e-4, rtol=1e-4)


def test_removal_is_exact_where_the_model_allows_it(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    for of, removal in (("ours-gcn", "exact"), ("maxsage", "messages")):
        assert FidelityGate(steps=1).fit(model_of(of), graphs).removal == removal


def test_constant_features_do_not_disturb_the_gate() -> None:
    sample = torch.randn(6, 3)
    sample[:, 1] = 2.0
    gate = AwareGate(sample, 4)
    moved = sample.clone()
    moved[:, 1] = 1e6
    assert torch.equal(gate(sample), gate(moved))


def test_a_share_of_each_graph_is_kept_and_one_node_at_least() -> None:
    graphs = Segments.from_batch(torch.tensor([0, 0, 0, 0, 1]))
    found = top_share(torch.tensor([0.1, 0.4, 0.3, 0.2, 0.0]), graphs, torch.tensor([0.5, 0.1]))
    assert found.tolist() == [False, True, True, False, True]


def test_soft_gates_become_the_choice_as_the_temperature_falls() -> None:
    graphs = Segments.from_batch(torch.tensor([0, 0, 0, 1]))
    logits = torch.tensor([2.0, 0.0, -8.0, 3.0], requires_grad=True)
    share = torch.tensor([0.3, 0.5])
    warm = soft_top_share(logits, graphs, share, temperature=1.0, jitter=0.0)
    # The bar lies at 1 in the first graph, and below the only node of the second.
    torch.testing.assert_close(warm, torch.tensor([1.0, -1.0, -9.0, 1.0]).sigmoid())
    warm.sum().backward()
    assert logits.grad is not None
    assert (logits.grad > 0).all()
    cold = soft_top_share(logits, graphs, share, temperature=1e-3, jitter=0.3)
    torch.testing.assert_close(cold, top_share(logits, graphs, share).float())
    drawn = soft_top_share(logits, graphs, share, temperature=1.0, jitter=0.3)
    assert not torch.equal(drawn, warm)


def test_scores_keep_the_order_of_logits_however_far_apart(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    explainer = FidelityGate(steps=1).fit(model, graphs)
    before = explainer.scores(model, graphs.batch())
    with torch.no_grad():
        for parameter in (*explainer.fitted.mlp[-1].parameters(), explainer.fitted.start):
            parameter *= 1e3
    after = explainer.scores(model, graphs.batch())
    for low, high in zip(graphs.node_ptr[:-1], graphs.node_ptr[1:], strict=True):
        assert torch.equal(before[low:high].argsort(), after[low:high].argsort())
