"""The recommended objective, optimised anew for every graph."""

from typing import Any, Self

import torch
from torch import Tensor, nn

from vgib.explain.explainer import Case, Graphs, explainers
from vgib.explain.vgib import LEVELS, VGIB, centred, pulls, squashed


@explainers.register("vgib-each")
class SingleVGIB(VGIB):
    """The loss of :class:`VGIB`, without a gate that learns: one free logit for each node.

    It starts from the same :func:`vgib.explain.vgib.pulls`. What the amortised form can hope for, at the price of an optimisation for each explanation. The
    graphs of a batch share nothing, and Adam moves each logit by its own gradient alone.

    Args:
        steps: Steps of Adam for each batch of graphs.
        lr: Its rate; it falls to 0 along a cosine.
        rest: See :class:`VGIB`; what concerns its gate is not used.
    """

    needs_fit = False

    def __init__(self, *, steps: int = 60, lr: float = 0.05, **rest: Any) -> None:
        super().__init__(steps=steps, lr=lr, **rest)

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns nothing."""
        return self

    def explain(self, case: Case) -> Tensor:
        """The logits that were found, squashed."""
        self.look_at(case)
        start = pulls(case, self.readout_, self.noise_[0])[:, -len(LEVELS) :].mean(1)
        free = start.detach().requires_grad_()
        adam = torch.optim.Adam([free], lr=self.lr)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, self.steps)
        for step in range(self.steps):
            adam.zero_grad()
            # The loss is a mean over graphs; their sum leaves each graph its own gradient.
            loss = self.loss_of(case, centred(free, case.batch.graphs), step) * case.batch.num_graphs
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            falling.step()
        return squashed(centred(free.detach(), case.batch.graphs))
