"""Table 2 from its records: seconds of training."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.cells import SeededCell, recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import spread
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.table1.cells import PUBLISHED


@dataclass(frozen=True)
class Course(SeededCell):
    """The trainings of one method on one version of a property's molecules."""

    version: str
    target: str
    method: str

    @property
    def seconds(self) -> list[float]:
        return [self.records[seed]["seconds"]["cpu"] for seed in sorted(self.records)]

    @property
    def mean(self) -> float:
        return float(np.mean(self.seconds)) if self.records else nan

    @property
    def traces(self) -> list[dict[str, Any]]:
        """The results that were followed step by step."""
        return [result for result in self.results if "trace" in result]


def courses(made: Recipe, records: Records) -> list[Course]:
    """Every method of the recipe with what is recorded of it."""
    return [Course(cell.repeats, cell.records, *cell.place) for cell in recorded(made, records)]


def draw(made: Recipe, records: Records) -> Drawn:
    """The one table: seconds of training."""
    return Drawn([time_table(courses(made, records), str(made.control))])


def time_table(found: Sequence[Course], control: str) -> TextTable:
    """Seconds, and how many times those of the control; the paper's beside them."""
    published = paper.numbers("table2")
    base = next((c.mean for c in found if c.method == control), nan)
    rows: list[tuple[str, ...]] = []
    for course in found:
        theirs = published.get(PUBLISHED.get(course.method, ""))
        rows.append(
            (
                course.method,
                _seconds_text(course),
                f"{course.mean / base:.2f}" if course.records and base == base else "...",
                "" if theirs is None else f"{theirs:.1f}",
                "" if theirs is None else f"{theirs / published[control]:.2f}",
            )
        )
    title = "Seconds of training on the QED list, one core of a processor; the paper: one TITAN RTX"
    headers = ("method", "seconds", f"times {control}", "paper, seconds", f"paper, times {control}")
    return TextTable(title, headers, rows, name="times")


def _seconds_text(course: Course) -> str:
    if not course.records:
        return "..."
    if len(course.records) == 1:
        return f"{course.mean:.1f}{course.few}"
    return f"{course.mean:.1f} ± {spread(course.seconds):.1f}{course.few}"
