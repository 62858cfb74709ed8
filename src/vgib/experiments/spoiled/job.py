"""The jobs on spoiled training data: one method, one set, one way to spoil it."""

from typing import ClassVar

from pydantic import Field

from vgib.experiments.known_answers.job import KnownAnswersJob


class SpoiledJob(KnownAnswersJob):
    """One method that learns from wrong labels or from few graphs, and is tested on clean ones."""

    axes: ClassVar[tuple[str, ...]] = ("spoiled", "dataset", "method", "seed")

    spoiled: str = Field(description="What is wrong with the training data.")
    flipped: float = Field(
        0.0, ge=0, le=0.5, description="Share of the labels for training that are turned round."
    )
    left: float = Field(1.0, gt=0, le=1, description="Share of the graphs for training that stay.")
