"""The loss of the fidelity gate, optimized anew for every graph."""

from math import cos, pi
from typing import Any, Self

import torch
from torch import Tensor, nn

from vgib.explain.explainer import Case, Graphs, explainers
from vgib.explain.methods.fidelity_gate import LEVELS, FidelityGate, centered, pulls, squashed


@explainers.register("fidelity-each")
class FidelityEach(FidelityGate):
    """The loss of :class:`FidelityGate`, without a gate that learns: one free logit for each node.

    It starts from the same :func:`~vgib.explain.methods.fidelity_gate.pulls`. This is what a gate
    can hope for, at the price of an optimization for each explanation.

    Args:
        refine: Steps of Adam for each batch of graphs.
        refine_lr: The rate of these steps; it falls to 0 along a cosine.
    """

    needs_fit = False

    def __init__(self, *, refine: int = 60, refine_lr: float = 0.05, **rest: Any) -> None:
        super().__init__(**rest)
        self.refine, self.refine_lr = refine, refine_lr

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Returns itself: there is nothing to learn before graphs are explained."""
        return self

    def explain(self, case: Case) -> Tensor:
        self.look_at(case)
        start = pulls(case, self.readout_, self.noise_[0])[:, -len(LEVELS) :].mean(1)
        return squashed(self.refined(case, start))

    def refined(self, case: Case, logits: Tensor) -> Tensor:
        """Logits after ``refine`` steps of Adam on the loss of their own graphs.

        The graphs of a batch share nothing, and Adam moves each logit by its own gradient alone.
        """
        free = logits.detach().clone().requires_grad_()
        adam = torch.optim.Adam([free], lr=self.refine_lr)
        for step in range(self.refine):
            for group in adam.param_groups:
                group["lr"] = self.refine_lr * (1 + cos(pi * step / self.refine)) / 2
            adam.zero_grad()
            own = centered(free, case.batch.graphs)
            # The loss is a mean over graphs; their sum leaves each graph its own gradient.
            loss = self.loss_of(case, own, step / self.refine) * case.batch.num_graphs
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        return centered(free.detach(), case.batch.graphs)
