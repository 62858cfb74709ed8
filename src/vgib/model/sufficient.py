r"""A small part of a molecule from which a model still predicts what it predicts for it.

The gate proposes, the prediction decides. The part that the gate cuts out by itself is the answer
if it suffices. Else it is the smallest part that does,

.. math:: S^* = \arg\min \{|S| : |f_m(G_S) - f_m(G)| \le \tau \text{ for each member } m\}

over connected parts of whole rings and functional groups with at most :data:`MUCH_SMALLER` of the
atoms. The node scores order the candidates: of each size the best-scored part is tried, the
smallest first. The prediction from the part alone decides. For classes :math:`f` is the probability
of the predicted class, which may not fall by more than :math:`\tau`, and the members together must
predict that class, also when the part is a molecule of its own. :math:`\tau` is the model's mean
error on held-out molecules (of a probability 0.1 at least): below that, the model does not know the
difference itself.

What the model predicts from no atom at all needs no part. That is a value to within :math:`\tau` of
it, or a class that it predicts then with :math:`\tau` to spare, such as "not active".

Where no part suffices, the one with the largest effect (:mod:`vgib.model.effects`) is shown, and it
is said that it is not enough: of values the part of at most half of the atoms that raises or lowers
them most, of classes the part that speaks most for the class, if it is predicted as that class.

A group without carbon is shown on the ring or carbon atom that it sits on, which makes it what it
is: an aromatic nitro group, not nitrous acid. Where that would be nearly the whole molecule, it
stays alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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

MOST_LISTED = 200
"""Parts of one molecule that are tried beside the best-scored ones, by a model of fragments."""

MOST_RANKED = 10
"""Sufficient parts of one molecule that are told at most, none of which lies inside another."""

NEARLY = 0.9
"""The share of the largest effect that a smaller part must have to be shown instead."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sufficient:
    """What suffices, of each molecule.

    Attributes:
        found: The sufficient parts: the gate's own if it is one, then the smallest first. Where
            none suffices, the one with the largest effect, if one may be shown.
        why_none: Where none suffices, why.
    """

    found: list[list[Nodes]]
    why_none: list[str | None]


def sufficient_parts(answer: "Answer", n: int) -> Sufficient:
    """Searches the molecules of an answer, all at once, for up to ``n`` parts of each."""
    sizes, needless = answer.graphs.sizes.tolist(), _needs_no_part(answer)
    found: list[list[Nodes]] = [[] for _ in sizes]
    proposed = {g: mask for g, mask in _proposed(answer).items() if not needless[g]}
    for graph, good in _alike(answer, proposed):
        found[graph] = _apart([], proposed[graph][good])
    # Gates of models that know fragments order parts badly: there, more of them are tried.
    most = 0 if answer.parts.judge is not None else MOST_LISTED
    searched = [g for g, needs_none in enumerate(needless) if not needs_none]
    tried = _on_carbon(
        answer,
        answer.parts.candidates.by_size(answer.node_scores, MUCH_SMALLER, most, only=set(searched)),
    )
    for below, share in pairwise((0.0, *WAVES)):
        rows = {
            g: masks[(masks.sum(1) > below * sizes[g]) & (masks.sum(1) <= share * sizes[g])]
            for g, masks in ((g, tried[g]) for g in searched if len(found[g]) < n)
        }
        for graph, good in _alike(answer, {g: masks for g, masks in rows.items() if len(masks)}):
            found[graph] = _apart(found[graph], rows[graph][good])[: min(n, MOST_RANKED)]
    why = [
        None if some else _why_none(answer, graph, needless[graph])
        for graph, some in enumerate(found)
    ]
    is_class = answer.classes is not None
    left = [g for g, some in enumerate(found) if not (some or (is_class and needless[g]))]
    for graph, nodes, words in _of_largest_effect(answer, left):
        found[graph], why[graph] = [nodes], f"{why[graph]}; shown is the part that {words} most"
    return Sufficient(found, why)


def _needs_no_part(answer: "Answer") -> list[bool]:
    """Whether the members predict of each molecule what they predict before they see any atom."""
    if answer.classes is None:
        far = np.abs(answer.mean - answer.nothing.mean(0).double().numpy())
        near: list[bool] = (far <= np.array(answer.tolerance) + TIE).all(1).tolist()
        return near
    sure = answer.nothing.softmax(-1).mean(0) >= HALF + answer.tolerance[0]
    expected: list[bool] = sure[torch.from_numpy(answer.likeliest)].tolist()
    return expected


def _of_largest_effect(answer: "Answer", graphs: Sequence[int]) -> Iterator[tuple[int, Nodes, str]]:
    """Of some molecules the part with the largest effect on the prediction, and what it does.

    Of a value up or down, of a class for it alone, and the part must be predicted as that class.
    The smallest part that has nearly the largest effect.
    """
    each: list[Array] = [np.zeros(size) for size in answer.graphs.sizes.tolist()]
    for graph, effects in zip(graphs, answer.effects_of(graphs), strict=True):
        each[graph] = effects * _towards(answer, graph)
    signs, share = ((1, -1), HALF) if answer.classes is None else ((1,), MUCH_SMALLER)
    by_size = partial(answer.parts.candidates.by_size, share=share, only=set(graphs))
    by_sign = [_on_carbon(answer, by_size(sign * np.concatenate(each))) for sign in signs]
    tried = {graph: np.concatenate([masks[graph] for masks in by_sign]) for graph in graphs}
    tried = {graph: masks for graph, masks in tried.items() if len(masks)}
    if answer.classes is not None:
        tried = {g: tried[g][good] for g, good in _alike(answer, tried, closely=False)}
    for graph, masks in tried.items():
        effect = masks @ each[graph]
        large = effect if answer.classes is not None else np.abs(effect)
        good = np.flatnonzero((large > 0) & (large >= NEARLY * large.max(initial=0)))
        if len(good):
            first = good[masks[good].sum(1).argmin()]
            words = "raises it" if effect[first] > 0 else "lowers it"
            words = words if answer.classes is None else "speaks for it"
            yield graph, tuple(np.flatnonzero(masks[first]).tolist()), words


def _towards(answer: "Answer", graph: int) -> int:
    """The sign of an effect that speaks for the prediction.

    Effects speak for the second of two classes, so it is minus where the first one is predicted.
    """
    is_first = (
        answer.classes is not None and len(answer.classes) == 2 and not answer.likeliest[graph]
    )
    return -1 if is_first else 1


def _proposed(answer: "Answer") -> dict[int, Mask]:
    """The part of each molecule that its gate cuts out by itself, as one row, where there is one.

    Some atom scores one half, and the part is much smaller than the molecule.
    """
    ptr, scores = answer.graphs.node_ptr.tolist(), answer.node_scores
    rows = []
    for (nodes, *_), ends in zip(answer.chosen(Selection(by="scores")), pairwise(ptr), strict=True):
        mask = np.zeros((1, ends[1] - ends[0]), dtype=bool)
        mask[0, list(nodes)] = True
        is_one = scores[slice(*ends)].max() >= HALF - TIE and mask.mean() <= MUCH_SMALLER
        rows.append(mask if is_one else mask[:0])
    return {graph: mask for graph, mask in enumerate(_on_carbon(answer, rows)) if len(mask)}


def _on_carbon(answer: "Answer", tried: list[Mask]) -> list[Mask]:
    """The parts of each molecule, the smallest first; one without carbon gets what it sits on."""
    ptr, trees = answer.graphs.node_ptr.numpy(), answer.parts.candidates.trees
    carbon = np.split(answer.graphs.x[:, 0].numpy() == ELEMENT.codes["C"], ptr[1:-1])
    scores = np.split(answer.node_scores, ptr[1:-1])
    found = []
    for masks, own, tree, each in zip(tried, carbon, trees, scores, strict=True):
        bare = np.flatnonzero(~(masks @ own))
        if len(bare):
            masks = masks.copy()
            masks[bare] = [_seated(tree, masks[row], each, own) for row in bare]
            masks = masks[np.argsort(masks.sum(1), kind="stable")]
        found.append(masks)
    return found


def _seated(tree: BlockTree, mask: Mask, scores: Array, carbon: Mask) -> Mask:
    """A part without carbon, with the best-scored ring or carbon atom that it sits on.

    Where nearly the whole molecule would be kept, it stays alone.
    """
    inside = set(tree.block[mask].tolist())
    around = {other for block in inside for other in tree.neighbors[block]} - inside
    seats = [mask | (tree.block == block) for block in sorted(around)]
    seats = [seat for seat in seats if (seat & carbon).any() and seat.mean() <= MUCH_SMALLER]
    if not seats:
        return mask
    means = [scores[seat & ~mask].mean() for seat in seats]
    seat: Mask = seats[int(best(np.array(means), 1)[0])]
    return seat


def _alike(
    answer: "Answer", tried: dict[int, Mask], *, closely: bool = True
) -> Iterator[tuple[int, Rows]]:
    """Which of the parts that are tried every member predicts like the whole graph.

    What fails one member is not shown to the next. Of classes, not ``closely`` asks for the same
    class alone.
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
        values = values if answer.classes is None else values.softmax(1)
        kept = _is_like_whole(answer, member, values, owner[rows], closely=closely)
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


def _is_like_whole(
    answer: "Answer", member: int, values: Tensor, graphs: Rows, *, closely: bool
) -> Tensor:
    """Whether the values or chances that a member tells of parts are near those of their graphs."""
    whole = answer.outputs[member][torch.from_numpy(graphs)]
    if answer.classes is None:
        allowed = values.new_tensor(answer.tolerance) + TIE * whole.abs()
        return ((values - whole).abs() <= allowed).all(1)
    column = _predicted(answer, graphs)
    fall = answer.tolerance[0] if closely else 1
    least = whole.softmax(1).gather(1, column) - fall - TIE
    return (values.gather(1, column) >= least).squeeze(1)


def _predicted(answer: "Answer", graphs: Rows) -> Tensor:
    """The column of the class that the members together predict, ``[graphs, 1]``."""
    return torch.from_numpy(answer.likeliest[graphs]).unsqueeze(1)


def _is_predicted(chances: Tensor, wanted: Tensor) -> Tensor:
    """Whether no other class is likelier than the wanted one, ``bool [rows]``."""
    return chances.gather(1, wanted).squeeze(1) >= chances.amax(1) - TIE


def _apart(before: list[Nodes], masks: Mask) -> list[Nodes]:
    """A ranking continued with further parts, but for those that contain an earlier one."""
    kept = list(before)
    for mask in masks:
        nodes = set(np.flatnonzero(mask).tolist())
        if not any(nodes.issuperset(smaller) for smaller in kept):
            kept.append(tuple(sorted(nodes)))
    return kept


def _why_none(answer: "Answer", graph: int, needless: bool) -> str:
    allowed = ", ".join(f"{each:.2g}" for each in answer.tolerance)
    if needless:
        if answer.classes is not None:
            return "this class is what the model expects of any molecule"
        return f"this is about what the model expects of any molecule (to within {allowed})"
    if len(answer.parts.candidates.trees[graph].weights) == 1:
        return "the molecule is one ring system or group, which no cut divides"
    return (
        f"no part of at most {100 * MUCH_SMALLER:.0f} % of the atoms is predicted like the "
        f"molecule (to within {allowed})"
    )
