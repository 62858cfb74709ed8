"""Recognized molecules as files: CSV, JSON lines, Parquet or SDF, each whole or not there."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vgib.chem.draw import draw
from vgib.chem.sdf import SdWriter
from vgib.data.files import ensure_writable, replacing
from vgib.errors import InputError, unknown_name
from vgib.model.results import DECIMALS, DIGITS, rounded
from vgib.stream.schema import Recognized

Write = Callable[[pa.Table], None]
"""Takes tables of results, one after the other."""

SUFFIXES = (".csv", ".jsonl", ".parquet", ".sdf", ".html")


def check_outputs(paths: Sequence[Path]) -> None:
    """Refuses at once what could not be written in the end.

    Raises:
        InputError: an ending is unknown, or two outputs are the same file.
        UnwritableError: a folder cannot be written to.
    """
    for number, path in enumerate(paths):
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(f"{str(path)!r} must end in {', '.join(SUFFIXES)}")
        if path in paths[:number]:
            raise InputError(f"{str(path)!r} was asked for twice")
        ensure_writable(path.parent)


@contextmanager
def open_output(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """A file of results that gets its name once the block ends without an error."""
    opened = {".csv": _text(csv_of), ".jsonl": _text(json_of), ".parquet": _parquet, ".sdf": _sdf}
    with replacing(path) as temporary, opened[path.suffix.lower()](temporary, schema) as write:
        yield write


@contextmanager
def standard_output(as_json: bool) -> Iterator[Write]:
    """Results on standard output as they come, as CSV or JSON lines."""
    yield _writer(sys.stdout, json_of if as_json else csv_of)


Format = Callable[[pa.Table, bool], str]
"""A table as text; the second argument tells whether it is the first."""


def _text(form: Format) -> Callable[[Path, pa.Schema], Any]:
    @contextmanager
    def opened(path: Path, schema: pa.Schema) -> Iterator[Write]:
        with path.open("w", encoding="utf-8", newline="") as file:
            yield _writer(file, form)

    return opened


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
    plain = {key: value for key, value in row.items() if key not in ("id", "scores", "subgraphs")}
    for rank, part in enumerate(row["subgraphs"], 1):
        plain[f"subgraph_{rank}"] = part["smiles"]
        plain[f"subgraph_{rank}_atoms"] = " ".join(map(str, part["atoms"]))
        plain[f"subgraph_{rank}_score"] = round(part["score"], DECIMALS)
        plain[f"subgraph_{rank}_keep_ratio"] = round(part["keep_ratio"], DECIMALS)
    return {key: value for key, value in plain.items() if value is not None}


def csv_of(results: pa.Table, with_header: bool = True) -> str:
    """A row for each subgraph: what is known of the molecule, then rank and part.

    Molecules without subgraphs have one row. Lists are written with blanks between their items.
    """
    if not len(results):
        return ""  # the header comes with the first row
    table = results.combine_chunks()
    lists = table["subgraphs"].combine_chunks()
    parts = lists.flatten()
    if len(parts):
        parents = pc.list_parent_indices(lists)
        starts = lists.offsets.to_numpy()
        rank = pa.array(range(len(parts)), pa.int64())
        rank = pc.add(pc.subtract(rank, pa.array(starts[parents.to_numpy()] - starts[0])), 1)
        table = table.take(parents)
        told = {
            "rank": rank,
            "subgraph": parts.field("smiles"),
            "atoms": _joined(parts.field("atoms")),
            "score": pc.round(parts.field("score"), DECIMALS),
            "keep_ratio": pc.round(parts.field("keep_ratio"), DECIMALS),
        }
    else:
        told = {name: pa.nulls(len(table)) for name in ("rank", "subgraph", "atoms")}
        told |= {name: pa.nulls(len(table)) for name in ("score", "keep_ratio")}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name == "subgraphs":
            columns |= told
        else:
            cells = table[name].combine_chunks()
            columns[name] = _joined(cells) if pa.types.is_list(cells.type) else cells
    return _csv(pa.table(columns), with_header)


def _csv(table: pa.Table, with_header: bool) -> str:
    """Cells in quotes only where they need them; numbers as everywhere."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if with_header:
        writer.writerow(table.column_names)
    writer.writerows(zip(*(_cells(column) for column in table.columns), strict=True))
    return file.getvalue()


def _cells(column: pa.ChunkedArray) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return ["" if value is None else f"{value:.{DIGITS}g}" for value in cells]
    return cells


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
def rejected_output(path: Path) -> Iterator[Callable[[Recognized], None]]:
    """The side file of refused records, as CSV; there is none when nothing was refused."""
    refused = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:

        def write(found: Recognized) -> None:
            nonlocal refused
            if len(found.rejected):
                file.write(_csv(found.rejected, with_header=not refused))
                refused += len(found.rejected)

        yield write
    if not refused:
        path.unlink()


def picture_writer(folder: Path, format: str) -> Write:
    """Writes a picture of each molecule with its first subgraph, named by its line.

    Raises:
        UnknownNameError: a format that is neither SVG nor PNG.
    """
    if format not in ("svg", "png"):
        raise unknown_name("picture format", format, ("svg", "png"))
    ensure_writable(folder)

    def write(results: pa.Table) -> None:
        for row in results.select(["line", "smiles", "scores", "subgraphs"]).to_pylist():
            chosen = row["subgraphs"][0]["atoms"] if row["subgraphs"] else None
            drawn = draw(row["smiles"], row["scores"], chosen, format=format)  # type: ignore[call-overload]
            with replacing(folder / f"{row['line']:06d}.{format}") as temporary:
                temporary.write_bytes(drawn if isinstance(drawn, bytes) else drawn.encode())

    return write
