"""By how much each atom of a molecule raises what a model predicts.

The players (:mod:`vgib.model.effects`) are the pieces of the molecule: its rings, functional groups
and chains. The effect of a piece is shared equally by its atoms.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from vgib.model.effects import Game, effects, spread_over_nodes
from vgib.model.results import edges
from vgib.select.blocktree import Array, Mask

if TYPE_CHECKING:
    from vgib.model.answer import Answer

COALITIONS, ORDERS = 128, 4
"""Connected sets of pieces up to which effects are exact, and orders that are drawn beyond."""


def atom_effects(answer: "Answer", graphs: Sequence[int]) -> list[Array]:
    """The effects of the atoms of some molecules of an answer, ``float64 [atoms]`` each."""
    starts, pairs = answer.graphs.node_ptr.tolist(), edges(answer.graphs)
    games = [
        Game.of(answer.piece[slice(*starts[graph : graph + 2])], pairs[graph].tolist())
        for graph in graphs
    ]

    def value(masks: list[Mask]) -> list[Array]:
        counts = [len(each) for each in masks]
        places = [answer.parts.places(g, each) for g, each in zip(graphs, masks, strict=True)]
        outputs = answer.parts.values(np.concatenate(places), answer.numbers)
        said = followed(answer, outputs, np.repeat(graphs, counts))
        return np.split(said, np.cumsum(counts)[:-1])

    found = effects(value, games, limit=COALITIONS, samples=ORDERS)
    return [spread_over_nodes(game, own.values) for game, own in zip(games, found, strict=True)]


def followed(answer: "Answer", outputs: Tensor, owner: Array) -> Array:
    """The mean over the members of what effects are about, for the molecule of each row.

    Of values the first; of two classes the log-odds of the second, of more those of the likeliest.
    """
    if answer.classes is None:
        found: Array = outputs[..., 0].mean(0).double().numpy()
        return found
    chances = outputs.double().log_softmax(-1)
    column = np.ones_like(owner) if len(answer.classes) == 2 else answer.likeliest[owner]
    one = chances[:, np.arange(len(owner)), column]
    odds: Array = (one - torch.log1p(-one.exp().clamp(max=1 - 1e-12))).mean(0).numpy()
    return odds
