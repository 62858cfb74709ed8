"""What a job is asked to do: one frozen configuration for each task, JSON in and JSON out."""

import hashlib
import json
from typing import Any, ClassVar, Literal

from pydantic import Field

from vgib.config import Settings


class Job(Settings):
    """One unit of work, small enough to lose and known by its key.

    A field that is added later gets a default that means what was done before, and a default never
    changes: the key leaves defaults out, so records keep theirs.
    """

    axes: ClassVar[tuple[str, ...]] = ()
    """The fields that say which job of its table it is, outermost first; the last one repeats a
    cell (folds, seeds)."""

    headline: ClassVar[str] = ""
    """The number of the result that a run shows as it goes on."""

    def cell(self) -> str:
        """The cell of the table that it is a part of, as a path: ``MUTAG/sum/gcn/vgib``."""
        return "/".join(str(getattr(self, axis)) for axis in self.axes[:-1])

    def key(self) -> str:
        """Its cell, its number in it, and a hash of all its settings."""
        return f"{self.cell()}/{getattr(self, self.axes[-1])}-{self.digest()}"

    def digest(self) -> str:
        """A hash of all settings that are not the default."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]


class ClassificationJob(Job):
    """One fold of a graph classification experiment (Table 4)."""

    axes: ClassVar[tuple[str, ...]] = ("dataset", "readout", "encoder", "bottleneck", "fold")
    headline: ClassVar[str] = "test_accuracy"

    dataset: str = Field(description="A name of the catalog.")
    encoder: str = Field(description="gcn, sage, gin or gat.")
    bottleneck: str = Field(description="The row of the table.")
    module: str = Field(description="The registered bottleneck behind that row.")
    options: dict[str, Any] = Field(default_factory=dict, description="Its options.")
    readout: Literal["sum", "mean"] = Field(description="How nodes become a graph.")
    fold: int = Field(ge=0, description="The fold that is the test set.")
    folds: int = Field(10, ge=3, description="How many stratified folds there are.")
    fold_seed: int = Field(12345, ge=0, description="Seed of the folds.")
    hidden: int = Field(16, ge=1, description="Channels of each layer and of the head.")
    depth: int = Field(2, ge=1, description="Number of message-passing layers.")
    dropout: float = Field(0.5, ge=0, lt=1, description="Dropout in the head.")
    epochs: int = Field(100, ge=1, description="Passes over the training graphs.")
    batch_size: int = Field(128, ge=1, description="Graphs in one step.")
    lr: float = Field(0.01, gt=0, description="Learning rate of Adam.")
    halve_at: int = Field(50, ge=1, description="Halve the rate every so many epochs.")
    seed: int = Field(0, ge=0, description="Seed of weights, order, noise and dropout.")


JOBS: dict[str, type[Job]] = {"classification": ClassificationJob}
"""The kind of job of each task."""
