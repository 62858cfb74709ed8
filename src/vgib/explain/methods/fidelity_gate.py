"""A gate that is trained on the fidelity by which explanations are judged here."""

from typing import Any

import torch
from torch import Tensor, nn

from vgib.explain.amortized import Amortized, Readout, exact_readout, keep_nodes
from vgib.explain.explainer import Case, check_positive, explainers
from vgib.explain.lift import ranks
from vgib.nn.gsat import bernoulli_kl
from vgib.nn.paper_vgib import UNIFORM_FLOOR, inject_noise
from vgib.nn.sparse import Segments


class AwareGate(nn.Module):
    r"""A gate that sees every layer and what is to be explained.

    .. math:: s_j = \mathrm{MLP}([x_j, h^1_j, \dots, h^L_j, \bar h, \mathrm{onehot}(\hat y), f(G),
              g_j]) + w^\top g_j

    It starts from the :func:`pulls` :math:`g_j`, what the model itself says of its nodes to first
    order, and learns what that misses.

    Args:
        sample: Inputs of this form, whose moments bring all others to one scale.
        start: How many of the last columns the logit starts from, at their mean.
    """

    def __init__(self, sample: Tensor, hidden: int, start: int = 0) -> None:
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
        self.start = nn.Parameter(torch.full((start,), 1 / max(start, 1)))
        if start:
            for parameter in self.mlp[-1].parameters():
                nn.init.zeros_(parameter)

    def forward(self, features: Tensor) -> Tensor:
        """``[num_nodes, channels] -> [num_nodes]``."""
        logits: Tensor = self.mlp((features - self.mean) * self.scale)
        return logits.squeeze(1) + features[:, features.shape[1] - len(self.start) :] @ self.start


def gate_features(case: Case) -> Tensor:
    """What :class:`AwareGate` looks at besides the pulls, ``[num_nodes, channels]``."""
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


LEVELS = (1.0, 0.5)
"""How open all gates are where their pull is taken: the whole graph, and half of it."""


def pulls(case: Case, readout: Readout | None, mean: Tensor) -> Tensor:
    r"""How much the prediction hangs on each gate, ``[num_nodes, 2 * levels]``.

    .. math:: g_j^\ell = \frac{\partial f(G_\lambda)}{\partial \lambda_j}\Big|_{\lambda = \ell}

    of the class margin f, for every level of :data:`LEVELS`; first as they are, then in units of
    their root mean square over the graph. At 1 it is occlusion to first order.

    Args:
        mean: What a node's features fade to where it cannot be removed.
    """
    graphs, x = case.batch.graphs, case.clean.inputs
    found = []
    for level in LEVELS:
        with torch.enable_grad():
            gate = torch.full((x.shape[0],), level, requires_grad=True)
            faded = mean + gate.unsqueeze(1) * (x - mean) if readout is None else None
            output = keep_nodes(case, gate, readout=readout, inputs=faded)
            evidence = case.frozen.evidence(output, case.goal).sum()
            (slope,) = torch.autograd.grad(evidence, gate)
        found.append(case.frozen.importance(slope))
    raw = torch.stack(found, dim=1)
    size = graphs.mean(raw.square()).sqrt().clamp(min=PULL_FLOOR)
    return torch.cat([raw, raw / graphs.spread(size)], dim=1)


PULL_FLOOR = 1e-6
"""Keeps the unit of pulls from vanishing where the prediction hangs on no node."""


TEMPERATURES = 0.3, 0.1
"""Of the gates, at the start and at the end of training."""

JITTER = 0.3
"""Randomness of the gates."""

KEEP_RATE = 0.5
"""How probably a gate is open before anything is learned."""


@explainers.register("fidelity-gate")
class FidelityGate(Amortized):
    r"""Whole nodes are taken out of the graph: what is left must say the same, the rest deny it.

    .. math:: \min \; \mathcal L(f(G_\lambda), \hat y) + \mathcal L(f(G_{1 - \lambda}),
              \text{not } \hat y) + \beta \operatorname{mean}_j \mathrm{KL}(p_j \| \tfrac12)

    :math:`\lambda` keeps the k best-scored nodes of each graph, k drawn anew as a share of it,
    softly at first and ever harder (:func:`soft_top_share`). A node that is not
    kept sends no message, counts in no degree and no readout, and has noise of the population in
    the place of its features: at 0 and 1 the prediction of the induced subgraph, where the model
    allows it (``removal == "exact"``, tried out in ``fit``). Elsewhere messages are weighted and
    features replaced (``"messages"``).

    Note:
        Trained on the quantity by which explanations are judged here, which the baselines are not.
        Half-open gates let the noise into the forward pass; with hard ones (straight through) the
        result was a little worse on one seed, which settles nothing.

    Args:
        shares: Smallest and largest share of nodes that is kept in training.
        std_floor: Least spread of the noise.
    """

    def __init__(
        self,
        *,
        beta: float = 0.1,
        shares: tuple[float, float] = (0.25, 0.65),
        hidden: int = 64,
        std_floor: float = 1e-2,
        batch_size: int = 128,
        lr: float = 1e-3,
        **rest: Any,
    ) -> None:
        super().__init__(batch_size=batch_size, lr=lr, **rest)
        self.beta, self.shares = beta, shares
        self.hidden, self.std_floor = hidden, std_floor
        check_positive("beta", beta, or_zero=True)
        check_positive("hidden", hidden)
        self.readout_: Readout | None = None

    def build(self, case: Case) -> nn.Module:
        self.look_at(case)
        return AwareGate(self.features(case), self.hidden, len(LEVELS))

    def features(self, case: Case) -> Tensor:
        return torch.cat([gate_features(case), pulls(case, self.readout_, self.noise_[0])], dim=1)

    def look_at(self, case: Case) -> None:
        """Finds out how exactly nodes can be removed, and what noise looks like a node."""
        self.readout_ = exact_readout(case)
        self.removal = "messages" if self.readout_ is None else "exact"
        std, mean = torch.std_mean(case.clean.inputs, dim=0, correction=0)
        self.noise_ = mean, std.clamp(min=self.std_floor)

    def logits(self, case: Case) -> Tensor:
        """The logit of each node less the mean of its graph: only the order within it counts."""
        return centered(self.fitted(self.features(case)), case.batch.graphs)

    def loss(self, case: Case, step: int) -> Tensor:
        """Prediction from the kept, denial from the rest, and the price of the gates."""
        return self.loss_of(case, self.logits(case), step / self.steps)

    def loss_of(self, case: Case, logits: Tensor, progress: float) -> Tensor:
        """The loss of logits wherever they come from; ``progress`` in [0, 1] hardens the gates."""
        frozen = case.frozen
        low, high = self.shares
        share = torch.empty(case.batch.num_graphs).uniform_(low, high)
        start, end = TEMPERATURES
        temperature = start * (end / start) ** progress
        keep = soft_top_share(
            logits, case.batch.graphs, share, temperature=temperature, jitter=JITTER
        )
        said = frozen.losses(self._output(case, keep), case.goal).mean()
        denied = frozen.opposition(self._output(case, 1 - keep), case.goal).mean()
        return said + denied + self.beta * bernoulli_kl(logits.sigmoid(), KEEP_RATE).mean()

    def _output(self, case: Case, keep: Tensor) -> Tensor:
        inputs = inject_noise(case.clean.inputs, keep, *self.noise_)
        return keep_nodes(case, keep, readout=self.readout_, inputs=inputs)

    def explain(self, case: Case) -> Tensor:
        return squashed(self.logits(case))


def centered(logits: Tensor, graphs: Segments) -> Tensor:
    """Logits less the mean of their graph."""
    raw = logits.unsqueeze(1)
    return (raw - graphs.spread(graphs.mean(raw))).squeeze(1)


def squashed(logits: Tensor) -> Tensor:
    """Logits as scores between 0 and 1, so slowly that no two of them become equal."""
    return (1 + logits / (1 + logits.abs())) / 2


def soft_top_share(
    logits: Tensor, graphs: Segments, share: Tensor, *, temperature: float, jitter: float
) -> Tensor:
    r"""Gates that let a share of each graph through, and the rest to a degree.

    .. math:: \lambda_j = \sigma\Bigl(\frac{s_j - t}{\tau} + c \log\frac{u}{1 - u}\Bigr), \quad
              u \sim \mathrm{Uniform}(0, 1)

    The bar t lies half way between the last node that is kept and the first that is not; at a
    ``temperature`` :math:`\tau` of 0 these are the gates of :func:`top_share`. ``jitter`` is c.
    """
    values = logits.detach()
    kept = top_share(values, graphs, share)
    lowest = -graphs.max(torch.where(kept, -values, -torch.inf))
    highest = graphs.max(torch.where(kept, -torch.inf, values))
    # Where all nodes are kept, the bar lies below them.
    bar = torch.where(highest.isinf(), lowest - 1, (lowest + highest) / 2)
    drawn = torch.empty_like(values).uniform_(UNIFORM_FLOOR, 1 - UNIFORM_FLOOR).logit()
    return ((logits - bar[graphs.batch]) / temperature + jitter * drawn).sigmoid()


def top_share(scores: Tensor, graphs: Segments, share: Tensor) -> Tensor:
    """The best-scored share of each graph's nodes, one at least, ``bool [num_nodes]``."""
    wanted = (share * graphs.sizes.squeeze(1) + 0.5).floor().clamp(min=1)
    return ranks(scores, graphs) < wanted[graphs.batch]
