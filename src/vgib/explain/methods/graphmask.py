"""GraphMask: which messages of which layer can be replaced by a constant."""

from collections.abc import Iterator
from math import log
from typing import Any

import torch
from torch import Tensor, nn

from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Case, explainers
from vgib.explain.frozen import Removal
from vgib.explain.lift import to_nodes

STRETCH = (-0.2, 1.2)
"""The interval of the hard concrete distribution before it is clipped to [0, 1]."""
BETA = 1 / 3
"""Its temperature."""
OPEN = 2.0
"""Added to the gates' logits, so that training starts with all messages let through."""


class _LayerGate(nn.Module):
    """One layer's gate on messages, and the constant that replaces those it stops."""

    def __init__(self, channels: int, message: torch.Size) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(2 * channels, channels),
            nn.LayerNorm(channels),
            nn.ReLU(),
            nn.Linear(channels, 1),
        )
        self.baseline = nn.Parameter(torch.zeros(message))

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        """One logit for each edge, from what its two ends were before the layer."""
        logits: Tensor = self.mlp(torch.cat([h[edge_index[0]], h[edge_index[1]]], dim=1))
        return logits.squeeze(1) + OPEN


class _Gates(nn.Module):
    def __init__(self, gates: list[_LayerGate], start: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(gates)
        # Raised, not lowered, by the loss: its gradient is turned round.
        self.multiplier = nn.Parameter(torch.tensor(start))
        self.multiplier.register_hook(lambda grad: -grad)  # type: ignore[no-untyped-call]


@explainers.register("graphmask")
class GraphMask(Amortized):
    r"""Stops as many messages as it can while the prediction stays within an allowance.

    .. math:: \tilde m^l_{ij} = z^l_{ij} m^l_{ij} + (1 - z^l_{ij}) b^l, \quad
              \max_\lambda \min \; \sum_l \overline{P(z^l > 0)}
              + \lambda\, [\mathcal L(f(\tilde G), \hat y) - a]_+

    Schlichtkrull, De Cao, Titov, "Interpreting Graph Neural Networks for NLP With Differentiable
    Edge Masking", ICLR 2021, arXiv:2010.00577, amortized as they have it: the gates (hard concrete)
    see the states of both ends. Layers are trained one after the other, the last one first: a layer
    whose turn has not come lets everything through, one whose turn is over goes on learning.

    Note:
        PyG's class of that name trains on the graph that it explains, and passes messages through a
        layer norm and a ReLU that the model does not have. Here the messages are the model's own.

    Args:
        allowance: The loss a that is free.
        multiplier: :math:`\lambda` at the start.
        rest: See :class:`Amortized`; ``steps`` are those of each layer.
    """

    removal: Removal = "messages"

    def __init__(self, *, allowance: float = 0.03, multiplier: float = 5.0, **rest: Any) -> None:
        super().__init__(**rest)
        self.allowance, self.multiplier = allowance, multiplier
        self._first = 0  # the first layer that is gated, all later ones are too

    def stages(self) -> Iterator[tuple[int, list[nn.Parameter]]]:
        """The last layer alone, then one more each time, down to the first."""
        gates = self.fitted
        for self._first in reversed(range(len(gates.layers))):
            moved = [gates.multiplier, *gates.layers[self._first :].parameters()]
            yield self.steps, moved

    def build(self, case: Case) -> nn.Module:
        """One gate for each layer, as wide as what goes through it."""
        shapes: list[torch.Size] = []

        def look(_: int, messages: Tensor) -> Tensor:
            shapes.append(messages.shape[1:])
            return messages

        case.frozen.run(case.batch, on_message=look)
        ends = self._ends(case)
        gates = [_LayerGate(h.shape[1], s) for h, s in zip(ends, shapes, strict=True)]
        return _Gates(gates, self.multiplier)

    @staticmethod
    def _ends(case: Case) -> list[Tensor]:
        """What the nodes were before each layer."""
        return [h.flatten(1) for h in (case.clean.inputs, *case.clean.states[:-1])]

    def logits(self, case: Case) -> list[Tensor]:
        """The logits of each layer, one for each directed edge."""
        pairs = zip(self.fitted.layers, self._ends(case), strict=True)
        return [gate(h, case.edge_index) for gate, h in pairs]

    def loss(self, case: Case, step: int) -> Tensor:
        """The share of open gates, and the Lagrangian of the constraint."""
        low, high = STRETCH
        logits = self.logits(case)
        u = [torch.empty_like(x).uniform_(1e-6, 1 - 1e-6) for x in logits]
        samples = [((a.logit() + x) / BETA).sigmoid() for a, x in zip(u, logits, strict=True)]
        gates = [(low + (high - low) * s).clamp(0, 1) for s in samples]

        def stop(layer: int, messages: Tensor) -> Tensor:
            if layer < self._first:
                return messages
            loops = messages.shape[0] - gates[layer].shape[0]
            z = torch.cat([gates[layer], messages.new_ones(loops)])
            z = z.view(-1, *[1] * (messages.dim() - 1))
            baseline: Tensor = self.fitted.layers[layer].baseline
            return z * messages + (1 - z) * baseline

        output = case.frozen.run(case.batch, on_message=stop).output
        excess = (case.frozen.losses(output, case.goal).mean() - self.allowance).relu()
        gated = logits[self._first :]
        is_open = [(x - BETA * log(-low / high)).sigmoid() for x in gated if len(x)]
        price = torch.stack([x.mean() for x in is_open]).sum() if is_open else excess * 0
        # The multiplier is raised by its own gradient, which only the constraint feeds.
        weight: Tensor = nn.functional.softplus(self.fitted.multiplier)
        return price + weight * excess

    def explain(self, case: Case) -> Tensor:
        """How probable it is that an edge stays open, averaged over layers, lifted to nodes."""
        mask = torch.stack([x.sigmoid() for x in self.logits(case)]).mean(0)
        return to_nodes(mask, case.edge_index, case.batch.x.shape[0])
