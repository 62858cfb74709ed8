r"""The part of a molecule that a model predicts most nearly like the molecule, at sizes asked for.

.. math:: S^* = \arg\min_{S \in \mathcal C(G)} |f(G_S) - f(G)|

:math:`\mathcal C` holds the connected sets of whole rings, multiply bonded groups and single atoms
whose size is about the wanted one. :math:`f` is the model itself, on the part capped with hydrogen,
so it should have seen fragments in training (:mod:`vgib.model.augment`). No oracle is asked.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from vgib.select.policy import Nodes, Selection
from vgib.select.ties import best

if TYPE_CHECKING:
    from vgib.model.answer import Answer

TINY = torch.finfo(torch.float32).tiny


def nearest_parts(
    answer: "Answer", selection: Selection, *, most: int, slack: int
) -> list[list[Nodes]]:
    """For each molecule the parts of each size, those that are predicted most nearly like it first.

    Args:
        selection: The sizes, and how many parts of each.
        most: So many parts of a molecule and size are tried; of more, those of the best mean score.
        slack: By how many atoms a part may miss the wanted size.
    """
    sizes = selection.sizes(answer.node_scores, answer.graphs)
    tried = answer.parts.candidates.near(answer.node_scores, sizes, most=most, slack=slack)
    places = [
        answer.parts.places(graph, masks) for graph, each in enumerate(tried) for masks in each
    ]
    values = answer.parts.values(np.concatenate(places), answer.numbers)
    counts = [len(each) for each in places]
    owner = np.repeat(np.arange(len(tried)).repeat(len(sizes)), counts)
    said = compared(answer, values)
    far = (said - compared(answer, answer.outputs)[owner]).abs().sum(1).numpy()
    large = said.abs().amax(1).clamp(min=TINY).numpy()
    cuts = np.cumsum(counts)[:-1]
    told = zip(np.split(far, cuts), np.split(large, cuts), strict=True)
    found = []
    for each in tried:
        ranked: list[Nodes] = []
        for masks in each:
            distance, size = next(told)
            # Values have any unit: a tie is a share of the largest.
            nearest = best(-distance / size.max(), selection.n)
            ranked += [tuple(np.flatnonzero(masks[row]).tolist()) for row in nearest]
        found.append(list(dict.fromkeys(ranked)))
    return found


def compared(answer: "Answer", outputs: Tensor) -> Tensor:
    """The mean values or class probabilities that decide which part is like the whole."""
    each = outputs if answer.classes is None else outputs.softmax(-1)
    return each[0] if len(each) == 1 else each.mean(0)
