"""Recognized molecules as files: CSV, JSON lines, Parquet or SDF, each whole or not there."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vgib.chem.draw import draw
from vgib.chem.sdf import SdWriter
from vgib.data.files import check_name, ensure_writable, replacing, unwritable
from vgib.errors import InputError, unknown_name
from vgib.model.results import DECIMALS, DIGITS, rounded
from vgib.stream.schema import BESIDE, Recognized

Write = Callable[[pa.Table], None]
"""Takes tables of results, one after the other."""

Begun = Callable[[Path], None]
"""Is told of a file that is being written and has not got its name yet."""

TOLD = ("score", "keep_ratio", "value", "effect")
"""The numbers that are told of a part."""

DRAWN = ["line", "id", "smiles", "scores", "effects", "subgraphs"]
"""What a picture is made of."""

PICTURE = (600, 420)
"""Width and height of a picture, with room for a legend that names the unit of effects."""

LONGEST_NAME = 60
"""Letters of a molecule's name in the name of its picture."""

SUFFIXES = (".csv", ".jsonl", ".parquet", ".sdf", ".html")


def check_outputs(paths: Sequence[Path]) -> None:
    """Refuses at once what could not be written in the end.

    Raises:
        InputError: an ending is unknown, two outputs are the same file, one is a pipe, or its name
            is no text.
        UnwritableError: a folder cannot be written to, or a name is too long.
    """
    for number, path in enumerate(paths):
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(f"{str(path)!r} must end in {', '.join(SUFFIXES)}")
        check_name(path)
        if path in paths[:number]:
            raise InputError(f"{str(path)!r} was asked for twice")
        try:
            is_other = path.exists() and not path.is_file()
        except OSError as error:  # of a name that is too long
            raise unwritable(path, error) from error
        if is_other:
            raise InputError(f"{str(path)!r} is no file that can be replaced; name another one")
        ensure_writable(path.parent)


@contextmanager
def open_output(
    path: Path, schema: pa.Schema, *, plain: bool = False, begun: Begun = lambda unfinished: None
) -> Iterator[Write]:
    """A file of results that gets its name once the block ends without an error."""
    opened: dict[str, Callable[[Path, pa.Schema], Any]] = {
        ".csv": partial(_text, form=partial(csv_of, plain=plain)),
        ".jsonl": partial(_text, form=json_of),
        ".parquet": _parquet,
        ".sdf": _sdf,
    }
    with replacing(path) as temporary:
        begun(temporary)
        with opened[path.suffix.lower()](temporary, schema) as write:
            yield write


@contextmanager
def standard_output(as_json: bool, *, plain: bool = False) -> Iterator[Write]:
    """Results on standard output as they come, as CSV or JSON lines."""
    yield _writer(sys.stdout, json_of if as_json else partial(csv_of, plain=plain))


Format = Callable[[pa.Table, bool], str]
"""A table as text; the second argument tells whether it is the first."""


@contextmanager
def _text(path: Path, schema: pa.Schema, *, form: Format) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield _writer(file, form)


def _writer(file: IO[str], form: Format) -> Write:
    is_first = True

    def write(results: pa.Table) -> None:
        nonlocal is_first
        file.write(form(results, is_first))
        is_first = False

    return write


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield writer.write_table


@contextmanager
def _sdf(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file, SdWriter(file) as writer:

        def write(results: pa.Table) -> None:
            for row in results.to_pylist():
                writer.write(row["smiles"], row["id"] or "", row["scores"], _properties(row))

        yield write


def _properties(row: dict[str, Any]) -> dict[str, Any]:
    """What an SD record tells of the whole molecule: one value for each tag."""
    left_out = ("id", "scores", "effects", "subgraphs", *BESIDE)
    plain = {key: value for key, value in row.items() if key not in left_out}
    plain |= {key: "; ".join(row[key]) for key in ("alerts", "warnings") if row[key]}
    plain["nearest"] = _neighbors(row["nearest"] or None)
    if row["interval"]:
        plain["interval"] = " ".join(f"{end:.{DIGITS}g}" for end in row["interval"])
    plain["percentile"] = row["percentile"]
    if row["effects"]:
        plain["atom_effects"] = " ".join(f"{round(each, DECIMALS)}" for each in row["effects"])
    for rank, part in enumerate(row["subgraphs"], 1):
        plain[f"subgraph_{rank}"] = part["smiles"]
        plain[f"subgraph_{rank}_atoms"] = " ".join(map(str, part["atoms"]))
        for name in TOLD:
            if part[name] is not None:
                plain[f"subgraph_{rank}_{name}"] = round(part[name], DECIMALS)
    return {key: value for key, value in plain.items() if value is not None}


def csv_of(results: pa.Table, with_header: bool = True, *, plain: bool = False) -> str:
    """A row for each subgraph: what is known of the molecule, then rank and part.

    Molecules without subgraphs have one row. Lists are written with blanks between their items.
    Text that a spreadsheet would take for a formula has a ``'`` before it, unless ``plain``.
    """
    if not len(results):
        return ""  # the header comes with the first row
    table = results.combine_chunks()
    lists = table["subgraphs"].combine_chunks()
    parts, counts = lists.flatten(), lists.value_lengths().to_numpy()
    rows = np.maximum(counts, 1)  # of each molecule, one row at least
    parent = np.repeat(np.arange(len(table)), rows)
    rank = np.arange(len(parent)) - np.repeat(np.cumsum(rows) - rows, rows)
    first = np.cumsum(counts) - counts
    place = pa.array(first[parent] + rank, mask=counts[parent] == 0)
    table, parts = table.take(pa.array(parent)), parts.take(place)
    told: dict[str, Any] = {
        "rank": pa.array(rank + 1, mask=counts[parent] == 0),
        "subgraph": pc.struct_field(parts, "smiles"),
        "atoms": _joined(pc.struct_field(parts, "atoms")),
    }
    told |= {name: pc.round(pc.struct_field(parts, name), DECIMALS) for name in TOLD}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name == "subgraphs":
            columns |= told
        else:
            cells = table[name].combine_chunks()
            columns[name] = _plain(cells) if pa.types.is_list(cells.type) else cells
    return _csv(pa.table(columns), with_header, plain)


def _csv(table: pa.Table, with_header: bool, plain: bool = False) -> str:
    """Cells in quotes only where they need them; numbers as everywhere."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if with_header:
        writer.writerow(table.column_names)
    writer.writerows(zip(*(_cells(column, plain) for column in table.columns), strict=True))
    return file.getvalue()


def _cells(column: pa.ChunkedArray, plain: bool) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return ["" if value is None else f"{value:.{DIGITS}g}" for value in cells]
    if pa.types.is_string(column.type) and not plain:
        return [cell and no_formula(cell) for cell in cells]
    return cells


def _plain(lists: pa.ListArray) -> Any:
    """A list as one cell: numbers with blanks between them, sentences and neighbors by ``;``."""
    kind = lists.type.value_type
    if pa.types.is_string(kind):
        return pc.binary_join(lists, "; ")
    if pa.types.is_struct(kind):
        return [_neighbors(each) for each in lists.to_pylist()]
    return _joined(lists)


def _neighbors(nearest: Sequence[dict[str, Any]] | None) -> str | None:
    """Training molecules as text: similarity, measured value and, where it is told, structure."""
    if nearest is None:
        return None
    told = (
        f"{round(one['similarity'], 2)} {one['measured']:.{DIGITS}g} {one['smiles'] or ''}".rstrip()
        for one in nearest
    )
    return "; ".join(told)


def no_formula(cell: str) -> str:
    """A text with a ``'`` before it where a spreadsheet would run it as a formula.

    >>> no_formula("=1+1"), no_formula("-2.5"), no_formula("aspirin")
    ("'=1+1", '-2.5', 'aspirin')
    """
    return f"'{cell}" if cell and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    """Whether a spreadsheet would run a cell; numbers with signs are none."""
    if cell[0] not in "=+-@\t\r":
        return False
    try:
        return not [float(word) for word in cell.split()]
    except ValueError:
        return True


def _joined(lists: pa.ListArray) -> pa.Array:
    """``[[1, 2], [3]]`` to ``["1 2", "3"]``, numbers with few decimals."""
    flat = lists.flatten()
    if pa.types.is_floating(flat.type):
        flat = pc.round(flat, DECIMALS)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array([0, *lengths.cumsum().tolist()], pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, flat.cast(pa.string())), " ")


def json_of(results: pa.Table, is_first: bool = True) -> str:
    """One object a line."""
    return "".join(json.dumps(row) + "\n" for row in rows_of(results))


def rows_of(results: pa.Table) -> list[dict[str, Any]]:
    """Recognized molecules as plain values: what the files, the page and the service show."""
    return [rounded(row) for row in results.to_pylist()]


@contextmanager
def rejected_output(
    path: Path, *, plain: bool = False, begun: Begun = lambda unfinished: None
) -> Iterator[Callable[[Recognized], None]]:
    """The side file of refused records, as CSV; there is none when nothing was refused."""
    refused = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        begun(temporary)

        def write(found: Recognized) -> None:
            nonlocal refused
            if len(found.rejected):
                file.write(_csv(found.rejected, not refused, plain))
                refused += len(found.rejected)

        yield write
    if not refused:
        path.unlink()


def picture_writer(folder: Path, format: str, unit: str = "") -> Write:
    """Writes a picture of each molecule with its first subgraph, named by its line and its name.

    Colors tell the signed effects, in ``unit``, where they were computed, else the scores.

    Raises:
        UnknownNameError: a format that is neither SVG nor PNG.
    """
    if format not in ("svg", "png"):
        raise unknown_name("picture format", format, ("svg", "png"))
    ensure_writable(folder)

    def write(results: pa.Table) -> None:
        for row in results.select(DRAWN).to_pylist():
            chosen = row["subgraphs"][0]["atoms"] if row["subgraphs"] else None
            told = {"effects": row["effects"], "unit": unit, "size": PICTURE, "format": format}
            drawn = draw(row["smiles"], row["scores"], chosen, **told)
            name = re.sub(r"[^\w.-]+", "_", row["id"] or "")[:LONGEST_NAME].strip("._")
            stem = f"{row['line']:06d}{name and '_'}{name}"
            with replacing(folder / f"{stem}.{format}") as temporary:
                temporary.write_bytes(drawn if isinstance(drawn, bytes) else drawn.encode())

    return write
