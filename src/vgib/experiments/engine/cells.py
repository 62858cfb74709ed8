"""The cells of a table with what is recorded of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records

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

    ``seeds`` is how many the recipe asks for; the records are by seed.
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
