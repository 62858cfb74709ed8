"""The graph information bottleneck on a frozen model."""

from typing import Any

import torch
from torch import Tensor, nn

from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Case, explainers
from vgib.explain.frozen import Removal
from vgib.nn.bottleneck import Gate, connectivity
from vgib.nn.gib import Critic, donsker_varadhan


class _Parts(nn.Module):
    """The gate, which is trained outside, and the critic, which is trained within."""

    def __init__(self, channels: int, critic_hidden: int) -> None:
        super().__init__()
        self.gate = Gate(channels)
        self.critic = Critic(channels, critic_hidden).requires_grad_(False)


@explainers.register("gib")
class GIB(Amortized):
    r"""Fades nodes out after the last layer, and pays the estimated information that is left.

    .. math:: \min_\theta \; \mathcal L(f(G_{sub}), \hat y) + \beta\, \hat I_{\phi^*}(G_{sub}; G)
              + \alpha\, \mathcal L_{con}, \quad z_j = p_j h_j

    Yu et al., "Graph Information Bottleneck for Subgraph Recognition", ICLR 2021. Before each step
    the critic :math:`\phi` takes ``inner_steps`` steps on the same batch.

    Args:
        beta: Weight of the estimated information.
        connectivity: Weight of the connectivity term.
        inner_steps: Steps of the critic before each step of the gate.
        inner_lr: Their learning rate.
        critic_hidden: Width of the critic.
        rest: See :class:`Amortized`.
    """

    removal: Removal = "representation"

    def __init__(
        self,
        *,
        beta: float = 0.1,
        connectivity: float = 1.0,
        inner_steps: int = 20,
        inner_lr: float = 1e-2,
        critic_hidden: int = 16,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.beta, self.connectivity = beta, connectivity
        self.inner_steps, self.inner_lr, self.critic_hidden = inner_steps, inner_lr, critic_hidden

    def build(self, case: Case) -> nn.Module:
        """Gate and critic."""
        parts = _Parts(case.clean.states[-1].flatten(1).shape[1], self.critic_hidden)
        self._inner = torch.optim.Adam(parts.critic.parameters(), lr=self.inner_lr, fused=True)
        return parts

    def loss(self, case: Case, step: int) -> Tensor:
        """Prediction, information and connectivity."""
        parts, state, graphs = self.fitted, case.clean.states[-1], case.batch.graphs
        h = state.flatten(1)
        p = parts.gate(h).sigmoid()
        z = p.unsqueeze(1) * h
        whole, part = graphs.mean(h), graphs.mean(z)
        for _ in parts.critic.gradients(whole, part.detach(), self.inner_steps):
            self._inner.step()
        run = case.frozen.run(case.batch, on_last=lambda _: z.view_as(state))
        loss = case.frozen.losses(run.output, case.goal).mean()
        loss = loss + self.beta * donsker_varadhan(parts.critic, whole, part)
        return loss + self.connectivity * connectivity(p, case.batch.adj, graphs).mean()

    def explain(self, case: Case) -> Tensor:
        """The keep-probabilities."""
        scores: Tensor = self.fitted.gate(case.clean.states[-1].flatten(1)).sigmoid()
        return scores
