"""The jobs on graphs whose explanation is known: one method, in one of its lives, on one set."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from vgib.experiments.engine.jobs import Job


class KnownAnswersJob(Job):
    """One method on one set of graphs with known explanations, with one seed."""

    axes: ClassVar[tuple[str, ...]] = ("life", "dataset", "method", "seed")
    headline: ClassVar[str] = "iou"

    life: Literal["trained", "posthoc", "protocol"] = Field(
        description="Trained with the network, on a frozen network, or by its authors' protocol."
    )
    dataset: str = Field(description="A set of vgib.data.known.")
    method: str = Field(description="The row of the table.")
    seed: int = Field(ge=0, description="Seed of split, generated graphs, weights and noise.")
    module: str = Field(description="The registered bottleneck or explainer behind that row.")
    options: dict[str, Any] = Field(default_factory=dict, description="Its options.")
    own_cut: bool = Field(
        False, description="Whether a score of one half is the method's own cut of the part."
    )
    encoder: str = Field("gin", description="Its network, where it is not its authors'.")
    hidden: int = Field(64, ge=1, description="Channels of each layer and of the head.")
    depth: int = Field(3, ge=1, description="Number of GIN layers.")
    epochs: int = Field(40, ge=1, description="Passes over the training graphs, at least.")
    steps: int = Field(1500, ge=1, description="Steps of training, at least.")
    batch_size: int = Field(128, ge=1, description="Graphs in one step.")
    lr: float = Field(3e-3, gt=0, description="Learning rate of Adam, falling along a cosine.")
    authors: bool = Field(
        False, description="Whether network and training are those of GSAT's authors."
    )
    attention_on: Literal["edges", "nodes"] = Field(
        "edges", description="What GSAT and GMT-sam attend to on this set, as their authors advise."
    )
    keep_rate: float = Field(
        0.5, gt=0, lt=1, description="The last prior keep-rate of GSAT and GMT-sam on this set."
    )
    authors_lr: float = Field(1e-3, gt=0, description="Their learning rate on this set.")
    authors_epochs: int = Field(100, ge=1, description="Their epochs.")
