"""The jobs of Figure 3: one method on a few molecules."""

from pathlib import Path

from vgib.experiments.engine.finished import Finished
from vgib.experiments.table1.job import InterpretationJob


class GalleryJob(InterpretationJob):
    """A few held-out molecules with the subgraph that is found in each (Figure 3)."""


def run(
    job: GalleryJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains a model and takes down what it finds."""
    from vgib.experiments.figure3 import work

    return work.run(job, mirror=mirror, cache=cache)
