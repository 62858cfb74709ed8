"""The cells of a table with what is recorded of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.statistics import spread

C = TypeVar("C")
"""A cell of any table."""


class Recorded(NamedTuple):
    """One cell of a table: the same job over its folds or seeds.

    Attributes:
        place: The values on the axes that make the cell, outermost first.
        job: Its first job, whose settings all others share but for the last axis.
        repeats: How many folds or seeds the recipe asks for.
        records: What is recorded, by fold or seed, in order.
    """

    place: tuple[Any, ...]
    job: Job
    repeats: int
    records: dict[int, Record]


def recorded(made: Recipe, records: Records) -> list[Recorded]:
    """Every cell of a recipe, in its order; one without records is there too."""
    done = records.by_key()
    jobs: dict[tuple[Any, ...], list[Job]] = {}
    for job in made.jobs():
        place = tuple(getattr(job, axis) for axis in job.axes[:-1])
        jobs.setdefault(place, []).append(job)
    return [Recorded(place, own[0], len(own), _found(own, done)) for place, own in jobs.items()]


def begun(found: Sequence[C], row: Callable[[C], Any], has_any: Callable[[C], Any]) -> list[C]:
    """The cells of the rows that have a record somewhere; all of them while there is none at all.

    A row that nobody has run yet is listed by ``vgib report coverage`` and not in a table.
    """
    known = {row(cell) for cell in found if has_any(cell)}
    return [cell for cell in found if row(cell) in known or not known]


def _found(jobs: list[Job], done: dict[str, Record]) -> dict[int, Record]:
    found = {getattr(job, job.axes[-1]): done[job.key()] for job in jobs if job.key() in done}
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class SeededCell:
    """One cell of a table over its seeds; a table adds the place of the cell and its numbers.

    Attributes:
        seeds: How many the recipe asks for.
        records: What is recorded, by seed.
    """

    seeds: int
    records: dict[int, Record]

    @property
    def results(self) -> list[dict[str, Any]]:
        """What was measured, in the order of the seeds."""
        return [self.records[seed]["result"] for seed in sorted(self.records)]

    @property
    def few(self) -> str:
        """`` [1/3]`` behind a number of which seeds are missing, else nothing."""
        done = len(self.records)
        return "" if done == self.seeds else f" [{done}/{self.seeds}]"


@dataclass(frozen=True)
class OverSeeds(SeededCell):
    """A cell whose numbers are told as their mean and spread over seeds."""

    def value(self, seed: int, name: str) -> float | None:
        """One measure of one seed; ``None`` where there is no such measure."""
        raise TypeError(f"{type(self).__name__} must define value(seed, name) -> float | None")

    def values(self, name: str) -> list[float]:
        """One measure of all seeds that have it, in their order."""
        found = [self.value(seed, name) for seed in sorted(self.records)]
        return [value for value in found if value is not None]

    def text(self, name: str) -> str:
        """``0.994 ± 0.003``, and how many seeds there are while some are missing."""
        values = self.values(name)
        if not values:
            return "..." if not self.records else ""
        shown = f"{np.mean(values):.3f}"
        if len(values) > 1:
            shown += f" ± {spread(values):.3f}"
        return shown if len(self.records) == self.seeds else f"{shown} [{len(values)}/{self.seeds}]"
