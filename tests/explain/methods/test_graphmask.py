"""GraphMask: open gates change nothing, and the price closes them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.graphmask import GraphMask

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize("of", ["gcn", "gat", "sage", "gin"])
def test_wide_open_gates_leave_the_prediction_alone(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    explainer = GraphMask(allowance=0.0, multiplier=0.0)
    gates = explainer.module_ = explainer.build(case)
    assert len(gates.layers) == 2
    for gate in gates.layers:
        nn.init.constant_(gate.mlp[-1].bias, 100.0)
    loss = explainer.loss(case, 0)
    clean = case.frozen.losses(case.clean.output, case.goal).mean()
    softplus_of_0 = torch.log(torch.tensor(2.0))
    torch.testing.assert_close(loss, 2 + softplus_of_0 * clean, atol=1e-3, rtol=1e-3)


def test_layers_are_trained_one_after_the_other_the_last_one_first(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = GraphMask(steps=7, allowance=0.0)
    gates = explainer.module_ = explainer.build(case)
    first, last = gates.layers
    stages = explainer.stages()
    for gated in (1, 2):
        steps, moved = next(stages)
        assert steps == 7
        moves = [any(p is q for p in moved for q in gate.parameters()) for gate in (first, last)]
        assert moves == [gated == 2, True]
        gates.zero_grad()
        explainer.loss(case, 0).backward()
        grads = [gate.mlp[-1].bias.grad for gate in (first, last)]
        assert (grads[0] is not None and bool(grads[0].any())) == (gated == 2)
        assert grads[1] is not None and bool(grads[1].any())
    assert next(stages, None) is None


def test_the_multiplier_is_raised_while_the_constraint_is_broken(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = GraphMask(allowance=0.0)
    gates = explainer.module_ = explainer.build(case)
    explainer.loss(case, 0).backward()
    assert float(gates.multiplier.grad) < 0  # a step of descent raises it


def test_a_generous_allowance_closes_the_gates(model_of: ModelOf, graphs: PackedGraphs) -> None:
    model = model_of("gcn")
    closed, started = (
        GraphMask(steps=steps, lr=3e-2, allowance=100.0)
        .fit(model, graphs)
        .scores(model, graphs.batch())
        for steps in (80, 1)
    )
    edged = graphs.indptr.diff() > 0
    assert closed[edged].mean() < 0.3 < started[edged].mean()


@pytest.mark.parametrize("of", ["gcn", "gat", "sage", "gin"])
def test_each_channel_of_a_stopped_message_has_a_constant_of_its_own(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    shapes = []

    def look(_: int, messages: Tensor) -> Tensor:
        shapes.append(messages[0].shape)
        return messages

    case.frozen.run(case.batch, on_message=look)
    gates = GraphMask().build(case)
    assert [gate.baseline.shape for gate in gates.layers] == shapes
    assert all(shape.numel() > 1 for shape in shapes)
