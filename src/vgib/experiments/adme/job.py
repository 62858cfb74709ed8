"""The jobs on measured molecules: one kind of model on one property."""

from typing import ClassVar, Literal

from pydantic import Field

from vgib.experiments.engine.jobs import Job


class AdmeJob(Job):
    """One kind of model, trained on one property with one split and seed."""

    axes: ClassVar[tuple[str, ...]] = ("split", "target", "method", "seed")
    headline: ClassVar[str] = "r_squared"

    split: Literal["random", "scaffold"] = Field(
        description="How molecules are divided into 85 % training, 5 % validation and 10 % test."
    )
    target: str = Field(description="A column of adme/biogen.")
    method: str = Field(description="The row of the table.")
    seed: int = Field(ge=0, description="Seed of the split and of the first network.")
    kind: Literal["vgib", "forest", "chemprop"] = Field(description="Who learns and predicts.")
    members: int = Field(1, ge=1, description="Networks that answer together.")
    trees: int = Field(300, ge=1, description="Of a forest: its trees.")
    epochs: int = Field(50, ge=1, description="Of chemprop: passes over the training molecules.")
