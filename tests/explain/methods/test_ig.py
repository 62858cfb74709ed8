"""Integrated gradients: complete, and the same as captum's."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.ig import IntegratedGradients

ModelOf = Callable[[str], nn.Module]


def test_attributions_add_up_to_the_change_of_the_margin(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    found = IntegratedGradients(steps=64).attributions(case)
    sums = case.batch.graphs.sum(found.unsqueeze(1)).squeeze(1)
    empty = case.frozen.run(case.batch, inputs=torch.zeros_like(case.batch.x)).output
    change = case.frozen.evidence(case.clean.output, case.goal) - case.frozen.evidence(
        empty, case.goal
    )
    torch.testing.assert_close(sums, change, atol=2e-2, rtol=1e-2)


def test_attributions_agree_with_captum(model_of: ModelOf, graphs: PackedGraphs) -> None:
    captum = pytest.importorskip("captum.attr", reason="captum is not installed")
    case = Case.of(Frozen(model_of("gin")), graphs.batch(torch.tensor([3])))

    def margin(x: Tensor) -> Tensor:
        outputs = [case.frozen.run(case.batch, inputs=one).output for one in x]
        return torch.cat([case.frozen.evidence(output, case.goal) for output in outputs])

    theirs = captum.IntegratedGradients(margin).attribute(
        case.batch.x.unsqueeze(0), n_steps=16, method="gausslegendre"
    )
    ours = IntegratedGradients(steps=16).attributions(case)
    torch.testing.assert_close(ours, theirs[0].sum(1).float(), atol=1e-4, rtol=1e-3)


def test_a_value_is_explained_by_what_moves_it_either_way(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("value")), graphs.batch(torch.tensor([3])))
    explainer = IntegratedGradients(steps=8)
    scores, signed = explainer.explain(case), explainer.attributions(case)
    assert scores.argmax() == signed.abs().argmax()
