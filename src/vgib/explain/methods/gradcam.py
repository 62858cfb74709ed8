"""Grad-CAM on the last message-passing layer."""

from typing import Any

import torch
from torch import Tensor

from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.lift import scaled


@explainers.register("gradcam")
class GradCAM(Explainer):
    r"""The last layer's channels, weighted by what the class margin makes of them.

    .. math:: a_j = \sum_c \alpha_c h_{jc}, \quad
              \alpha_c = \frac1m \sum_k \frac{\partial f}{\partial h_{kc}}

    Pope et al., "Explainability Methods for Graph Convolutional Neural Networks", CVPR 2019.

    Args:
        relu: Whether what speaks against the class counts as 0, as Pope et al. have it. It then
            ties with what says nothing, which a ranking by share cannot use: off by default.
    """

    def __init__(self, *, relu: bool = False, **rest: Any) -> None:
        super().__init__(**rest)
        self.relu = relu

    def explain(self, case: Case) -> Tensor:
        attributions = case.frozen.importance(self.attributions(case))
        if self.relu:
            attributions = attributions.relu()
        return scaled(attributions, case.batch.graphs)

    def attributions(self, case: Case) -> Tensor:
        """The gradient of the evidence times the states, summed over channels; its sign is kept."""
        h = case.clean.states[-1].detach().requires_grad_()
        output = case.frozen.run(case.batch, on_last=lambda _: h).output
        (grad,) = torch.autograd.grad(case.frozen.evidence(output, case.goal).sum(), h)
        graphs = case.batch.graphs
        # h may have more than two dimensions: several heads, not joined.
        flat, grad = h.detach().flatten(1), grad.flatten(1)
        return (graphs.spread(graphs.mean(grad)) * flat).sum(1)
