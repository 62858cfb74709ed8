"""The columns of recognized and of refused molecules, in one place.

A chunk that is to be recognized has the columns ``line`` and ``smiles`` (or ``mol block``), may
have ``id`` and ``problem`` (why a record is broken as a record), and carries all its other columns
through to the results.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from vgib.errors import InputError

LINE, ID, SMILES, PROBLEM = "line", "id", "smiles", "problem"

SECOND = "second_class_probability"
"""Of two classes: what effects, percentile and ledger are about, and what a list is ranked by."""

SUBGRAPHS = pa.list_(
    pa.struct(
        {"smiles": pa.string(), "atoms": pa.list_(pa.int32())}
        | dict.fromkeys(("score", "keep_ratio", "value", "effect"), pa.float64())
    )
)

NEAREST = pa.list_(
    pa.struct({"similarity": pa.float64(), "measured": pa.float64(), "smiles": pa.string()})
)
BESIDE: dict[str, Any] = {
    "interval": pa.list_(pa.float64()),
    "percentile": pa.float64(),
    "alerts": pa.list_(pa.string()),
    "warnings": pa.list_(pa.string()),
    "nearest": NEAREST,
}
"""What stands beside a prediction, where details are asked for."""

ABOUT = {
    LINE: "the line of the source on which the record starts, from 1",
    ID: "the name of the molecule in the source, where it has one",
    SMILES: "the structure, with its atoms in the order of scores and subgraphs",
    "note": "what was changed before use, such as a salt that was left out",
    "prediction": "the predicted value, the number of the predicted class, or a list of values",
    "probability": "of classes only: the chance that the model gives to the predicted class",
    SECOND: "of two classes only: the chance that the model gives to the second, whichever is "
    "predicted; it is what effects, percentile and ledger are about, and can be ranked by",
    "statement": "the prediction in words: the class with its probability, or value and unit",
    "spread": "the standard deviation of the prediction over the members of an ensemble",
    "stability": "how far the members choose the same atoms, from 0 to 1; empty for a single model "
    "and where there is no part",
    "scores": "a number in [0, 1] for each atom",
    "effects": "by how much each atom raises the prediction: in its unit, or in log-odds of the "
    "second class; empty where they were not asked for",
    "interval": "where nine of ten measured values of held-out molecules lay: low and high",
    "percentile": "the share of 217 known drugs, in percent, with a lower predicted value, or of "
    "two classes with a lower probability of the second",
    "alerts": "structural alerts, each with its list (brenk, pains, nih)",
    "warnings": "why the model may not know such a molecule",
    "nearest": "the most similar training molecules: similarity, measured value, structure",
    "subgraphs": "the recognized parts, best first: the fragment's SMILES with * where bonds were "
    "cut, its atoms in the parent from 0, their mean score, their share of all, what is predicted "
    "from the part alone (of classes the probability of the predicted one), and its effect",
    "why_none": "why no part suffices, where none does; one that is told has the largest effect",
    "model": "the model that was asked: its name or its folder, as it was given",
}
"""What each column holds; the Parquet file carries these sentences along."""

REJECTED = pa.schema(
    [
        pa.field(LINE, pa.int64()),
        pa.field(ID, pa.string()),
        pa.field("text", pa.string()),
        pa.field("reason", pa.string()),
    ]
)


class Recognized(NamedTuple):
    """What came of some records: the molecules with a result, and the records without one."""

    results: pa.Table
    rejected: pa.Table


def results_schema(task: str, outputs: int, carried: Iterable[pa.Field] = ()) -> pa.Schema:
    """The columns of the results of a model.

    Raises:
        InputError: a column that is to be carried through has the name of a result.
    """
    kinds: dict[str, Any] = {LINE: pa.int64(), ID: pa.string(), SMILES: pa.string()}
    kinds["note"] = pa.string()
    if task == "classification":
        kinds |= {"prediction": pa.int64(), "probability": pa.float64()}
        kinds |= {SECOND: pa.float64()} if outputs == 2 else {}
    else:
        kinds["prediction"] = pa.float64() if outputs == 1 else pa.list_(pa.float64())
    kinds["statement"] = pa.string()
    several = task != "classification" and outputs > 1
    kinds |= {"spread": pa.list_(pa.float64()) if several else pa.float64()}
    kinds["stability"] = pa.float64()
    kinds |= {"scores": pa.list_(pa.float32()), "effects": pa.list_(pa.float32())}
    kinds |= {"subgraphs": SUBGRAPHS, "why_none": pa.string()} | BESIDE
    kinds["model"] = pa.string()
    fields = [pa.field(name, kind, metadata={"about": ABOUT[name]}) for name, kind in kinds.items()]
    others = list(carried)
    check_carried(field.name for field in others)
    return pa.schema(fields + others)


def is_result(name: str) -> bool:
    """Whether a column would be taken for a result."""
    return name in ABOUT or name == PROBLEM


def check_carried(names: Iterable[str]) -> None:
    """Refuses to carry a column through that would be taken for a result."""
    for name in names:
        if is_result(name):
            raise InputError(
                f"the column {name!r} has the name of a result; rename it, or leave it out"
            )
