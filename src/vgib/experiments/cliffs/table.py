"""The tables of activity cliffs, from their records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vgib.experiments.engine.cells import Recorded, recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.statistics import signed, verdict
from vgib.experiments.engine.tables import TextTable
from vgib.metrics import Array, Estimate, bootstrap

CONTROL = "forest"
MEASURES = ("rmse", "cliff_rmse")
PAIRS = {
    "test": "both molecules held out",
    "touching": "one or both molecules held out",
}


@dataclass(frozen=True)
class CliffRow:
    """One method over all targets: how many jobs it has, and its records by target and seed."""

    method: str
    jobs: int
    records: dict[str, dict[int, Record]]

    def mean(self, name: str) -> float | None:
        """A number of every job, averaged over seeds and then over targets."""
        found = [
            np.mean([record["result"][name] for record in own.values()])
            for own in self.records.values()
            if all(record["result"][name] is not None for record in own.values())
        ]
        return float(np.mean(found)) if found else None

    def counts(self, pairs: str) -> dict[str, tuple[float, int]]:
        """For each target the pairs that were told right, averaged over seeds, and all pairs."""
        return {
            target: (
                float(np.mean([record["result"][f"right_{pairs}"] for record in own.values()])),
                next(iter(own.values()))["result"][f"pairs_{pairs}"],
            )
            for target, own in self.records.items()
        }

    def direction(self, pairs: str, less: "CliffRow | None" = None) -> Estimate:
        """The share of pairs told right, all targets together; the interval resamples targets.

        With ``less``, the difference to another method on the targets that both have.
        """
        own = self.counts(pairs)
        other = dict.fromkeys(own, (0.0, 0)) if less is None else less.counts(pairs)
        targets = [name for name in own if name in other and own[name][1]]
        gain = np.array([own[name][0] - other[name][0] for name in targets])
        total = np.array([own[name][1] for name in targets], dtype=np.float64)

        def pooled(index: Array) -> float:
            return float(gain[index].sum() / total[index].sum())

        return bootstrap(pooled, len(targets))


def rows(made: Recipe, records: Records) -> list[CliffRow]:
    """Every method of the recipe, with what is recorded of it."""
    found: dict[str, list[Recorded]] = {}
    for cell in recorded(made, records):
        found.setdefault(cell.place[0], []).append(cell)
    return [
        CliffRow(
            method,
            sum(cell.repeats for cell in own),
            {cell.place[1]: cell.records for cell in own if cell.records},
        )
        for method, own in found.items()
    ]


def draw(made: Recipe, records: Records) -> Drawn:
    """Who knows which change raised the activity."""
    found = rows(made, records)
    return Drawn([direction_table(found), difference_table(found)])


def direction_table(found: Sequence[CliffRow]) -> TextTable:
    """Methods down; directions and errors across."""
    lines = []
    for row in found:
        shown = [str(row.direction(pairs)) if row.records else "..." for pairs in PAIRS]
        errors = [_number(row.mean(name)) if row.records else "..." for name in MEASURES]
        done = sum(map(len, row.records.values()))
        lines.append((row.method, *shown, *errors, f"{done}/{row.jobs}"))
    headers = ("method", *PAIRS.values(), "RMSE", "RMSE on cliffs", "jobs done")
    return TextTable(
        "Share of pairs whose gain is put on the right side (0.5 is chance, 1 is best), 95 % "
        "interval over targets; error of the prediction, mean over targets (0 is best)",
        headers,
        lines,
        name="directions",
    )


def difference_table(found: Sequence[CliffRow]) -> TextTable:
    """Each method less the control, on the targets that both have."""
    control = next((row for row in found if row.method == CONTROL and row.records), None)
    lines = []
    for row in found:
        if control is None or row is control or not row.records:
            continue
        gains = [row.direction(pairs, less=control) for pairs in PAIRS]
        lines.append((row.method, *(f"{signed(gain)} {verdict(gain)}" for gain in gains)))
    return TextTable(
        f"Share of pairs told right: each method less {CONTROL}, 95 % interval over targets",
        ("method", *PAIRS.values()),
        lines,
        name="differences",
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
