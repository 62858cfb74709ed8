"""The jobs on graphs whose explanation is known: one method on one dataset."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from vgib.experiments.engine.finished import Finished
from vgib.experiments.table3.job import ExplainerJob


class GroundTruthJob(ExplainerJob):
    """One method against explanations that are known."""

    axes: ClassVar[tuple[str, ...]] = ("dataset", "method", "seed")
    headline: ClassVar[str] = "node_auc"

    dataset: str = Field(description="A dataset whose explanations are known.")


def run(
    job: GroundTruthJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains a network, explains held-out graphs and compares with what is known."""
    from vgib.experiments.ground_truth import work

    return work.run(job, mirror=mirror, cache=cache)
