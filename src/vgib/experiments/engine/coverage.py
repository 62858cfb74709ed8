"""How much of each table has been computed."""

from pathlib import Path
from typing import Any

from vgib.experiments.engine.folders import names
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records


def coverage(results: Path) -> dict[str, dict[str, Any]]:
    """For each recipe its jobs and cells, and how many of them have (all) their records."""
    made = {name: recipe(name) for name in names()}
    return {name: of_recipe(one, Records(results / one.folder)) for name, one in made.items()}


def of_recipe(made: Recipe, records: Records) -> dict[str, Any]:
    """The jobs and cells of one recipe; a record of other settings does not count."""
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
