"""The loss of the fidelity gate, graph by graph."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods import fidelity_gate
from vgib.explain.methods.fidelity_each import FidelityEach
from vgib.explain.methods.fidelity_gate import LEVELS, pulls, squashed

ModelOf = Callable[[str], nn.Module]


def test_without_a_step_it_says_what_the_model_says_of_its_nodes(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, batch = model_of("ours-gcn"), graphs.batch()
    explainer = FidelityEach(refine=0)
    scores = explainer.scores(model, batch)
    case = Case.of(Frozen(model), batch)
    g = pulls(case, explainer.readout_, explainer.noise_[0])[:, -len(LEVELS) :].mean(
        1, keepdim=True
    )
    centered = (g - batch.graphs.spread(batch.graphs.mean(g))).squeeze(1)
    torch.testing.assert_close(scores, squashed(centered))


def test_steps_lower_the_loss_of_the_graphs_at_hand(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.of(Frozen(model_of("ours-gcn")), graphs.batch())
    monkeypatch.setattr(fidelity_gate, "JITTER", 0.0)
    explainer = FidelityEach(refine=40, shares=(0.5, 0.5))
    explainer.look_at(case)
    mean, std = explainer.noise_
    explainer.noise_ = mean, torch.zeros_like(std)  # what hides a node is the same each time
    start = torch.zeros(graphs.num_nodes)
    found = explainer.refined(case, start)
    before, after = (float(explainer.loss_of(case, logits, 1.0)) for logits in (start, found))
    assert after < before
