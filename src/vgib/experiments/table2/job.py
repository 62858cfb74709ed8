"""The jobs of Table 2 and Figure 1: a training that is timed, or followed step by step."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from vgib.experiments.engine.finished import Finished
from vgib.experiments.table1.job import MoleculeJob


class DynamicsJob(MoleculeJob):
    """How training goes, step by step, and how long it takes (Table 2, Figure 1)."""

    headline: ClassVar[str] = "steps"

    every: int = Field(0, ge=0, description="Record every so many steps; 0: only the time.")


def run(
    job: DynamicsJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains a model and watches."""
    from vgib.experiments.table2 import work

    return work.run(job, mirror=mirror, cache=cache)
