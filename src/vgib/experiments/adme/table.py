"""The tables of models on measured molecules, from their records."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from vgib.experiments.engine.cells import recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.statistics import signed, verdict
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.metrics import Array, Estimate, bootstrap

OURS = "vgib"
WORDS = {
    "forest": "forest",
    "chemprop": "chemprop, one network",
    "chemprop-3": "chemprop, three networks",
    "vgib": "vgib train, three networks",
}
HEADS = ("split", "property")
PARTS = {
    "kept_share": "atoms kept, mean",
    "small_part_share": "molecules with a part of at most 0.7 of the atoms",
    "sufficient_share": "... from which the same is predicted",
}

Seeds = Mapping[int, Record]
"""The records of one method, target and split, by seed."""

Cells = Mapping[tuple[str, str, str], Seeds]
"""The records of a recipe by split, target and method."""


def explained(own: Seeds, less: Seeds | None = None) -> Estimate:
    r"""The share of the variance that is explained, over the test molecules of all seeds.

    .. math:: R^2 = 1 - \frac{\sum (y - \hat y)^2}{\sum (y - \bar y_{seed})^2}

    The interval resamples molecules. With ``less``, the difference to another method on the same
    molecules, of the seeds that both have.
    """
    spread, gain = [np.zeros(0)], [np.zeros(0)]
    for seed in own if less is None else own.keys() & less.keys():
        result = own[seed]["result"]
        y = np.array(result["measured"])
        spread.append((y - y.mean()) ** 2)
        before = spread[-1]
        if less is not None:
            before = (y - np.array(less[seed]["result"]["predicted"])) ** 2
        gain.append(before - (y - np.array(result["predicted"])) ** 2)
    whole, gained = np.concatenate(spread), np.concatenate(gain)

    def pooled(index: Array) -> float:
        return float(gained[index].sum() / whole[index].sum())

    return bootstrap(pooled, len(whole))


def draw(made: Recipe, records: Records) -> Drawn:
    """Whose predictions are the better ones, and how far ours are from the others."""
    done = {cell.place: cell.records for cell in recorded(made, records)}
    places = product(*(made.grid[axis] for axis in ("split", "target", "method")))
    found = {place: done[place] for place in places}
    return Drawn([quality_table(found), difference_table(found), parts_table(found)])


def quality_table(found: Cells) -> TextTable:
    """Properties down, methods across."""
    title = "R² on held-out molecules (1 is best, 0 is the mean), in brackets how many seeds"
    texts = (
        ((split, target), WORDS[method], _quality(own))
        for (split, target, method), own in found.items()
    )
    return crossed(title, HEADS, texts, name="quality")


def _quality(own: Seeds) -> str:
    return f"{explained(own).value:.3f} ({len(own)})" if own else "..."


def difference_table(found: Cells) -> TextTable:
    """Ours less each of the others, on the same molecules."""
    title = (
        "R² of vgib train less that of each other on the same molecules, 95 % interval over "
        "molecules (above 0: vgib train is better)"
    )
    texts = (
        ((split, target), WORDS[method], _difference(found[split, target, OURS], other))
        for (split, target, method), other in found.items()
        if method != OURS
    )
    return crossed(title, HEADS, texts, name="differences")


def _difference(own: Seeds, other: Seeds) -> str:
    if not own.keys() & other.keys():
        return "..."
    gain = explained(own, less=other)
    return f"{signed(gain)} {verdict(gain)}"


def parts_table(found: Cells) -> TextTable:
    """What the trained models recognize in the test molecules."""
    title = "The parts that vgib train recognizes in the held-out molecules, shares"
    texts = (
        ((split, target), words, _mean(own, name))
        for (split, target, method), own in found.items()
        if method == OURS
        for name, words in PARTS.items()
    )
    return crossed(title, HEADS, texts, name="parts")


def _mean(own: Seeds, name: str) -> str:
    values = [record["result"][name] for record in own.values()]
    return f"{np.mean(values):.2f}" if values else "..."
