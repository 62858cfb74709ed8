"""A source of molecules, of whatever kind and length, as a stream of chunks to recognize."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from vgib.data.headers import Column, id_column, named_column, structure_column
from vgib.data.records import MOLBLOCK, Format, Record, Source, open_table
from vgib.limits import PLAIN, FileReading
from vgib.stream.schema import ID, LINE, PROBLEM, SMILES, check_carried

SIZE = 1024
"""Molecules in a chunk: a second or so of work, which is what a kill or a crash can cost."""


class Chunk(NamedTuple):
    """Some records, and how much of the source has been read with them (``None``: unknown)."""

    records: pa.Table
    share: float | None


def iter_chunks(
    source: Source,
    *,
    smiles_column: Column | None = None,
    names: Column | None = None,
    carry: Sequence[Column] = (),
    format: Format | None = None,
    how: FileReading = PLAIN,
    size: int = SIZE,
) -> Iterator[Chunk]:
    """The records of a source as tables, as :class:`~vgib.stream.work.Recognize` takes them.

    Args:
        source: ``.smi``, ``.csv``, ``.tsv``, ``.sdf`` or ``.parquet``, gzipped or not; an open
            binary file; or lines.
        smiles_column: By default found by its name, else by its content.
        names: The column of names; by default found by its name.
        carry: Other columns that the results shall have as well, as text.
        format: Of what has no telling name; ``.smi`` by default.
        how: The encoding, and the limits of what is read.
        size: The number of records in a chunk.
    """
    with open_table(source, format=format, how=how) as table:
        structure, records = structure_column(table, smiles_column)
        name = id_column(table, names)
        others = [named_column(table, column) for column in carry]
        check_carried(others)
        while batch := list(islice(records, size)):
            yield Chunk(_table(batch, structure, name, others), table.share())


def _table(batch: list[Record], structure: str, name: str | None, others: list[str]) -> pa.Table:
    def cells(column: str | None) -> pa.Array:
        found = [record.fields.get(column) if column else None for record in batch]
        return pa.array(found, pa.string())

    columns = {
        LINE: pa.array([record.line for record in batch], pa.int64()),
        MOLBLOCK if structure == MOLBLOCK else SMILES: cells(structure),
        ID: cells(name),
        PROBLEM: pa.array([record.problem for record in batch], pa.string()),
    }
    return pa.table(columns | {column: cells(column) for column in others})
