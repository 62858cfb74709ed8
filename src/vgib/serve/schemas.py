"""What is asked and answered, as the documentation of the API shows it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from vgib.data.records import Format
from vgib.model.known import Neighbor
from vgib.select.policy import BY_HELP, RULE_HELP, By, Rule
from vgib.serve.limits import SMILES_LENGTH

MOST_ATOMS = 10_000
"""Numbers of atoms end here, and so do lists with a value for each."""

PREDICTION = "prediction"
"""What a ledger compares unless a column is named."""

Smiles = Annotated[str, Field(max_length=SMILES_LENGTH, examples=["CC(=O)Nc1ccc(O)cc1"])]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Atom = Annotated[int, Field(ge=0, le=MOST_ATOMS)]

MODEL = Field(None, max_length=100, description="A name of /models; when not given, the default.")
RULE = Field(None, description=RULE_HELP)
BY = Field(None, description=BY_HELP)


class Asked(BaseModel):
    """A request; a field that is not known is refused.

    The first mistake is enough: to describe millions of them would take a minute.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _with_one_unknown_field(cls, asked: Any) -> Any:
        if not isinstance(asked, dict):
            return asked
        fields = cls.model_fields
        known = {name: value for name, value in asked.items() if name in fields}
        first = next((name for name in asked if name not in fields), None)
        return known if first is None else known | {first: asked[first]}


class Choosing(Asked):
    """A request that says which parts are allowed, and what decides between them."""

    rule: Rule | None = RULE
    by: By | None = BY


class RecognizeRequest(Choosing):
    """Molecules, and how their parts are to be chosen."""

    # Each may be too long: that one is refused, and not the request.
    molecules: Annotated[list[str], FailFast()] = Field(
        min_length=1, examples=[["CC(=O)Nc1ccc(O)cc1", "CCO"]]
    )
    model: str | None = MODEL
    n: int = Field(1, ge=0, le=10, description="How many parts; 0 for scores alone.")
    details: bool = Field(
        False, description="Effects, interval, percentile, alerts, warnings and neighbors too."
    )
    keep_ratio: list[Share] | None = Field(
        None,
        min_length=1,
        max_length=40,
        description="Shares of the atoms to keep; without it, the smallest sufficient part.",
        examples=[[0.3, 0.5]],
    )


class TableQuery(BaseModel):
    """What is asked about a file, beside the file itself."""

    model: str | None = Field(None, max_length=100)
    keep_ratio: float | None = Field(None, gt=0, le=1)
    rule: str | None = Field(None, max_length=100, description=RULE_HELP)
    by: str | None = Field(None, max_length=100, description=BY_HELP)
    smiles_column: str | None = Field(None, max_length=200)
    property: str = Field(
        PREDICTION, max_length=200, description="Of the ledger: prediction, or a column."
    )
    format: Format = "csv"
    details: bool = Field(
        False, description="Effects, interval, percentile, alerts and neighbors too."
    )


class InspectRequest(Choosing):
    """One molecule, of which everything is wanted."""

    molecule: Smiles
    model: str | None = MODEL
    n: int = Field(3, ge=1, le=5, description="Parts at each size.")


class ExplainRequest(InspectRequest):
    """One molecule, and the method that is to score its atoms."""

    method: str = Field(max_length=100, description="A name of /methods.", examples=["occlusion"])


class WhatIfRequest(Asked):
    """One molecule, and the atoms of it that are kept."""

    molecule: Smiles
    atoms: list[Atom] = Field(min_length=1, max_length=500, examples=[[4, 5, 6, 7, 8, 9, 10]])
    model: str | None = MODEL


class DrawRequest(Asked):
    """One molecule, and what is to be seen of it."""

    molecule: Smiles
    scores: list[Score] | None = Field(None, max_length=MOST_ATOMS)
    effects: list[Finite] | None = Field(
        None, max_length=MOST_ATOMS, description="Signed effects, in the place of scores."
    )
    unit: str = Field("", max_length=100, description="Of the effects.")
    atoms: list[Atom] | None = Field(None, max_length=500, description="The chosen atoms.")
    width: int = Field(420, ge=80, le=2000)
    height: int = Field(320, ge=80, le=2000)
    legend: bool = True
    transparent: bool = False
    format: Literal["svg", "png"] = "svg"


class SubgraphAnswer(BaseModel):
    """A recognized part."""

    smiles: str | None = Field(description="The fragment, with * where bonds were cut.")
    atoms: list[int] = Field(description="Numbers in the molecule, from 0.")
    score: float = Field(description="The mean score of its atoms.")
    keep_ratio: float = Field(description="Its share of the atoms.")
    value: float | None = Field(
        None, description="Predicted from it alone; of classes the chance of the predicted one."
    )
    effect: float | None = Field(None, description="By how much it raises the prediction.")


class MoleculeAnswer(BaseModel):
    """What is recognized in one molecule."""

    smiles: str = Field(description="With the atoms in the order of scores and subgraphs.")
    note: str | None = Field(description="What was changed before use.")
    prediction: float | int | list[float]
    statement: str = Field(description="The prediction in words.", examples=["mutagenic 98.7 %"])
    stability: float | None = Field(
        description="How far the members choose the same atoms, 0 to 1; null without a part."
    )
    scores: list[float] = Field(description="The mean over the members.")
    effects: list[float] | None = Field(description="By how much each atom raises it.")
    subgraphs: list[SubgraphAnswer]
    why_none: str | None = Field(description="Why no part suffices, where none does.")
    interval: list[float] | None = Field(description="Nine of ten measured values: where.")
    percentile: float | None = Field(description="Among 217 known drugs.")
    alerts: list[str] | None
    warnings: list[str] | None
    nearest: list[Neighbor] | None = Field(description="The most similar training molecules.")
    model: str | None = Field(description="The model that was asked.")


class RowAnswer(MoleculeAnswer):
    """What is recognized in one of many; the same columns as ``vgib recognize`` writes.

    Effects and what stands beside a prediction are null unless details are asked for.
    """

    model_config = ConfigDict(extra="allow")

    line: int
    id: str | None = None
    probability: float | None = Field(None, description="Of the predicted class.")
    second_class_probability: float | None = Field(
        None, description="Of two classes that of the second, by which a table can be ranked."
    )
    spread: float | list[float] | None = Field(
        None, description="Standard deviation over the members; of several values one each."
    )


class PieceAnswer(BaseModel):
    """A ring system, functional group or chain of a molecule."""

    atoms: list[int]
    smiles: str
    name: str = Field(description="Of a functional group; else empty.")
    effect: float


class RejectedAnswer(BaseModel):
    """A molecule that cannot be used, and why."""

    line: int
    id: str | None = None
    text: str | None = None
    reason: str


class RecognizeAnswer(BaseModel):
    """One row for each molecule that can be used, in order."""

    model: str
    results: list[RowAnswer]
    rejected: list[RejectedAnswer]


class PartAnswer(BaseModel):
    """A part, and what is predicted from it alone."""

    atoms: tuple[int, ...] = Field(description="Numbers in the molecule, from 0.")
    smiles: str = Field(description="The fragment, with * where bonds were cut.")
    score: float = Field(description="The mean score of its atoms.")
    keep_ratio: float = Field(description="Its share of the atoms.")
    value: float = Field(description="The members' mean prediction.")
    spread: float = Field(description="Its standard deviation over the members.")


class SizeAnswer(BaseModel):
    """The best parts of one size beside random ones."""

    atoms: int
    parts: tuple[PartAnswer, ...] = Field(description="Ranked, best first.")
    random: tuple[float, float, float] = Field(
        description="5 %, 50 % and 95 % of what is predicted from random parts of this size."
    )
    stability: float | None = Field(
        description="How far the members choose the same atoms at this size; null for one member."
    )


class ExplainAnswer(BaseModel):
    """Atom scores by one method, and the parts that follow from them."""

    model: str
    method: str
    smiles: str
    scores: list[float]
    sizes: list[SizeAnswer]


class Drawing(BaseModel):
    """A molecule as lines and places; see ``vgib.chem.sketch``."""

    model_config = ConfigDict(extra="allow")


class InspectAnswer(MoleculeAnswer):
    """Everything that the page shows of one molecule: what /recognize answers of it, and more."""

    quantity: str = Field(description="What value, members and the parts' values are.")
    value: float = Field(description="The mean over the members.")
    spread: float = Field(description="The standard deviation over the members.")
    members: list[float]
    effect_unit: str = Field(description="Of the effects.", examples=["log-odds of mutagenic"])
    pieces: list[PieceAnswer] = Field(description="Rings, groups and chains, with their effects.")
    tolerance: float = Field(description="How far a sufficient part may be off.")
    sizes: list[SizeAnswer]
    sketch: Drawing
    scale: list[str] = Field(description="The colors of evenly spaced scores from 0 to 1.")
    signed_scale: list[str] = Field(description="The colors of effects, lowest to highest.")


class KeptAnswer(BaseModel):
    """What is predicted when some atoms of a molecule are taken away."""

    value: float = Field(description="The mean over the members.")
    spread: float = Field(description="The standard deviation over the members.")
    members: list[float] = Field(description="The prediction of each.")
    smiles: str = Field(description="The fragment; empty when the atoms are no molecule.")
    reason: str | None = Field(description="Why the value is not that of a molecule, if so.")


class WhatIfAnswer(KeptAnswer):
    """The prediction of the part that is kept, and what was asked."""

    model: str
    atoms: list[int]
    quantity: str


class ModelAnswer(BaseModel):
    """What a model says about itself."""

    name: str
    summary: str
    task: str
    unit: str
    license: str
    classes: list[int] | None
    class_names: list[str] | None = Field(description="What the classes are called, in order.")
    members: int
    headline: str
    caution: str = ""
    data: dict[str, Any]
    metrics: dict[str, Any]


class ModelsAnswer(BaseModel):
    """All models."""

    models: list[ModelAnswer]


class MethodAnswer(BaseModel):
    """A method of explanation."""

    name: str
    about: str
    learns: bool = Field(description="Whether it learns from molecules at first use, in seconds.")


class MethodsAnswer(BaseModel):
    """The methods that /explain knows."""

    methods: list[MethodAnswer]


class HealthAnswer(BaseModel):
    """That the service is there."""

    status: Literal["ok"]
    version: str
    models: list[str]
    default: str = Field(description="The model that is taken when none is named.")
    editor: bool = Field(description="Whether molecules can be drawn on the page.")
    mean_batch: float = Field(description="Requests in a batch, over the last thousand batches.")
    limits: dict[str, float]


class Fault(BaseModel):
    """What went wrong, in one sentence."""

    kind: str
    message: str


class ErrorAnswer(BaseModel):
    """The answer to every request that cannot be met."""

    error: Fault
