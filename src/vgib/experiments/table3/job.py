"""The jobs of Table 3 and Figure 4: one method that explains one trained network."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from vgib.config import Settings
from vgib.experiments.engine.jobs import Job


class Network(Settings):
    """The shape of a network that is to be explained."""

    encoder: str = Field("gcn", description="gcn, sage, gin or gat.")
    hidden: int = Field(16, ge=1, description="Channels of each layer and of the head.")
    depth: int = Field(2, ge=1, description="Number of message-passing layers.")
    readout: Literal["sum", "mean"] = Field("sum", description="How nodes become a graph.")


class ExplanationJob(Job):
    """Fidelity of one method on a network of molecules (Table 3, Figure 4)."""

    axes: ClassVar[tuple[str, ...]] = ("property", "gnn", "method", "seed")
    headline: ClassVar[str] = "fidelity_plus"

    network: Network = Field(description="The shape of the network that is explained.")
    method: str = Field(description="The row of the table.")
    module: str = Field(description="The registered explainer behind that row.")
    options: dict[str, Any] = Field(default_factory=dict, description="Its options.")
    tried: tuple[dict[str, Any], ...] = Field(
        (),
        description="Further options to choose from, by Fidelity+ less Fidelity- of validation "
        "graphs at one half; none: only its options.",
    )
    seed: int = Field(ge=0, description="Seed of split, weights and explainer.")
    explained: int = Field(1000, ge=1, description="How many graphs are explained, at most.")
    epochs: int = Field(20, ge=1, description="Passes over the training graphs.")
    batch_size: int = Field(256, ge=1, description="Graphs in one step.")
    lr: float = Field(0.01, gt=0, description="Learning rate of Adam.")
    halve_at: int = Field(6, ge=1, description="Halve the rate every so many epochs.")
    property: Literal["qed", "hlm", "rlm", "drd2"] = Field(description="What is predicted.")
    gnn: str = Field(description="The network that is explained, by name.")
    judge: Network = Field(description="The shape of a second network, which only judges.")
    split: Literal["random", "scaffold"] = Field("random", description="How molecules are split.")
    part: Literal["test", "val"] = Field("test", description="Which part is explained.")
    per_class: int = Field(10_000, ge=10, description="Molecules of each class.")
    keep_ratios: tuple[float, ...] = Field(
        (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6), description="The shares of atoms that are kept."
    )
    robust_samples: int = Field(5, ge=1, description="Draws of robust fidelity.")
    repeats: int = Field(1, ge=1, description="Seeds of the explainer, for stability.")
