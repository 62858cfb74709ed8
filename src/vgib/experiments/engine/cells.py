"""The cells of a table with what is recorded of each."""

from typing import Any, NamedTuple

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records


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


def _found(jobs: list[Job], done: dict[str, Record]) -> dict[int, Record]:
    found = {getattr(job, job.axes[-1]): done[job.key()] for job in jobs if job.key() in done}
    return dict(sorted(found.items()))
