"""Runs the jobs of a recipe: skips what has a record, records what finishes, at once."""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vgib.data.files import locked
from vgib.data.processes import Engine, Outcome
from vgib.experiments.engine.code import code_hash
from vgib.experiments.engine.coverage import outdated
from vgib.experiments.engine.finished import Finished
from vgib.experiments.engine.folders import run_of, work_module
from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records, host
from vgib.model.card import versions

Work = Callable[[Any], Finished]


def run_recipe(
    made: Recipe,
    jobs: Sequence[Job],
    records: Records,
    engine: Engine,
    *,
    again: bool = False,
    mirror: Path | None = None,
    cache: Path | None = None,
) -> Generator[Outcome[Job, Record], None, None]:
    """Does those jobs of a recipe that have no record yet.

    With ``again``, jobs whose records other code has made count as having none: those records are
    removed, once no other process can be writing them.

    Raises:
        InputError: another process does the same, into the same folder.
    """
    work = partial(run_of(made.job), mirror=mirror, cache=cache)
    code = code_hash(work_module(made.job))
    with locked(records.folder / ".lock", repr(str(records.folder))):
        if again:
            records.forget(outdated(made, jobs, records.by_key()))
        yield from run_jobs(missing(jobs, records), records, engine, work, code)


def missing(jobs: Sequence[Job], records: Records) -> list[Job]:
    """The jobs that have no record yet."""
    done = records.by_key()
    return [job for job in jobs if job.key() not in done]


def run_jobs(
    jobs: Sequence[Job], records: Records, engine: Engine, work: Work, code: str
) -> Generator[Outcome[Job, Record], None, None]:
    """Does the jobs and writes their records; gives each outcome after it is on the disk.

    A job that failed leaves no record, so that the next run tries it again.

    ``code`` is the hash of the code behind ``work``.
    """
    where, made_with = host(), versions()
    for outcome in engine.map(work, jobs):
        job, done = outcome.job, outcome.result
        record: Record | None = None
        if done is not None:
            record = {
                "key": job.key(),
                "job": job.model_dump(mode="json"),
                "result": done.result,
                "seconds": done.seconds,
                "host": where,
                "versions": made_with,
                "code": code,
            }
            records.append(job.cell(), record)
        yield Outcome(job, record, outcome.error, outcome.seconds)
