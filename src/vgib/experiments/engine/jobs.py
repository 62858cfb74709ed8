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
    normalize: bool = Field(False, description="Batch norm after the last layer.")
    epochs: int = Field(100, ge=1, description="Passes over the training graphs.")
    batch_size: int = Field(128, ge=1, description="Graphs in one step.")
    lr: float = Field(0.01, gt=0, description="Learning rate of Adam.")
    halve_at: int = Field(50, ge=1, description="Halve the rate every so many epochs.")
    average: float | None = Field(
        None, gt=0, lt=1, description="Decay of the running mean of the weights; None: no mean."
    )
    nested: bool = Field(
        False, description="Judge on a training fold; the test fold is seen by nobody."
    )
    seed: int = Field(0, ge=0, description="Seed of weights, order, noise and dropout.")


class MoleculeJob(Job):
    """A model of a molecular property, trained anew (the first experiment, Sec. 5.1)."""

    axes: ClassVar[tuple[str, ...]] = ("version", "property", "method", "seed")
    headline: ClassVar[str] = "test_error"

    version: Literal["list", "full"] = Field(
        description="Trained on the published list, or on as many molecules of all of ZINC250K."
    )
    property: Literal["qed", "hlm", "mlm", "rlm"] = Field(description="What is predicted.")
    method: str = Field(description="The row of the table.")
    seed: int = Field(0, ge=0, description="Seed of split, weights, order and noise.")
    module: str = Field(description="The registered bottleneck behind that row.")
    encoder: str = Field("gcn", description="gcn, sage, gin or gat.")
    preset: str = Field("paper", description="Where settings come from that are not given.")
    features: Literal["element", "rich"] = Field("element", description="Words for atoms.")
    epochs: int = Field(ge=1, description="Passes over the training molecules.")
    options: dict[str, Any] = Field(
        default_factory=dict, description="Other settings of network, training and bottleneck."
    )
    connectivity: float | None = Field(
        None, ge=0, description="Weight of the connectivity term where the preset has one."
    )
    fragments: int = Field(
        0, ge=0, description="Random fragments of each training molecule that are trained on too."
    )
    fragment_shares: tuple[float, float] = Field(
        (0.2, 0.9), description="The least and the largest share of the atoms of a fragment."
    )
    whole: bool = Field(
        True, description="Train on the molecules beside their fragments, not on fragments alone."
    )
    split: Literal["random", "file"] = Field("random", description="85/5/10, shuffled or not.")
    molecules: int | None = Field(
        None, ge=10, description="Use no more than so many molecules of the list."
    )
    trained: int | None = Field(
        None, ge=1, description="Train on no more than so many of the training molecules."
    )
    tested: int = Field(300, ge=1, description="Held-out molecules that are judged.")


class InterpretationJob(MoleculeJob):
    """How far the property of the found subgraph is from the molecule's (Table 1)."""

    keep: float | None = Field(
        None, gt=0, le=1, description="The share that is kept; None: what scores one half."
    )
    rule: Literal["ring_intact", "guided"] = Field(
        "ring_intact", description="How whole rings are selected: by scores, or by the predictor."
    )
    keeps: list[float] = Field(
        default=[0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        description="The shares of the curve of divergence against size.",
    )


class DynamicsJob(MoleculeJob):
    """How training goes, step by step, and how long it takes (Table 2, Figure 1)."""

    headline: ClassVar[str] = "steps"

    every: int = Field(0, ge=0, description="Record every so many steps; 0: only the time.")


class NoiseJob(MoleculeJob):
    """Noise in the found subgraph against noise in as many other nodes (Figure 2b)."""

    keep: float = Field(0.5, gt=0, lt=1, description="The share of nodes that is the subgraph.")
    draws: int = Field(8, ge=1, description="How often noise is drawn for each molecule.")
    moments: Literal["graph", "population"] = Field(
        "graph", description="Whose mean and spread the noise has: each graph's own, or everyone's."
    )


class GalleryJob(InterpretationJob):
    """A few held-out molecules with the subgraph that is found in each (Figure 3)."""


class Network(Settings):
    """The shape of a network that is to be explained."""

    encoder: str = Field("gcn", description="gcn, sage, gin or gat.")
    hidden: int = Field(16, ge=1, description="Channels of each layer and of the head.")
    depth: int = Field(2, ge=1, description="Number of message-passing layers.")
    readout: Literal["sum", "mean"] = Field("sum", description="How nodes become a graph.")


class ExplainerJob(Job):
    """One method that explains one trained network."""

    network: Network = Field(description="The shape of the network that is explained.")
    method: str = Field(description="The row of the table.")
    module: str = Field(description="The registered explainer behind that row.")
    options: dict[str, Any] = Field(default_factory=dict, description="Its options.")
    seed: int = Field(ge=0, description="Seed of split, weights and explainer.")
    explained: int = Field(1000, ge=1, description="How many graphs are explained, at most.")
    epochs: int = Field(20, ge=1, description="Passes over the training graphs.")
    batch_size: int = Field(256, ge=1, description="Graphs in one step.")
    lr: float = Field(0.01, gt=0, description="Learning rate of Adam.")
    halve_at: int = Field(6, ge=1, description="Halve the rate every so many epochs.")


class ExplanationJob(ExplainerJob):
    """Fidelity of one method on a network of molecules (Table 3, Figure 4)."""

    axes: ClassVar[tuple[str, ...]] = ("property", "gnn", "method", "seed")
    headline: ClassVar[str] = "fidelity_plus"

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


class GroundTruthJob(ExplainerJob):
    """One method against explanations that are known."""

    axes: ClassVar[tuple[str, ...]] = ("dataset", "method", "seed")
    headline: ClassVar[str] = "node_auc"

    dataset: str = Field(description="A dataset whose explanations are known.")


JOBS: dict[str, type[Job]] = {
    "classification": ClassificationJob,
    "explanation": ExplanationJob,
    "ground_truth": GroundTruthJob,
    "interpretation": InterpretationJob,
    "dynamics": DynamicsJob,
    "noise": NoiseJob,
    "gallery": GalleryJob,
}
"""The kind of job of each task."""
