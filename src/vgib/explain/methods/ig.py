"""Integrated gradients of the class margin on the float node features."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.lift import scaled


@explainers.register("ig")
class IntegratedGradients(Explainer):
    r"""What each node's features add to the class margin, on the straight way from zero.

    .. math:: a_j = \sum_c x_{jc} \int_0^1 \frac{\partial f(\alpha x)}{\partial x_{jc}} d\alpha

    Sundararajan, Taly, Yan, "Axiomatic Attribution for Deep Networks", ICML 2017. Integer features
    are attributed at what they are turned into before the first layer. The integral is a
    Gauss-Legendre sum, captum's default.
    """

    def __init__(self, *, steps: int = 32, **rest: Any) -> None:
        super().__init__(**rest)
        self.steps = steps

    def explain(self, case: Case) -> Tensor:
        return scaled(case.frozen.importance(self.attributions(case)), case.batch.graphs)

    def attributions(self, case: Case) -> Tensor:
        """Signed, in units of the margin: they add up to its change from the zero input."""
        x = case.clean.inputs.detach()
        points, weights = np.polynomial.legendre.leggauss(self.steps)
        total = torch.zeros_like(x)
        for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
            inputs = (float(point) * x).requires_grad_()
            output = case.frozen.run(case.batch, inputs=inputs).output
            evidence = case.frozen.evidence(output, case.goal).sum()
            (grad,) = torch.autograd.grad(evidence, inputs)
            total += float(weight) * grad
        return (x * total).sum(1)
