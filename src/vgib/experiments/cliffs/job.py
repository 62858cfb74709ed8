"""The jobs on activity cliffs: one method on one target."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from vgib.experiments.engine.finished import Finished
from vgib.experiments.engine.jobs import Job


class CliffsJob(Job):
    """One method on the molecules and pairs of one target, with one seed."""

    axes: ClassVar[tuple[str, ...]] = ("method", "target", "seed")
    headline: ClassVar[str] = "direction_touching"

    method: str = Field(description="The row of the table.")
    target: str = Field(description="A target of the file, such as CHEMBL214_Ki.")
    seed: int = Field(ge=0, description="Seed of training.")
    trees: int = Field(100, ge=1, description="Of a forest: its trees.")
    radius: int = Field(2, ge=0, description="Of a fingerprint: bonds around each atom.")
    bits: int = Field(2048, ge=1, description="Of a fingerprint: its length.")


def run(
    job: CliffsJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains on the training molecules of the target, and judges predictions and directions."""
    from vgib.experiments.cliffs import work

    return work.run(job, mirror=mirror)
