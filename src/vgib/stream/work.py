"""The one unit of work: a chunk of molecules in, a table of recognitions out.

Local processes and clusters call the same picklable object with the same chunks, so that every row
is the same wherever it was computed.
"""

import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from vgib.chem.batch import Reading, Readings, read
from vgib.chem.mol import MAX_ATOMS, Mixtures
from vgib.data.molecules import packed
from vgib.data.packed import PackedGraphs
from vgib.data.records import MOLBLOCK
from vgib.errors import InputError, VgibError, unknown_name
from vgib.model.card import Card
from vgib.model.ensemble import members, outputs, stability
from vgib.model.guided import AnyRule, choose
from vgib.model.recognition import Rule, Subgraph, as_subgraphs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.masks import sizes_of_ratio
from vgib.stream.schema import ID, LINE, PROBLEM, RATIONALES, REJECTED, SMILES, results_schema
from vgib.train.loop import predict

Array = npt.NDArray[Any]

BATCH = 256
"""Molecules that go through the network at once: few enough that their states stay in the cache."""

STABILITY_SHARE = 0.5
"""The share of the atoms at which members are compared when no share was asked for."""


class Recognized(NamedTuple):
    """What came of a chunk: see :mod:`vgib.stream.schema` for the columns of both tables."""

    results: pa.Table
    rejected: pa.Table


@dataclass(frozen=True)
class Recognize:
    """Recognizes the molecules of a chunk, called with a table and giving two.

    >>> chunk = pa.table({"line": [1, 2], "smiles": ["CC(=O)Oc1ccccc1C(=O)O", "oops"]})
    >>> results, rejected = Recognize("qed", keep_ratio=(0.5,))(chunk)
    >>> results["line"].to_pylist(), rejected["line"].to_pylist()
    ([1], [2])

    Only the settings travel between processes; the model is loaded once in each, at its first
    chunk.

    Args:
        model: The name of a shipped model, or the folder of a saved one.
        n: Rationales at each size; 0 for predictions and atom scores alone, which is fastest.
        keep_ratio: Shares of the atoms to keep; by default what the model's card says, else the
            part that scores one half.
        rule: As for :meth:`vgib.model.recognizer.SubgraphRecognizer.subgraphs`; by default the
            card's.
        mixtures: Whether the largest component of a salt is used, or salts are refused.
        max_atoms: Molecules with more heavy atoms are refused.
        ensemble: Whether the model's further members (other seeds) are asked too: prediction and
            scores are then their means, with spread and stability.
        device: Where to compute.
    """

    model: str | Path
    n: int = 1
    keep_ratio: tuple[float, ...] | None = None
    rule: AnyRule | None = None
    mixtures: Mixtures = "largest"
    max_atoms: int = MAX_ATOMS
    ensemble: bool = True
    device: str = "cpu"

    @property
    def models(self) -> tuple[SubgraphRecognizer, ...]:
        """The model, and its further members.

        Raises:
            InputError: it is none for molecules.
        """
        return _load(self.model, self.ensemble, self.device)

    @property
    def card(self) -> Card:
        """What the model says about itself."""
        return self.models[0].card_

    @property
    def selection(self) -> tuple[tuple[float, ...] | None, AnyRule | None]:
        """The shares and the rule: those asked for, else the model's own."""
        shares, rule = self.card.selection(self.keep_ratio or None, self.rule)
        return (shares,) if isinstance(shares, float) else shares, rule

    def check(self) -> None:
        """Refuses at once what the first chunk would stumble over, and loads the model.

        Raises:
            InputError: a share is none, or the model is none for molecules.
            UnknownNameError: there is no such model or rule.
        """
        for ratio in self.keep_ratio or ():
            sizes_of_ratio([0, 1], ratio)
        rules = (*get_args(Rule), "guided")
        if self.rule is not None and self.rule not in rules:
            raise unknown_name("selection rule", self.rule, rules)
        if self.n < 0:
            raise InputError(f"n is {self.n}; expected a number of parts, or 0 for scores alone")
        assert self.models

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
                return self._failed(chunk, error)
            half = len(chunk) // 2
            halves = self(chunk[:half]), self(chunk[half:])
            return Recognized(*map(pa.concat_tables, zip(*halves, strict=True)))

    def _recognized(self, chunk: pa.Table) -> Recognized:
        sound = _sound(chunk)
        readings = read(_structures(sound), self._reading(sound))
        kept = sound.take(pa.array(readings.kept, type=pa.int64()))
        return Recognized(self._results(kept, readings), _rejected(chunk, sound, readings))

    def _failed(self, chunk: pa.Table, error: Exception) -> Recognized:
        reason = f"the program failed on this molecule ({type(error).__name__}: {error})"
        nothing = self.schema(_carried(chunk)).empty_table()
        return Recognized(nothing, _refusals(chunk, [reason] * len(chunk)))

    def _reading(self, chunk: pa.Table) -> Reading:
        assert self.card.features is not None
        is_molblock = MOLBLOCK in chunk.column_names
        return Reading(
            self.card.features, self.mixtures, self.max_atoms, is_molblock, keep_mols=True
        )

    def schema(self, carried: Iterable[pa.Field] = ()) -> pa.Schema:
        """The columns of the results, with those that are carried through at the end."""
        return results_schema(self.card.task, self.card.outputs, carried)

    def _results(self, kept: pa.Table, readings: Readings) -> pa.Table:
        carried = _carried(kept)
        schema = self.schema(carried)
        if not len(kept):
            return schema.empty_table()
        graphs = packed(readings, str(self.card.features))
        values, scores = self._asked(graphs)
        notes = dict(readings.notes)
        columns: dict[str, Any] = {
            LINE: kept[LINE],
            ID: _optional(kept, ID),
            SMILES: readings.smiles,
            "note": [notes.get(position) for position in readings.kept],
            **self._predictions(values),
            "stability": self._stability(graphs, scores),
            "scores": _lists(graphs.node_ptr.numpy(), scores.mean(0).numpy(), pa.float32()),
            "rationales": _rationales(self._subgraphs(graphs, scores, readings)),
            **{field.name: kept[field.name] for field in carried},
        }
        return pa.table(columns, schema=schema)

    def _asked(self, graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
        """What each member says: outputs ``[members, graphs, outputs]``, scores of the nodes."""
        each = [
            predict(m.network_, graphs, batch_size=BATCH, device=self.device) for m in self.models
        ]
        values = torch.stack([value for value, _ in each]).double()
        return values, torch.stack([score for _, score in each])

    def _predictions(self, values: Tensor) -> dict[str, Any]:
        """Means over the members and their standard deviations."""
        if self.card.task == "classification":
            chances = values.softmax(2)
            chosen = chances.mean(0).argmax(1)
            own = chances[:, torch.arange(len(chosen)), chosen]
            return {
                "prediction": np.asarray(self.card.classes)[chosen.numpy()],
                "probability": own.mean(0).numpy(),
                "spread": self._spread(own),
            }
        if self.card.outputs == 1:
            values = values[:, :, 0]
        return {"prediction": list(values.mean(0).numpy()), "spread": self._spread(values)}

    def _spread(self, values: Tensor) -> list[Any]:
        if len(values) == 1:
            return [None] * values.shape[1]
        return list(values.std(0, correction=0).numpy())

    def _stability(self, graphs: PackedGraphs, scores: Tensor) -> Any:
        """How far the members' own choices agree, at the first of the wanted shares."""
        if len(scores) == 1:
            return pa.nulls(len(graphs), pa.float64())
        shares, rule = self.selection
        share = shares[0] if shares else STABILITY_SHARE
        return stability(self.models, graphs, keep_ratio=share, rule=rule, scores=scores)

    def _subgraphs(
        self, graphs: PackedGraphs, scores: Tensor, readings: Readings
    ) -> list[list[Subgraph]]:
        if self.n == 0:
            return [[] for _ in readings.smiles]
        shares, rule = self.selection
        found = choose(
            graphs,
            partial(outputs, self.models),
            self.n,
            keep_ratio=shares,
            rule=rule,
            classes=self.card.task == "classification",
            scores=scores.mean(0).numpy(),
        )
        return as_subgraphs(graphs, found, readings.mols)


@lru_cache(maxsize=8)
def _load(model: str | Path, ensemble: bool, device: str) -> tuple[SubgraphRecognizer, ...]:
    """Once in each process, also where every job comes with a fresh copy of the settings."""
    if ensemble:
        found = members(model, device=device)
    else:
        found = [SubgraphRecognizer.load(model, device=device)]
    if found[0].card_.features is None:
        raise InputError(f"{model} was not trained on molecules; use it from Python")
    gc.freeze()  # what is loaded by now stays: looking for garbage in it costs a tenth
    return tuple(found)


def _sound(chunk: pa.Table) -> pa.Table:
    """The records that are whole as records."""
    if PROBLEM not in chunk.column_names:
        return chunk
    return chunk.filter(pc.is_null(chunk[PROBLEM]))


def _carried(chunk: pa.Table) -> list[pa.Field]:
    """The columns that go through to the results as they are."""
    names = {LINE, ID, SMILES, MOLBLOCK, PROBLEM}
    return [field for field in chunk.schema if field.name not in names]


def _structures(chunk: pa.Table) -> list[str]:
    column = MOLBLOCK if MOLBLOCK in chunk.column_names else SMILES
    return [text or "" for text in chunk[column].to_pylist()]


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


def _offsets(parts: Iterable[Sequence[Any]]) -> Array:
    return np.cumsum([0, *map(len, parts)])


def _rationales(found: list[list[Subgraph]]) -> pa.ListArray:
    flat = list(chain.from_iterable(found))
    atoms = [subgraph.nodes for subgraph in flat]
    columns = [
        pa.array([subgraph.smiles for subgraph in flat], pa.string()),
        _lists(_offsets(atoms), list(chain.from_iterable(atoms)), pa.int32()),
        pa.array([subgraph.score for subgraph in flat], pa.float64()),
        pa.array([subgraph.keep_ratio for subgraph in flat], pa.float64()),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(RATIONALES.value_type))
    offsets = pa.array(_offsets(found), pa.int32())
    return pa.ListArray.from_arrays(offsets, structs, type=RATIONALES)
