"""The recommended objective, optimized anew for every graph."""

from typing import Any, Self

from torch import Tensor, nn

from vgib.explain.explainer import Case, Graphs, explainers
from vgib.explain.vgib import LEVELS, VGIB, pulls, squashed


@explainers.register("vgib-each")
class SingleVGIB(VGIB):
    """The loss of :class:`VGIB`, without a gate that learns: one free logit for each node.

    It starts from the same :func:`vgib.explain.vgib.pulls`. What the amortised form can hope for,
    at the price of an optimization for each explanation.

    Args:
        refine: Steps of Adam for each batch of graphs.
        rest: See :class:`VGIB`; what concerns its gate is not used.
    """

    needs_fit = False

    def __init__(self, *, refine: int = 60, **rest: Any) -> None:
        super().__init__(refine=refine, **rest)

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns nothing."""
        return self

    def explain(self, case: Case) -> Tensor:
        """The logits that were found, squashed."""
        self.look_at(case)
        start = pulls(case, self.readout_, self.noise_[0])[:, -len(LEVELS) :].mean(1)
        return squashed(self.refined(case, start))
