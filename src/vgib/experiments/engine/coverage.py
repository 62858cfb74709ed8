"""How much of each table has been computed, and by which code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vgib.experiments.engine.code import code_hash
from vgib.experiments.engine.folders import names, work_module
from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Record, Records


def coverage(results: Path) -> dict[str, dict[str, Any]]:
    """For each recipe what is computed of it, and how many of its records are out of date.

    A record is *out of date* when the code that its job depends on has changed since; a record from
    before hashes were written down is *unknown*.
    """
    found = {}
    for name in names():
        made = recipe(name)
        records = Records(results / made.folder)
        found[name] = of_recipe(made, records) | of_code(made, records)
    return found


def of_recipe(made: Recipe, records: Records) -> dict[str, int]:
    """The jobs and cells of a recipe, and how many of them have (all) their records.

    A record of other settings does not count.
    """
    done = records.by_key().keys()
    cells: dict[str, list[bool]] = {}
    for job in made.jobs():
        cells.setdefault(job.cell(), []).append(job.key() in done)
    return {
        "cells": len(cells),
        "full_cells": sum(all(repeats) for repeats in cells.values()),
        "jobs": sum(map(len, cells.values())),
        "records": sum(map(sum, cells.values())),
    }


def of_code(made: Recipe, records: Records) -> dict[str, int]:
    """How many records of a recipe other code has made, and of how many it is not known."""
    done = records.by_key()
    old = [done[key].get("code") for key in outdated(made, made.jobs(), done)]
    return {"out_of_date": len(old) - old.count(None), "unknown": old.count(None)}


def outdated(made: Recipe, jobs: Sequence[Job], done: Mapping[str, Record]) -> set[str]:
    """The keys of jobs whose records other code than today's has made, as far as is known."""
    now = code_hash(work_module(made.job))
    keys = {job.key() for job in jobs} & done.keys()
    return {key for key in keys if done[key].get("code") != now}
