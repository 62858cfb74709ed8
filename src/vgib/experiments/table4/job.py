"""The jobs of Table 4: one fold of one cell of graph classification."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from vgib.experiments.engine.jobs import Job


class ClassificationJob(Job):
    """One fold of a graph classification experiment (Table 4)."""

    axes: ClassVar[tuple[str, ...]] = ("dataset", "readout", "encoder", "bottleneck", "fold")
    headline: ClassVar[str] = "test_accuracy"

    dataset: str = Field(description="A name of the catalog.")
    encoder: str = Field(description="gcn, sage, gin or gat.")
    bottleneck: str = Field(description="The row of the table.")
    module: str = Field(description="The registered bottleneck behind that row.")
    options: dict[str, Any] = Field(default_factory=dict, description="Its options.")
    betas: tuple[float, ...] = Field(
        (),
        description="Weights of the bottleneck's price to choose from, by the validation loss; "
        "none: the one of the options.",
    )
    readout: Literal["sum", "mean"] = Field(description="How nodes become a graph.")
    fold: int = Field(ge=0, description="The fold that is the test set.")
    folds: int = Field(10, ge=3, description="How many stratified folds there are.")
    fold_seed: int = Field(12345, ge=0, description="Seed of the folds.")
    hidden: int = Field(16, ge=1, description="Channels of each layer and of the head.")
    depth: int = Field(2, ge=1, description="Number of message-passing layers.")
    dropout: float = Field(0.5, ge=0, lt=1, description="Dropout in the head.")
    normalize: bool = Field(False, description="Batch norm after the last layer.")
    epochs: int = Field(100, ge=1, description="Passes over the training graphs.")
    batch_size: int = Field(128, ge=1, description="Graphs in one step.")
    lr: float = Field(0.01, gt=0, description="Learning rate of Adam.")
    halve_at: int = Field(50, ge=1, description="Halve the rate every so many epochs.")
    inner_lr: float = Field(1e-3, gt=0, description="Learning rate of GIB's critic.")
    seed: int = Field(0, ge=0, description="Seed of weights, order, noise and dropout.")
