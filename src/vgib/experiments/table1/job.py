"""The jobs of Table 1, and what all models of a molecular property have in common."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from vgib.experiments.engine.jobs import Job


class MoleculeJob(Job):
    """A model of a molecular property, trained anew (the first experiment, Sec. 5.1)."""

    axes: ClassVar[tuple[str, ...]] = ("version", "property", "method", "seed")
    headline: ClassVar[str] = "test_error"

    version: Literal["list", "full", "scaffold"] = Field(
        description="Trained on the published list, on as many molecules of all of ZINC250K, or on "
        "the list without the scaffolds of the test molecules."
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
    split: Literal["random", "file", "scaffold"] = Field(
        "random",
        description="85/5/10: shuffled, in the order of the file, or scaffold by scaffold.",
    )
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

    @property
    def by(self) -> Literal["scores", "prediction"]:
        """What decides between parts that cut no ring."""
        return "prediction" if self.rule == "guided" else "scores"
