"""Whether what an explainer has learned is worth its fitting: its parts against occlusion's."""

import logging
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case, Explainer
from vgib.explain.frozen import predictions
from vgib.explain.lift import scaled
from vgib.explain.methods.occlusion import single_drops
from vgib.select.masks import keep_ratio

log = logging.getLogger(__name__)

SHARES = (0.1, 0.2, 0.3, 0.5)
"""Shares of the nodes that are kept as the explanation."""

MOST_NODES = 4096
"""Nodes of all graphs that are looked at: occlusion asks the model once for each of them."""

MARGIN = 0.1
"""By how much a method may fall behind without a word.

Occlusion finds what makes up for a class that stands for the absence of something, which a method
that looks for one small part does not look for; methods that fail fall behind by far more.
"""


@dataclass(frozen=True)
class AgainstOcclusion:
    """How well the model's answer follows from the best-scored nodes alone.

    Attributes:
        own: Of the explainer: for classes the mean probability of what is explained, for values
            the share of the spread that is not lost; averaged over shares of the nodes.
        occlusion: The same of occlusion.
        graphs: How many graphs were looked at.
    """

    own: float
    occlusion: float
    graphs: int

    @property
    def is_behind(self) -> bool:
        """Whether occlusion, which learns nothing, does clearly better."""
        return self.own < self.occlusion - MARGIN


def judged(explainer: Explainer, model: nn.Module, graphs: PackedGraphs) -> AgainstOcclusion:
    """Compares on the first graphs that have a node, on exactly induced subgraphs."""
    count = int((graphs.node_ptr[1:] <= MOST_NODES).sum())
    index = (graphs.sizes[: max(count, 1)] > 0).nonzero().flatten()
    some = graphs[index]
    frozen = explainer.freeze(model)
    case = Case.of(frozen, some.batch())
    drops = scaled(frozen.importance(single_drops(case)), case.batch.graphs)
    own = explainer.scores(model, case.batch)
    return AgainstOcclusion(
        _sufficiency(case, some, own), _sufficiency(case, some, drops), len(some)
    )


@torch.no_grad()
def _sufficiency(case: Case, graphs: PackedGraphs, scores: Tensor) -> float:
    found = []
    for share in SHARES:
        part = graphs.induced(keep_ratio(scores.cpu(), graphs.node_ptr, share))
        losses = case.frozen.losses(predictions(case.frozen, part), case.goal)
        found.append((-losses).exp().mean())
    return float(torch.stack(found).mean())


def say_how_good(explainer: Explainer, model: nn.Module, graphs: PackedGraphs) -> None:
    """Warns when what was learned explains the graphs it was learned from no better."""
    result = judged(explainer, model, graphs)
    if result.is_behind:
        log.warning(
            "%s explains the %d graphs that it was fitted on no better than occlusion does: their "
            "best nodes alone keep %.2f of the prediction, against %.2f. Fit it on more graphs or "
            "with more steps=, or use method='occlusion'",
            type(explainer).__name__,
            result.graphs,
            result.own,
            result.occlusion,
        )
