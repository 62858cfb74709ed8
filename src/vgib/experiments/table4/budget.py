"""The paper's bottleneck with a budget of nodes, for the row ``vgib-paper-budget`` alone."""

from typing import Any

from torch import Tensor

from vgib.errors import InputError
from vgib.nn.bottleneck import Encoded, Perturbed, straight_through
from vgib.nn.paper_vgib import PaperVGIB


def over_budget(p: Tensor, budget: float) -> Tensor:
    r"""The squared distance of the kept share of all nodes from the wanted one.

    .. math:: \bigl(\operatorname{mean}_j [p_j \ge \tfrac12] - b\bigr)^2
    """
    return (straight_through(p >= 0.5, p).mean() - budget).square()


class BudgetVGIB(PaperVGIB):
    """Pays for every share of kept nodes but one; the bound alone keeps everything or nothing."""

    def __init__(self, channels: int, *, budget: float, **options: Any) -> None:
        super().__init__(channels, **options)
        if not 0 < budget < 1:
            raise InputError(f"budget must be a share between 0 and 1; got {budget}")
        self.budget = budget
        self.weights["budget"] = 1.0

    def forward(self, encoded: Encoded) -> Perturbed:
        """What the paper's lets through, with one more term in training."""
        perturbed = super().forward(encoded)
        if self.training:
            perturbed.terms["budget"] = over_budget(perturbed.scores, self.budget)
        return perturbed
