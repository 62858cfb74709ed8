"""The tables of models on measured molecules, from their records."""

from collections.abc import Mapping, Sequence

import numpy as np

from vgib.experiments.adme.job import AdmeJob
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.statistics import signed, verdict
from vgib.experiments.engine.tables import TextTable
from vgib.metrics import Array, Estimate, bootstrap

OURS = "vgib"
WORDS = {
    "forest": "forest",
    "chemprop": "chemprop, one network",
    "chemprop-3": "chemprop, three networks",
    "vgib": "vgib train, three networks",
}
LONG = ("train", "test", "r_squared", "r_squared_first", "mean_absolute_error")
PARTS = {
    "kept_share": "atoms kept, mean",
    "small_part_share": "molecules with a part of at most 0.7 of the atoms",
    "sufficient_share": "... from which the same is predicted",
}

Seeds = Mapping[int, Record]
"""The records of one method, target and split, by seed."""


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


class Cells:
    """The records of a recipe by split, target, method and seed."""

    def __init__(self, made: Recipe, records: Records) -> None:
        done = records.by_key()
        self.methods: list[str] = list(made.grid["method"])
        self.rows = [(s, t) for s in made.grid["split"] for t in made.grid["target"]]
        self.found: dict[tuple[str, str, str], dict[int, Record]] = {}
        for job in made.jobs():
            assert isinstance(job, AdmeJob)
            if (record := done.get(job.key())) is not None:
                own = self.found.setdefault((job.split, job.target, job.method), {})
                own[job.seed] = record

    def of(self, split: str, target: str, method: str) -> Seeds:
        """What is recorded, by seed."""
        return self.found.get((split, target, method), {})


def draw(made: Recipe, records: Records) -> Drawn:
    """Whose predictions are the better ones, and how far ours are from the others."""
    cells = Cells(made, records)
    tables = [quality_table(cells), difference_table(cells), parts_table(cells)]
    summary = [
        {"split": split, "target": target, "method": method} | explained(own).to_json()
        for (split, target, method), own in cells.found.items()
    ]
    return Drawn(tables, long_table(cells), summary)


def quality_table(cells: Cells) -> TextTable:
    """Properties down, methods across."""
    lines = []
    for row in cells.rows:
        found = [cells.of(*row, method) for method in cells.methods]
        shown = [_quality(own) for own in found]
        lines.append((*row, *shown))
    return TextTable(
        "R² on held-out molecules (1 is best, 0 is the mean), in brackets how many seeds",
        ("split", "property", *(WORDS[method] for method in cells.methods)),
        lines,
        name="quality",
    )


def _quality(own: Seeds) -> str:
    return f"{explained(own).value:.3f} ({len(own)})" if own else "..."


def difference_table(cells: Cells) -> TextTable:
    """Ours less each of the others, on the same molecules."""
    others = [method for method in cells.methods if method != OURS]
    lines = []
    for row in cells.rows:
        own = cells.of(*row, OURS)
        lines.append((*row, *(_difference(own, cells.of(*row, other)) for other in others)))
    return TextTable(
        "R² of vgib train less that of each other on the same molecules, 95 % interval over "
        "molecules (above 0: vgib train is better)",
        ("split", "property", *(WORDS[other] for other in others)),
        lines,
        name="differences",
    )


def _difference(own: Seeds, other: Seeds) -> str:
    if not own.keys() & other.keys():
        return "..."
    gain = explained(own, less=other)
    return f"{signed(gain)} {verdict(gain)}"


def parts_table(cells: Cells) -> TextTable:
    """What the trained models recognize in the test molecules."""
    lines = []
    for row in cells.rows:
        own = [record["result"] for record in cells.of(*row, OURS).values()]
        values = [f"{np.mean([one[name] for one in own]):.2f}" if own else "..." for name in PARTS]
        lines.append((*row, *values))
    return TextTable(
        "The parts that vgib train recognizes in the held-out molecules, shares",
        ("split", "property", *PARTS.values()),
        lines,
        name="parts",
    )


def long_table(cells: Cells) -> TextTable:
    """One row for each job with its numbers, for other programs."""
    lines: list[tuple[str, ...]] = []
    for key, own in cells.found.items():
        for seed, record in sorted(own.items()):
            values: Sequence[float] = [record["result"][name] for name in LONG]
            lines.append((*key, str(seed), *(f"{value:.5g}" for value in values)))
    return TextTable("jobs", ("split", "target", "method", "seed", *LONG), lines)
