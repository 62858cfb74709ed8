"""GIB on a frozen model: two levels, one gate."""

from collections.abc import Callable

import torch
from torch import nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.gib import GIB

ModelOf = Callable[[str], nn.Module]


def test_the_critic_is_trained_within_and_the_gate_outside(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of("gcn")), graphs.batch())
    explainer = GIB(inner_steps=3)
    parts = explainer.module_ = explainer.build(case)
    before = {name: value.clone() for name, value in parts.state_dict().items()}
    explainer.loss(case, 0).backward()
    for name, parameter in parts.named_parameters():
        if name.startswith("critic"):
            # The constant of the last layer cancels in the estimate.
            assert torch.equal(before[name], parameter) == (name == "critic.mlp.2.bias")
            assert not parameter.requires_grad
        else:
            assert torch.equal(before[name], parameter)
            assert parameter.grad is not None


def test_without_connectivity_and_information_only_the_prediction_counts(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of("gcn")
    explainer = GIB(beta=0.0, connectivity=0.0, inner_steps=0, steps=80, lr=2e-2)
    explainer.fit(model, graphs)
    assert explainer.losses_[-1] < explainer.losses_[0]
