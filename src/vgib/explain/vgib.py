"""The variational graph information bottleneck on a frozen model: as published, and as advised."""

from typing import Any

import torch
from torch import Tensor, nn

from vgib.explain.amortized import Amortized, Readout, exact_readout, keep_nodes
from vgib.explain.explainer import Case, explainers
from vgib.explain.frozen import Removal
from vgib.explain.lift import ranks
from vgib.nn.bottleneck import Gate
from vgib.nn.gsat import bernoulli_kl
from vgib.nn.sparse import Segments
from vgib.nn.vgib import compression, graph_statistics, inject_noise, relax


@explainers.register("vgib-paper")
class PublishedVGIB(Amortized):
    r"""Noise in the last layer, and a price for what gets through (Sec. 4, on a frozen model).

    .. math:: \min \; \mathcal L(f(G_N), \hat y) + \beta\, \mathcal L_{MI}(z_N, G), \quad
              z_j = \lambda_j h_j + (1 - \lambda_j) \epsilon_j

    The gate sees the last layer's states; the noise has the moments of each graph's own nodes. What
    follows the last layer (activation, readout, head) is the model's own.

    Note:
        ``h`` is what the last message-passing layer gives. An activation that is no part of the
        layer comes after the noise, where training from scratch has it before.

    Args:
        beta: Weight of the compression bound.
        temperature: Of the relaxation.
        pole_floor: See :func:`vgib.nn.vgib.compression`.
        std_floor: Least spread of the noise.
        rest: See :class:`Amortized`.
    """

    removal: Removal = "representation"

    def __init__(
        self,
        *,
        beta: float = 0.1,
        temperature: float = 1.0,
        pole_floor: float = 1e-2,
        std_floor: float = 1e-2,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.beta, self.temperature = beta, temperature
        self.pole_floor, self.std_floor = pole_floor, std_floor

    def build(self, case: Case) -> nn.Module:
        """The gate."""
        return Gate(case.clean.states[-1].flatten(1).shape[1])

    def loss(self, case: Case, step: int) -> Tensor:
        """Prediction and compression."""
        state, graphs = case.clean.states[-1], case.batch.graphs
        h = state.flatten(1)
        keep = relax(self.fitted(h), self.temperature)
        mean, std = graph_statistics(h, graphs, self.std_floor)
        z = inject_noise(h, keep, graphs.spread(mean), graphs.spread(std))
        run = case.frozen.run(case.batch, on_last=lambda _: z.view_as(state))
        bound = compression(h, keep, mean, std, graphs, pole_floor=self.pole_floor)
        return case.frozen.losses(run.output, case.goal).mean() + self.beta * bound.mean()

    def explain(self, case: Case) -> Tensor:
        """The keep-probabilities."""
        scores: Tensor = self.fitted(case.clean.states[-1].flatten(1)).sigmoid()
        return scores


class AwareGate(nn.Module):
    r"""A gate that sees every layer and what is to be explained.

    .. math:: s_j = \mathrm{MLP}([x_j, h^1_j, \dots, h^L_j, \bar h, \mathrm{onehot}(\hat y), f(G)])

    Args:
        sample: Inputs of this form, whose moments bring all others to one scale.
        hidden: Width of the MLP.
    """

    def __init__(self, sample: Tensor, hidden: int) -> None:
        super().__init__()
        std, mean = torch.std_mean(sample, dim=0, correction=0)
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", mean)
        self.register_buffer("scale", torch.where(std > 1e-6, 1 / std.clamp(min=1e-6), 0.0))
        self.mlp = nn.Sequential(
            nn.Linear(sample.shape[1], hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        """``[num_nodes, channels] -> [num_nodes]``."""
        logits: Tensor = self.mlp((features - self.mean) * self.scale)
        return logits.squeeze(1)


def gate_features(case: Case) -> Tensor:
    """All that :class:`AwareGate` looks at, ``[num_nodes, channels]``."""
    graphs, clean = case.batch.graphs, case.clean
    states = [state.flatten(1) for state in clean.states]
    whole = [graphs.mean(states[-1])]
    if case.frozen.is_classifier:
        logs = case.frozen.log_probabilities(clean.output)
        whole.append(nn.functional.one_hot(case.goal, logs.shape[1]).to(logs))
        whole.append(case.frozen.evidence(clean.output, case.goal).unsqueeze(1))
    else:
        whole.append(clean.output)
    return torch.cat([clean.inputs, *states, graphs.spread(torch.cat(whole, dim=1))], dim=1)


@explainers.register("vgib")
class VGIB(Amortized):
    r"""The recommended form: whole nodes are taken out of the graph, and the rest must deny it.

    .. math:: \min \; \mathcal L(f(G_\lambda), \hat y) + c\, \mathcal L(f(G_{1 - \lambda}),
              \text{not } \hat y) + \beta \operatorname{mean}_j \mathrm{KL}(p_j \| r)

    :math:`\lambda` keeps the k best-scored nodes of each graph, k drawn anew as a share of it
    (straight through: the choice forward, the probability's gradient backward). A node that is not
    kept sends no message, counts in no degree and no readout, and has noise of the population in
    the place of its features: at 0 and 1 the prediction of the induced subgraph, where the model
    allows it (``removal == "exact"``, tried out in ``fit``). Elsewhere messages are weighted and
    features replaced (``"messages"``).

    Note:
        Trained on the quantity by which explanations are judged here, which the baselines are not;
        and with hard gates noise and KL hardly matter. ``docs/explanation.md`` says what each part
        brings.

    Args:
        beta: Weight of the KL.
        rate: The prior keep-rate r.
        complement: Weight c of the term on what is left over.
        shares: Smallest and largest share of nodes that is kept in training.
        hidden: Width of the gate.
        std_floor: Least spread of the noise.
        rest: See :class:`Amortized`.
    """

    def __init__(
        self,
        *,
        beta: float = 0.1,
        rate: float = 0.5,
        complement: float = 1.0,
        shares: tuple[float, float] = (0.25, 0.65),
        hidden: int = 64,
        std_floor: float = 1e-2,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.beta, self.rate, self.complement = beta, rate, complement
        self.shares, self.hidden, self.std_floor = shares, hidden, std_floor
        self.readout_: Readout | None = None

    def build(self, case: Case) -> nn.Module:
        """The gate; and finds out how exactly nodes can be removed."""
        self.readout_ = exact_readout(case)
        self.removal = "messages" if self.readout_ is None else "exact"
        std, mean = torch.std_mean(case.clean.inputs, dim=0, correction=0)
        self.noise_ = mean, std.clamp(min=self.std_floor)
        return AwareGate(gate_features(case), self.hidden)

    def loss(self, case: Case, step: int) -> Tensor:
        """Prediction from the kept, denial from the rest, and the price of the gates."""
        frozen, logits = case.frozen, self.fitted(gate_features(case))
        p = logits.sigmoid()
        low, high = self.shares
        share = torch.empty(case.batch.num_graphs).uniform_(low, high)
        hard = top_share(logits.detach(), case.batch.graphs, share).to(p)
        keep = hard + p - p.detach()
        loss = frozen.losses(self._output(case, keep), case.goal).mean()
        if self.complement:
            rest = frozen.opposition(self._output(case, 1 - keep), case.goal)
            loss = loss + self.complement * rest.mean()
        return loss + self.beta * bernoulli_kl(p, self.rate).mean()

    def _output(self, case: Case, keep: Tensor) -> Tensor:
        inputs = inject_noise(case.clean.inputs, keep, *self.noise_)
        return keep_nodes(case, keep, readout=self.readout_, inputs=inputs)

    def explain(self, case: Case) -> Tensor:
        """The keep-probabilities."""
        scores: Tensor = self.fitted(gate_features(case)).sigmoid()
        return scores


def top_share(scores: Tensor, graphs: Segments, share: Tensor) -> Tensor:
    """The best-scored share of each graph's nodes, one at least, ``bool [num_nodes]``."""
    wanted = (share * graphs.sizes.squeeze(1) + 0.5).floor().clamp(min=1)
    return ranks(scores, graphs) < wanted[graphs.batch]
