"""The jobs on activity cliffs: one method on one target."""

from typing import ClassVar

from pydantic import Field

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
