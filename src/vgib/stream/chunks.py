"""A source of molecules, of whatever kind and length, as a stream of chunks to recognize."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import pyarrow as pa

from vgib.data.headers import SAMPLE, Column, id_column, named_column, structure_column
from vgib.data.records import MOLBLOCK, Format, Record, Source, Table, open_table
from vgib.limits import PLAIN, FileReading
from vgib.stream.schema import ID, LINE, PROBLEM, SMILES, check_carried, is_result

log = logging.getLogger(__name__)

SIZE = 1024
"""Molecules in a chunk: a second or so of work, which is what a kill or a crash can cost."""


PART = 8 * SIZE
"""Molecules in a part: two or three seconds of work, which is what actors may wait for the last."""


@dataclass(frozen=True)
class SourceReading:
    """How molecules are read.

    Attributes:
        smiles_column: The column of structures; by default found by its name, else by its content.
        names: The column of names; by default found by its name.
        carry: Other columns that the results shall have as well, as text; by default all but those
            that are called like a result, of SD files the tags of the first records. A cluster
            carries none by default: the files of a folder may differ in theirs.
        format: Of what has no telling name; ``.smi`` by default.
        size: The number of records in a chunk.
        how: The encoding, and the limits of what is read.
        needed: Columns that must be there, and are carried too.
        part: The number of records that a cluster hands out at once; a multiple of ``size``, so
            that the chunks, and with them the results, are those of one machine to the last bit.
    """

    smiles_column: Column | None = None
    names: Column | None = None
    carry: tuple[Column, ...] | None = None
    format: Format | None = None
    size: int = SIZE
    how: FileReading = PLAIN
    needed: tuple[Column, ...] = ()
    part: int = PART


AS_IT_COMES = SourceReading()
"""The columns that are found, in chunks of the usual size."""


class Chunk(NamedTuple):
    """Some records, and how much of the source has been read with them (``None``: unknown)."""

    records: pa.Table
    share: float | None


def iter_chunks(source: Source, reading: SourceReading = AS_IT_COMES) -> Iterator[Chunk]:
    """The records of a source as tables, as :class:`~vgib.stream.work.Recognize` takes them.

    Args:
        source: ``.smi``, ``.csv``, ``.tsv``, ``.xlsx``, ``.sdf``, ``.mol`` or ``.parquet``, gzipped
            or not; an open binary file; or lines.
        reading: Which columns, and how many records at once.
    """
    with open_table(source, format=reading.format, how=reading.how) as table:
        structure, records = structure_column(table, reading.smiles_column)
        name = id_column(table, reading.names)
        carry: Sequence[Column] | None = reading.carry
        if carry is None:
            sample = list(islice(records, SAMPLE if table.format == "sdf" else 0))
            records = chain(sample, records)
            carry = _others(table, sample, {structure, name})
        wanted = (*carry, *reading.needed)
        others = list(dict.fromkeys(named_column(table, column) for column in wanted))
        check_carried(others)
        while batch := list(islice(records, reading.size)):
            yield Chunk(table_of(batch, structure, name, others), table.share())


def _others(table: Table, sample: list[Record], used: set[str | None]) -> list[str]:
    """The columns that hold neither structures nor names nor something called like a result."""
    tags = dict.fromkeys(tag for record in sample for tag in record.fields)
    there = [column for column in table.columns or tags if column not in {*used, MOLBLOCK}]
    if taken := [column for column in there if is_result(column)]:
        log.warning(
            "%s: not carried along, since results are called so too: %s",
            table.name,
            ", ".join(taken),
        )
    return [column for column in there if not is_result(column)]


def table_of(
    batch: list[Record], structure: str, name: str | None = None, others: Sequence[str] = ()
) -> pa.Table:
    """Records as a table; one that holds bytes that are no text has a problem that says so."""
    try:
        return _packed(batch, structure, name, others)
    except UnicodeEncodeError:  # what a program or the command line gave need not be text
        return _packed(list(map(_as_text, batch)), structure, name, others)


def _as_text(record: Record) -> Record:
    """The same record; with a question mark and a problem for bytes that no letter has."""
    fields = {key: text.encode(errors="replace").decode() for key, text in record.fields.items()}
    if fields == record.fields:
        return record
    problem = record.problem or "holds bytes that are no text; write it again as UTF-8"
    return Record(record.line, fields, problem)


def _packed(
    batch: list[Record], structure: str, name: str | None, others: Sequence[str]
) -> pa.Table:
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
