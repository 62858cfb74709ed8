r"""A small part of a molecule from which a model still predicts what it predicts for it.

The gate proposes, the prediction decides. The part that the gate cuts out by itself is the answer
if it suffices. Else it is the smallest part that does,

.. math:: S^* = \arg\min \{|S| : |f_m(G_S) - f_m(G)| \le \tau \text{ for each member } m\}

over connected parts of whole rings and functional groups with at most :data:`MUCH_SMALLER` of the
atoms. Where no part suffices, the one that comes closest is shown, if it keeps at least half of the
evidence, and it is said that it is not enough. The node scores order the candidates: of each size
the best-scored part is tried, the smallest first. The prediction from the part alone decides.
For classes :math:`f` is the probability of the predicted class, which may not fall by more than
:math:`\tau`, and the members together must predict that class, also when the part is a molecule of
its own. :math:`\tau` is the model's mean error on held-out molecules (of a probability 0.1 at
least): below that, the model does not know the difference itself.

Every part has a carbon atom: what a nitro or an amino group sits on makes it what it is. A gate that
is open for such a group alone proposes it together with the ring or chain that it sits on.

Where most pieces of a molecule are predicted like the whole, as for "not
mutagenic", none of them is told: nothing in particular carries the prediction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.chem.vocabulary import ELEMENT
from vgib.select.blocktree import Array, BlockTree, Mask
from vgib.select.policy import HALF, MUCH_SMALLER, Nodes, Selection
from vgib.select.ties import TIE, best

if TYPE_CHECKING:
    from vgib.model.answer import Answer

WAVES = (0.2, 0.35, 0.5, MUCH_SMALLER)
"""Shares of the atoms up to which parts are tried; larger ones only where no smaller one is."""

ANYWHERE = 0.5
"""The share of the kinds of blocks that suffice alone above which no part is told."""

MOST_LISTED = 200
"""Parts of one molecule that are tried beside the best-scored ones, by a model of fragments."""

MOST_RANKED = 10
"""Sufficient parts of one molecule that are told at most, none of which lies inside another."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sufficient:
    """What suffices, of each molecule.

    Attributes:
        found: The sufficient parts: the gate's own if it is one, then the smallest first. Where
            none suffices, the one that comes closest, if any comes close.
        why_none: Where none suffices, why.
    """

    found: list[list[Nodes]]
    why_none: list[str | None]


def sufficient_parts(answer: "Answer", n: int) -> Sufficient:
    """Searches the molecules of an answer, all at once, for up to ``n`` parts of each."""
    trees, sizes = answer.parts.candidates.trees, answer.graphs.sizes.tolist()
    anywhere, proposed = _suffice_anywhere(answer), _proposed(answer)
    proposed = {g: mask for g, mask in proposed.items() if not anywhere[g]}
    found: list[list[Nodes]] = [[] for _ in trees]
    for graph, good in _alike(answer, proposed):
        found[graph] = _apart([], proposed[graph][good])
    # Gates of models that know fragments order parts badly: there, more of them are tried.
    most = 0 if answer.parts.judge is not None else MOST_LISTED
    tried = answer.parts.candidates.by_size(answer.node_scores, MUCH_SMALLER, most)
    tried = _with_carbon(answer, tried)
    for below, share in pairwise((0.0, *WAVES)):
        left = [g for g, some in enumerate(found) if len(some) < n and not anywhere[g]]
        rows = {
            g: masks[(masks.sum(1) > below * sizes[g]) & (masks.sum(1) <= share * sizes[g])]
            for g, masks in ((g, tried[g]) for g in left)
        }
        for graph, good in _alike(answer, {g: masks for g, masks in rows.items() if len(masks)}):
            found[graph] = _apart(found[graph], rows[graph][good])[: min(n, MOST_RANKED)]
    why = [
        None if some else _why_none(answer, graph, anywhere[graph])
        for graph, some in enumerate(found)
    ]
    left = [g for g, some in enumerate(found) if not some and not anywhere[g]]
    for graph, nodes in _closest(answer, left, proposed).items():
        found[graph] = [nodes]
    return Sufficient(found, why)


def _with_carbon(answer: "Answer", tried: list[Mask]) -> list[Mask]:
    """The parts of each molecule that have a carbon atom."""
    return [masks[masks @ own] for masks, own in zip(tried, _carbon(answer), strict=True)]


def _carbon(answer: "Answer") -> list[Mask]:
    """Which atoms of each molecule are carbon."""
    carbon = answer.graphs.x[:, 0].numpy() == ELEMENT.codes["C"]
    return np.split(carbon, answer.graphs.node_ptr.numpy()[1:-1])


def _closest(
    answer: "Answer", graphs: Sequence[int], proposed: dict[int, Mask]
) -> dict[int, Nodes]:
    """Of some molecules the part whose prediction comes closest to that of the whole.

    The gate's own part is tried too. Of equal parts, to a hundredth, the smallest; none where half
    of the class's probability is lost, or a value moves by more than twice the tolerance.
    """
    candidates, found = answer.parts.candidates, {}
    tried = candidates.by_size(answer.node_scores, MUCH_SMALLER, MOST_LISTED, only=set(graphs))
    tried = _with_carbon(answer, tried)
    for graph in graphs:
        masks = np.concatenate([tried[graph], proposed.get(graph, tried[graph][:0])])
        if not len(masks):
            continue
        whole, column = answer.mean[graph], answer.likeliest[graph]
        told = answer.parts.values(answer.parts.places(graph, masks), answer.numbers)
        values = (told if answer.classes is None else told.softmax(-1)).mean(0).double().numpy()
        if answer.classes is None:
            lost = (np.abs(values - whole) / answer.tolerance).max(1) / 4
        else:
            lost = 1 - values[:, column] / whole[column]
        first = np.lexsort((masks.sum(1), lost.round(2)))[0]
        if lost[first] <= HALF:
            found[graph] = tuple(np.flatnonzero(masks[first]).tolist())
    return found


def _proposed(answer: "Answer") -> dict[int, Mask]:
    """The part of each molecule that its gate cuts out by itself, as one row, where there is one.

    Some atom scores one half, and the part is much smaller than the molecule.
    """
    ptr, scores, found = answer.graphs.node_ptr.tolist(), answer.node_scores, {}
    trees, carbon = answer.parts.candidates.trees, _carbon(answer)
    for graph, ((nodes, *_), ends) in enumerate(
        zip(answer.chosen(Selection(by="scores")), pairwise(ptr), strict=True)
    ):
        mask = np.zeros((1, ends[1] - ends[0]), dtype=bool)
        mask[0, list(nodes)] = True
        own = scores[slice(*ends)]
        if own.max() >= HALF - TIE and mask.mean() <= MUCH_SMALLER:
            found[graph] = _seated(trees[graph], mask, own, carbon[graph])
    return found


def _seated(tree: BlockTree, mask: Mask, scores: Array, carbon: Mask) -> Mask:
    """A part without carbon, together with the best-scored ring or carbon atom that it sits on.

    Where nearly the whole molecule would be kept, it stays alone.
    """
    if (mask[0] & carbon).any():
        return mask
    inside = set(tree.block[mask[0]].tolist())
    around = {other for block in inside for other in tree.neighbors[block]} - inside
    seats = [mask[0] | (tree.block == block) for block in sorted(around)]
    seats = [seat for seat in seats if (seat & carbon).any() and seat.mean() <= MUCH_SMALLER]
    if not seats:
        return mask
    means = [scores[seat & ~mask[0]].mean() for seat in seats]
    return seats[int(best(np.array(means), 1)[0])][None]


def _suffice_anywhere(answer: "Answer") -> list[bool]:
    """Of each molecule, whether most kinds of pieces alone are predicted like the whole."""
    trees, elements = answer.parts.candidates.trees, answer.graphs.x[:, 0].numpy()
    anywhere = [False] * len(trees)
    single = {
        g: tree.nodes([1 << block for block in range(len(tree.weights))])
        for g, tree in enumerate(trees)
        if len(tree.weights) > 1
    }
    # Pieces of the same elements are of one kind: three nitro groups are not three pieces.
    weight = np.random.default_rng(0).random(256)[elements]
    own = np.split(weight, answer.graphs.node_ptr.numpy()[1:-1])
    for graph, good in _alike(answer, single):
        kinds = np.round(single[graph] @ own[graph], 6)
        suffices = len(np.unique(kinds[good])) / len(np.unique(kinds))
        anywhere[graph] = suffices > ANYWHERE
    return anywhere


def _alike(answer: "Answer", tried: dict[int, Mask]) -> Iterator[tuple[int, Rows]]:
    """Of each graph the rows of masks that every member predicts like the whole.

    What fails one member is not shown to the next.
    """
    if not tried:
        return
    places = np.concatenate([answer.parts.places(g, masks) for g, masks in tried.items()])
    owner = np.repeat(list(tried), [len(masks) for masks in tried.values()])
    rows = np.arange(len(owner))
    told: list[Tensor] = []
    for member, number in enumerate(answer.numbers):
        if not len(rows):
            break
        values = answer.parts.values(places[rows], [number])[0]
        whole = answer.outputs[member][torch.from_numpy(owner[rows])]
        if answer.classes is None:
            allowed = values.new_tensor(answer.tolerance) + TIE * whole.abs()
            kept = ((values - whole).abs() <= allowed).all(1)
        else:
            values, column = values.softmax(1), _predicted(answer, owner[rows])
            least = whole.softmax(1).gather(1, column) - answer.tolerance[0] - TIE
            kept = (values.gather(1, column) >= least).squeeze(1)
        told = [each[kept] for each in (*told, values)]
        rows = rows[kept.numpy()]
    if answer.classes is not None and len(rows):
        alone = answer.parts.as_molecules(places[rows], answer.numbers)
        wanted = _predicted(answer, owner[rows])
        kept = _is_predicted(torch.stack(told).mean(0), wanted)
        rows = rows[(kept & _is_predicted(alone.mean(0), wanted)).numpy()]
    start = np.searchsorted(owner, list(tried)).tolist()
    cuts = np.searchsorted(rows, [*start, len(owner)]).tolist()
    for graph, first, (low, high) in zip(tried, start, pairwise(cuts), strict=True):
        yield graph, rows[low:high] - first


def _predicted(answer: "Answer", graphs: Rows) -> Tensor:
    """The column of the class that the members together predict, ``[graphs, 1]``."""
    return torch.from_numpy(answer.likeliest[graphs]).unsqueeze(1)


def _is_predicted(chances: Tensor, wanted: Tensor) -> Tensor:
    """Whether no other class is likelier than the wanted one, ``bool [rows]``."""
    return chances.gather(1, wanted).squeeze(1) >= chances.amax(1) - TIE


def _apart(before: list[Nodes], masks: Mask) -> list[Nodes]:
    """A ranking with further parts, without those that only add to an earlier one."""
    kept = list(before)
    for mask in masks:
        nodes = set(np.flatnonzero(mask).tolist())
        if not any(nodes.issuperset(smaller) for smaller in kept):
            kept.append(tuple(sorted(nodes)))
    return kept


def _why_none(answer: "Answer", graph: int, anywhere: bool) -> str:
    if anywhere:
        return "most pieces of the molecule alone are predicted the same"
    if len(answer.parts.candidates.trees[graph].weights) == 1:
        return "the molecule is one ring system or group, which no cut divides"
    allowed = ", ".join(f"{each:.2g}" for each in answer.tolerance)
    return (
        f"no part of at most {MUCH_SMALLER:.0%} of the atoms is predicted like the molecule "
        f"(to within {allowed})"
    )
