"""Bottlenecks of ``vgib.nn`` on frozen models: one adapter, the same classes."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.errors import UnknownNameError
from vgib.explain.adapter import (
    EPOCHS,
    Adapted,
    PosthocAttention,
    PosthocGIB,
    PosthocGMT,
    PosthocGSAT,
    PosthocPaperVGIB,
    PosthocVGIB,
    encoded_of,
)
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, Site, Stage, bottlenecks
from vgib.nn.paper_vgib import compression, graph_statistics, node_sums

ModelOf = Callable[[str], nn.Module]
ADAPTED = [
    PosthocAttention,
    PosthocGIB,
    PosthocGMT,
    PosthocGSAT,
    PosthocPaperVGIB,
    PosthocVGIB,
]


class MarkedByLayer(nn.Module):
    """Class 1 as soon as the layer's own output holds a mark."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(2, 1, bias=False)
        nn.init.constant_(self.conv.lin.weight, 0.0)
        self.conv.lin.weight.data[0, 0] = 1.0

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        logit = 8 * global_add_pool(self.conv(x, edge_index), batch) - 2
        return torch.cat([-logit, logit], dim=1)


@pytest.mark.parametrize("kind", ADAPTED)
def test_what_explains_is_the_class_that_is_trained_in(
    kind: type[Adapted], model_of: ModelOf, graphs: PackedGraphs
) -> None:
    explainer = kind(steps=1).fit(model_of("gcn"), graphs)
    assert type(explainer.fitted) is bottlenecks.get(kind.bottleneck)


@pytest.mark.parametrize("of", ["gcn", "gin-mean", "gat-max", "value"])
def test_a_frozen_pass_is_what_a_bottleneck_sees(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    encoded = encoded_of(case)
    assert encoded.readout is None and encoded.x is case.clean.inputs
    assert len(encoded.states) == len(case.clean.states)
    assert all(state.shape[0] == graphs.num_nodes for state in encoded.states)
    if case.frozen.is_classifier:
        chances = encoded.output.exp().sum(1)
        assert torch.allclose(chances, torch.ones(len(graphs)), atol=1e-5)
        assert torch.equal(encoded.output.argmax(1), encoded.target)


@pytest.mark.parametrize("kind", [PosthocPaperVGIB, PosthocGIB, PosthocAttention])
def test_with_open_gates_the_frozen_network_says_what_it_says(
    kind: type[Adapted], model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = kind()
    bottleneck = explainer.build(case).train()
    with torch.no_grad():
        bottleneck.gate.mlp[-1].weight.zero_()
        bottleneck.gate.mlp[-1].bias.fill_(1e6 if kind is not PosthocAttention else 0.0)
    output = explainer.run(case, bottleneck(encoded_of(case)))
    torch.testing.assert_close(output, case.clean.output, atol=1e-4, rtol=1e-4)


def test_the_loss_of_the_papers_form_is_prediction_and_bound(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    keep = torch.rand(graphs.num_nodes)
    monkeypatch.setattr("vgib.nn.paper_vgib.relax", lambda *_: keep)
    monkeypatch.setattr(torch.Tensor, "normal_", lambda self, **_: self.zero_())
    explainer = PosthocPaperVGIB(beta=0.3)
    explainer.module_ = explainer.build(case).train()
    next(iter(explainer.stages()))
    found = explainer.loss(case, 0)
    h, of = case.clean.states[-1], case.batch.graphs
    mean, std = graph_statistics(h, of, 1e-2)
    z = keep.unsqueeze(1) * h + (1 - keep.unsqueeze(1)) * of.spread(mean)
    output = case.frozen.run(case.batch, on_last=lambda _: z).output
    bound = compression(node_sums(h, keep, of), mean, std, 1e-2).mean()
    expected = case.frozen.losses(output, case.goal).mean() + 0.3 * bound
    assert found.item() == pytest.approx(expected.item(), rel=1e-4)


def test_the_papers_form_trains_the_gate_on_the_last_layer(marked: PackedGraphs) -> None:
    model = MarkedByLayer()
    explainer = PosthocPaperVGIB(steps=150, lr=2e-2, beta=0.1).fit(model, marked)
    scores = explainer.scores(model, marked.batch()).view(60, 6)
    assert marked.node_truth is not None
    truth = marked.node_truth.view(60, 6)
    assert scores[truth].mean() > scores[~truth].mean()


def test_a_higher_price_keeps_less(marked: PackedGraphs) -> None:
    model = MarkedByLayer()
    kept = [
        PosthocPaperVGIB(steps=60, lr=1e-2, beta=beta)
        .fit(model, marked)
        .scores(model, marked.batch())
        .mean()
        for beta in (0.01, 10.0)
    ]
    assert kept[1] < kept[0]


def test_the_critic_is_trained_within_and_the_gate_outside(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = PosthocGIB(inner_steps=3)
    explainer.module_ = explainer.build(case).train()
    ((steps, moving),) = list(explainer.stages())
    gib = explainer.fitted
    assert steps == explainer.steps
    assert {id(p) for p in moving} == {id(p) for p in gib.gate.parameters()}
    before = {name: value.clone() for name, value in gib.state_dict().items()}
    explainer.loss(case, 0).backward()
    for name, parameter in gib.named_parameters():
        if name.startswith("critic"):
            # The constant of the last layer cancels in the estimate.
            assert torch.equal(before[name], parameter) == (name == "critic.mlp.2.bias")
        else:
            assert torch.equal(before[name], parameter)
            assert parameter.grad is not None


def test_without_connectivity_and_information_only_the_prediction_counts(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    explainer = PosthocGIB(beta=0.0, connectivity=0.0, information=False, steps=80, lr=2e-2)
    explainer.fit(model_of("gcn"), graphs)
    assert explainer.losses_[-1] < explainer.losses_[0]


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_a_strong_prior_has_its_way(rate: float, model_of: ModelOf, graphs: PackedGraphs) -> None:
    model = model_of("gcn")
    explainer = PosthocGSAT(beta=100.0, rate=rate, on="nodes", steps=150, lr=3e-2)
    scores = explainer.fit(model, graphs).scores(model, graphs.batch())
    assert float(scores.mean()) == pytest.approx(rate, abs=0.15)


def test_a_schedule_in_epochs_runs_its_course(model_of: ModelOf, graphs: PackedGraphs) -> None:
    explainer = PosthocGSAT(steps=20, rate=0.5).fit(model_of("gcn"), graphs)
    assert explainer.fitted.rate == 0.5


def test_the_gate_pays_in_full_from_its_first_step(model_of: ModelOf, graphs: PackedGraphs) -> None:
    gate = PosthocVGIB(steps=1, beta=0.7).fit(model_of("gat"), graphs).fitted
    gate.start_epoch(0, EPOCHS)
    assert gate.price_now == 0.7


def test_options_are_the_bottlenecks_and_those_of_learning() -> None:
    explainer = PosthocPaperVGIB(beta=0.5, prior="population", steps=7, seed=3)
    assert (explainer.options["beta"], explainer.options["prior"]) == (0.5, "population")
    assert (explainer.steps, explainer.seed) == (7, 3)
    with pytest.raises(UnknownNameError, match="did you mean 'beta'"):
        PosthocPaperVGIB(betta=0.5)


class InTwoStages(Bottleneck):
    """A predictor of its own, then a gate against it."""

    stages = (
        Stage("predictor", ("encoder", "head", "bottleneck.own"), share=0.5),
        Stage("gate", ("bottleneck.gate",), share=1.0, weights={"agreement": 1.0}),
    )
    seen: ClassVar[list[tuple[str, bool]]] = []

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.own = nn.Linear(site.in_channels, site.outputs)
        self.gate = Gate(site.channels)

    @classmethod
    def at(cls, site: Site, **options: Any) -> Self:
        return cls(site, **options)

    def forward(self, encoded: Encoded) -> Perturbed:
        p = self.gate(encoded.h).sigmoid()
        if not self.training:
            return Perturbed(None, p)
        keep = p if self.stage.name == "gate" else torch.rand_like(p)
        output = self.own(encoded.graphs.sum(encoded.x, keep))
        self.seen.append((self.stage.name, self.own.weight.requires_grad))
        if self.stage.name == "predictor":
            return Perturbed(None, p, output=output)
        agreement = nn.functional.cross_entropy(output, encoded.output.argmax(1))
        return Perturbed(None, p, {"agreement": agreement})


def test_a_bottleneck_in_stages_with_a_predictor_of_its_own_explains_too(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bottlenecks._classes, "in-two-stages", InTwoStages)

    class Posthoc(Adapted):
        bottleneck = "in-two-stages"

    InTwoStages.seen.clear()
    explainer = Posthoc(steps=10).fit(model_of("gcn"), graphs)
    assert InTwoStages.seen == [("predictor", True)] * 5 + [("gate", False)] * 10
    assert len(explainer.losses_) == 15
    scores = explainer.scores(model_of("gcn"), graphs.batch())
    assert scores.shape == (graphs.num_nodes,) and ((scores >= 0) & (scores <= 1)).all()
