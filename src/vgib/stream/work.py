"""The one unit of work: a chunk of molecules in, a table of recognitions out.

Local processes and clusters call the same picklable object with the same chunks, so that every row
is the same wherever it was computed.
"""

import gc
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from vgib.chem.batch import Reading, Readings, read
from vgib.chem.drugs import structure_of
from vgib.chem.mol import Mixtures
from vgib.chem.standardize import Standard
from vgib.data.molecules import packed
from vgib.data.records import MOLBLOCK
from vgib.errors import InputError, VgibError
from vgib.limits import MAX_ATOMS
from vgib.model.answer import Answer
from vgib.model.card import Card
from vgib.model.known import beside
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.results import Subgraph
from vgib.select.policy import ANY, Selection
from vgib.stream.schema import (
    BESIDE,
    ID,
    LINE,
    PROBLEM,
    REJECTED,
    SECOND,
    SMILES,
    SUBGRAPHS,
    Recognized,
    results_schema,
)

Array = npt.NDArray[Any]

SAME = 1e-5
"""The share of a predicted value by which it may differ between batches and still be the same."""


@dataclass(frozen=True)
class Recognize:
    """Recognizes the molecules of a chunk, called with a table and giving two.

    >>> chunk = pa.table({"line": [1, 2], "smiles": ["CC(=O)Oc1ccccc1C(=O)O", "oops"]})
    >>> results, rejected = Recognize("qed", Selection(0.5))(chunk)
    >>> results["line"].to_pylist(), rejected["line"].to_pylist()
    ([1], [2])

    Only the settings travel between processes; the model is loaded once in each, at its first
    chunk.

    Args:
        model: The name of a shipped model, the folder of a saved one, or a model that is loaded
            already.
        selection: How subgraphs are chosen; what it leaves open is as the model's card says.
        scores_only: Whether no subgraphs are chosen, which is fastest.
        details: Whether signed effects of atoms and parts are computed, and what stands beside the
            prediction: interval, percentile among drugs, alerts, warnings, nearest neighbors.
        mixtures: Whether the largest component of a salt is used, or salts are refused.
        max_atoms: Molecules with more heavy atoms are refused.
        single: Whether the main member of the model is asked alone: faster, but without spread and
            stability.
        device: Where to compute.
        called: What results call the model; by default what ``model`` says.
    """

    model: str | Path | SubgraphRecognizer
    selection: Selection = ANY
    scores_only: bool = False
    details: bool = False
    mixtures: Mixtures = "largest"
    max_atoms: int = MAX_ATOMS
    single: bool = False
    device: str = "cpu"
    called: str | None = None

    @property
    def name(self) -> str | None:
        """What results call the model; ``None`` for one that came loaded and without a name."""
        if self.called is not None or isinstance(self.model, SubgraphRecognizer):
            return self.called
        return str(self.model)

    @property
    def recognizer(self) -> SubgraphRecognizer:
        """The model with its members.

        Raises:
            InputError: it is none for molecules.
        """
        if isinstance(self.model, SubgraphRecognizer):
            return self.model
        return _load(self.model, self.single, self.device)

    @property
    def card(self) -> Card:
        """What the model says about itself."""
        return self.recognizer.card_

    def check(self) -> None:
        """Refuses at once what the first chunk would stumble over, and loads the model.

        Raises:
            InputError: the model is none for molecules.
            UnknownNameError: there is no such model.
        """
        assert self.recognizer

    def __call__(self, chunk: pa.Table) -> Recognized:
        """Recognizes what can be read, and says of the rest why it cannot.

        When the program itself fails on a chunk, its halves are tried, down to the molecule that is
        to blame: that one is refused with the error.

        Raises:
            VgibError: what was asked for is wrong, whatever the molecule.
        """
        try:
            return self._recognized(chunk)
        except VgibError:
            raise
        except Exception as error:
            if len(chunk) < 2:
                told = f"{type(error).__name__}: {error}"
                return self.refuse(chunk, f"the program failed on this molecule ({told})")
            half = len(chunk) // 2
            halves = self(chunk[:half]), self(chunk[half:])
            return Recognized(*map(pa.concat_tables, zip(*halves, strict=True)))

    def _recognized(self, chunk: pa.Table) -> Recognized:
        sound = _sound(chunk)
        readings = read(_structures(sound), self._reading(sound))
        rejected = _rejected(chunk, sound, readings)
        kept = sound.take(pa.array(readings.kept, type=pa.int64()))
        if not len(kept):
            return Recognized(self.schema(carried_fields(kept)).empty_table(), rejected)
        notes = dict(readings.notes)
        told = [notes.get(position) for position in readings.kept]
        return Recognized(self.results(self._answer(readings), kept, told), rejected)

    def refuse(self, chunk: pa.Table, reason: str) -> Recognized:
        """Refuses every record of a chunk for the same reason."""
        nothing = self.schema(carried_fields(chunk)).empty_table()
        return Recognized(nothing, _refusals(chunk, [reason] * len(chunk)))

    def _reading(self, chunk: pa.Table) -> Reading:
        assert self.card.features is not None
        is_molblock = MOLBLOCK in chunk.column_names
        return Reading(
            self.card.features,
            self.mixtures,
            self.max_atoms,
            is_molblock,
            keep_mols=True,
            standard=Standard.named(self.card.standard),
        )

    def schema(self, carried: Iterable[pa.Field] = ()) -> pa.Schema:
        """The columns of the results, with those that are carried through at the end."""
        return results_schema(self.card.task, self.card.outputs, carried)

    def results(self, answer: Answer, records: pa.Table, notes: Sequence[str | None]) -> pa.Table:
        """What is told of molecules that the model has been asked about, a row for each."""
        selection = self.selection.or_else(self.card.selection)
        # Chosen first, by all members at once: their own choices then find most parts predicted.
        found: list[list[Subgraph]] = [[] for _ in range(len(answer.graphs))]
        why_none: Sequence[str | None] = [None] * len(found)
        if not self.scores_only:
            found, why_none = answer.explained(selection)
        ptr = answer.graphs.node_ptr.numpy()
        effects: Any = pa.nulls(len(found), pa.list_(pa.float32()))
        if self.details:
            found = answer.with_effects(found)
            effects = _lists(ptr, answer.effects, pa.float32())
        carried = carried_fields(records)
        columns: dict[str, Any] = {
            LINE: records[LINE],
            ID: _optional(records, ID),
            SMILES: answer.graphs.ids,
            "note": notes,
            **_predictions(answer),
            "stability": _stability(answer, selection, found),
            "scores": _lists(ptr, answer.node_scores, pa.float32()),
            "effects": effects,
            "subgraphs": _subgraphs(found),
            "why_none": why_none,
            **self._beside(answer, notes),
            "model": [self.name] * len(found),
            **{field.name: records[field.name] for field in carried},
        }
        return pa.table(columns, schema=self.schema(carried))

    def _beside(self, answer: Answer, notes: Sequence[str | None]) -> dict[str, Any]:
        """What stands beside each prediction."""
        if not self.details:
            return {name: pa.nulls(len(answer.graphs), kind) for name, kind in BESIDE.items()}
        half = self.card.interval
        mols = answer.mols or answer.graphs.ids or ()
        told = beside(mols, self.recognizer.known_, self.card.largest, notes)
        return {
            "interval": [
                None if half is None else [value - half, value + half] for value in answer.followed
            ],
            "percentile": percentiles(self.recognizer.among_drugs, answer.followed),
            "alerts": [one.alerts for one in told],
            "warnings": [one.warnings for one in told],
            "nearest": [[asdict(each) for each in one.nearest] for one in told],
        }

    def _answer(self, readings: Readings) -> Answer:
        """What the model says of the molecules that were read."""
        graphs = packed(readings, str(self.card.features))
        return self.recognizer.answer(graphs, mols=readings.mols)


def _predictions(answer: Answer) -> dict[str, Any]:
    """The columns of what is predicted; the spread is empty for one member."""
    columns: dict[str, Any] = {"prediction": list(answer.predictions)}
    if answer.probability is not None:
        columns["probability"] = answer.probability
    if answer.classes is not None and len(answer.classes) == 2:
        columns[SECOND] = answer.followed
    columns["statement"] = answer.statements
    spread = [None] * len(answer.graphs)
    return columns | {"spread": spread if answer.members == 1 else list(answer.prediction_spread)}


def percentiles(reference: Array, values: Array) -> Array:
    """The share of sorted reference values that are lower than each value, in percent.

    What differs by less than :data:`SAME` is not lower: the same molecule, alone or in any batch,
    has the same place among molecules that are predicted alike.

    >>> percentiles(np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.5 + 1e-7, 0.5 - 1e-7, 0.6]))
    array([25., 25., 75.])
    """
    lowest = values - SAME * np.maximum(1, np.abs(values))
    found: Array = np.round(100 * np.searchsorted(reference, lowest) / len(reference), 1)
    return found


def _stability(answer: Answer, selection: Selection, found: list[list[Subgraph]]) -> Any:
    """How far the members choose the same atoms; empty for one member, and without a part."""
    if answer.members == 1 or not any(found):
        return pa.nulls(len(answer.graphs), pa.float64())
    stability = answer.agreement(selection).tolist()
    return [one if ranked else None for one, ranked in zip(stability, found, strict=True)]


@lru_cache(maxsize=8)
def _load(model: str | Path, single: bool, device: str) -> SubgraphRecognizer:
    """Once in each process, also where every job comes with a fresh copy of the settings."""
    found = SubgraphRecognizer.load(model, single=single, device=device)
    if found.card_.features is None:
        raise InputError(f"{model} was not trained on molecules; use it from Python")
    gc.freeze()  # what is loaded by now stays: looking for garbage in it costs a tenth
    return found


def _sound(chunk: pa.Table) -> pa.Table:
    """The records that are whole as records."""
    if PROBLEM not in chunk.column_names:
        return chunk
    return chunk.filter(pc.is_null(chunk[PROBLEM]))


def carried_fields(chunk: pa.Table) -> list[pa.Field]:
    """The columns that go through to the results as they are."""
    names = {LINE, ID, SMILES, MOLBLOCK, PROBLEM}
    return [field for field in chunk.schema if field.name not in names]


def _structures(chunk: pa.Table) -> list[str]:
    if MOLBLOCK in chunk.column_names:
        return [text or "" for text in chunk[MOLBLOCK].to_pylist()]
    return [structure_of(text or "") for text in chunk[SMILES].to_pylist()]


def _optional(chunk: pa.Table, name: str) -> Any:
    return chunk[name] if name in chunk.column_names else pa.nulls(len(chunk), pa.string())


def _rejected(chunk: pa.Table, sound: pa.Table, readings: Readings) -> pa.Table:
    """Broken records and refused structures, by line."""
    refused = sound.take(pa.array([at for at, _ in readings.refused], type=pa.int64()))
    tables = [_refusals(refused, [reason for _, reason in readings.refused])]
    if PROBLEM in chunk.column_names:
        broken = chunk.filter(pc.is_valid(chunk[PROBLEM]))
        tables.append(_refusals(broken, broken[PROBLEM]))
    return pa.concat_tables(tables).sort_by(LINE)


def _refusals(part: pa.Table, reasons: Any) -> pa.Table:
    # A mol block has many lines; of an SD record only the name is told.
    texts = part[SMILES] if SMILES in part.column_names else pa.array([""] * len(part))
    columns = {LINE: part[LINE], ID: _optional(part, ID), "text": texts, "reason": reasons}
    return pa.table(columns, schema=REJECTED)


def _lists(offsets: Array, values: Any, kind: pa.DataType) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, kind))


def _subgraphs(found: Sequence[Sequence[Subgraph]]) -> pa.ListArray:
    rows = [
        [
            {
                "smiles": part.smiles,
                "atoms": part.nodes,
                "score": part.score,
                "keep_ratio": part.keep_ratio,
                "value": part.value,
                "effect": part.effect,
            }
            for part in ranked
        ]
        for ranked in found
    ]
    return pa.array(rows, SUBGRAPHS)
