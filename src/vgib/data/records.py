"""Molecule files as a stream of records, each with the line it starts on and its fields by name."""

import csv
import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast, get_args

from vgib.errors import FileFormatError, InputError, unknown_name

Source: TypeAlias = str | Path | BinaryIO | io.BufferedIOBase | Iterable[str]
"""A path, an open file such as standard input, or lines."""

Format = Literal["smi", "csv", "tsv", "sdf", "parquet"]
SUFFIXES: dict[str, Format] = {
    ".smi": "smi",
    ".smiles": "smi",
    ".ism": "smi",
    ".txt": "smi",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".sdf": "sdf",
    ".sd": "sdf",
    ".parquet": "parquet",
    ".pq": "parquet",
}
ROWS_AT_ONCE = 4096
"""Of a Parquet file, whose row groups may be too large for the memory."""


class Record(NamedTuple):
    """One entry of a file.

    ``fields`` holds the cells by column name; in a headerless ``.smi`` file by position, ``"0"``
    being the SMILES. A record that is broken as a record says so in ``problem``.
    """

    line: int
    fields: dict[str, str]
    problem: str | None = None


class Table(NamedTuple):
    """The records of a source.

    Attributes:
        name: How the source is called.
        format: Its kind.
        columns: The names of the columns; ``None`` where they differ from record to record.
        records: The records, read one after the other as they are asked for.
        share: How much of the source has been read, from 0 to 1; ``None`` where nobody knows.
    """

    name: str
    format: Format
    columns: list[str] | None
    records: Iterator[Record]
    share: Callable[[], float | None]


MOLBLOCK = "mol block"
"""The field of an SD record that holds the structure."""


@contextmanager
def open_table(
    source: Source, *, format: Format | None = None, encoding: str = "utf-8"
) -> Iterator[Table]:
    """Opens a file, plain or gzipped, or takes lines as they come (then ``.smi`` by default).

    Raises:
        InputError: the file is missing or empty, or a column name comes twice.
        FileFormatError: the file is truncated, binary, or in another encoding.
    """
    if format is not None and format not in get_args(Format):
        raise unknown_name("molecule format", format, get_args(Format))
    if isinstance(source, str | Path):
        path = Path(source)
        chosen = format or _format_of(path)
        try:
            raw = path.open("rb")
        except OSError as error:
            raise InputError(
                f"cannot read {str(path)!r}: {error.strerror}; check the path"
            ) from error
        with raw, _opened(raw, str(path), chosen, encoding, path.stat().st_size) as table:
            yield table
    elif isinstance(source, io.BufferedIOBase):
        with _opened(source, "standard input", format or "smi", encoding, None) as table:
            yield table
    else:
        lines = iter(cast("Iterable[str]", source))
        yield _table("the given lines", lines, format or "smi", lambda: None)


@contextmanager
def _opened(
    raw: io.BufferedIOBase, name: str, format: Format, encoding: str, size: int | None
) -> Iterator[Table]:
    """The table of a file, gzipped or not; ``size`` is that of the file as it lies there."""
    source = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    is_gzip = source.peek(2)[:2] == b"\x1f\x8b"
    handle: IO[bytes] = gzip.GzipFile(fileobj=source) if is_gzip else source  # type: ignore[assignment]

    def share() -> float | None:
        return min(1.0, source.tell() / size) if size else None

    if format != "parquet":
        yield _table(name, _lines(handle, name, encoding), format, share)
    elif not is_gzip and handle.seekable():
        yield _parquet(handle, name)
    else:  # the table of contents stands at the end
        with tempfile.TemporaryFile() as copy:
            try:
                shutil.copyfileobj(handle, copy)
            except _DAMAGED as error:
                raise FileFormatError(
                    f"{name}: the gzip file is damaged ({error}); fetch it again"
                ) from error
            yield _parquet(copy, name)


def _parquet(handle: IO[bytes], name: str) -> Table:
    import pyarrow as pa  # slow to import and needed here only
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(handle)
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(
            f"{name} is no whole Parquet file ({error}); write it again"
        ) from error
    columns = list(file.schema_arrow.names)
    rows = file.metadata.num_rows
    if not rows:
        raise InputError(f"{name}: the file is empty; expected one molecule a row")
    seen = 0

    def records() -> Iterator[Record]:
        nonlocal seen
        for batch in file.iter_batches(ROWS_AT_ONCE):
            for fields in batch.to_pylist():
                seen += 1
                known = {key: str(cell) for key, cell in fields.items() if cell is not None}
                yield Record(seen, known)

    return Table(name, "parquet", columns, records(), lambda: seen / rows)


def _format_of(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in {".gz"}]
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    raise InputError(
        f"{str(path)!r} has no known ending; expected {', '.join(SUFFIXES)} (each also with .gz), "
        "or say format='smi', 'csv', 'tsv', 'sdf' or 'parquet'"
    )


_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def _lines(handle: Iterable[bytes], name: str, encoding: str) -> Iterator[str]:
    number = 0
    try:
        for number, raw in enumerate(handle, 1):
            if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise FileFormatError(f"{name} is UTF-16; save it as UTF-8")
            if b"\0" in raw:
                raise FileFormatError(
                    f"{name}, line {number}: holds binary data; expected a text file"
                )
            text = raw.decode(encoding)
            yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{name}, line {number}: not {encoding} text ({error.reason}); save the file as UTF-8 "
            "or pass its encoding, for instance encoding='latin-1'"
        ) from error
    except _DAMAGED as error:
        raise FileFormatError(
            f"{name}: the gzip file is damaged after line {number} ({error}); fetch it again"
        ) from error


def _table(
    name: str, lines: Iterator[str], format: Format, share: Callable[[], float | None]
) -> Table:
    skipped = 0
    first = next(lines, None)
    while first is not None and not first.strip() and format != "sdf":
        skipped += 1
        first = next(lines, None)
    if first is None:
        raise InputError(f"{name}: the file is empty; expected one molecule a line")
    if format == "sdf":
        return Table(name, format, None, _sdf(first, lines), share)
    if format == "smi" and not _is_csv_header(first):
        header = first.split()
        if header[0].lower() in {"smiles", "canonical_smiles"}:
            columns = _distinct(header, name, skipped + 1)
            return Table(name, format, columns, _fields(columns, lines, skipped + 2), share)
        return Table(name, format, None, _positions(first, lines, skipped + 1), share)
    delimiter = "\t" if format == "tsv" else max(",;\t", key=first.count)
    reader = csv.reader(_chain(first, lines), delimiter=delimiter, strict=True)
    columns = _distinct([cell.strip() for cell in _next(reader, name)], name, skipped + 1)
    return Table(name, "csv", columns, _cells(reader, columns, name, skipped), share)


def _is_csv_header(line: str) -> bool:
    return any("smiles" in line.lower().strip().split(delimiter) for delimiter in ",;\t")


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _distinct(columns: list[str], name: str, line: int) -> list[str]:
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise InputError(
            f"{name}, line {line}: column {twice[0]!r} comes twice; rename one of them"
        )
    return columns


def _next(reader: Iterator[list[str]], name: str) -> list[str]:
    try:
        return next(reader)
    except csv.Error as error:
        raise FileFormatError(f"{name}, line 1: {error}; check the quotes of the header") from error


def _cells(reader: Any, columns: list[str], name: str, skipped: int) -> Iterator[Record]:
    while True:
        line = skipped + reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FileFormatError(f"{name}, line {line}: {error}; check its quotes") from error
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        fields = dict(zip(columns, (cell.strip() for cell in row), strict=False))
        problem = None
        if len(row) != len(columns):
            problem = (
                f"{len(row)} cells where the header has {len(columns)}; "
                "put cells that contain the separator into quotes"
            )
        yield Record(line, fields, problem)


def _fields(columns: list[str], lines: Iterator[str], start: int) -> Iterator[Record]:
    for number, line in enumerate(lines, start):
        if line.strip():
            yield Record(number, dict(zip(columns, line.split(), strict=False)))


def _positions(first: str, lines: Iterator[str], start: int) -> Iterator[Record]:
    for number, line in enumerate(_chain(first, lines), start):
        if line.strip():
            yield Record(number, {str(place): cell for place, cell in enumerate(line.split())})


def _sdf(first: str, lines: Iterator[str]) -> Iterator[Record]:
    held: list[str] = []
    start = 1
    for number, line in enumerate(_chain(first, lines), 1):
        if line.startswith("$$$$"):
            yield _sd_record(start, held)
            held, start = [], number + 1
        else:
            held.append(line.rstrip("\r\n"))
    if any(line.strip() for line in held):
        yield _sd_record(start, held)


def _sd_record(start: int, lines: list[str]) -> Record:
    end = next((place for place, line in enumerate(lines) if line.startswith("M  END")), None)
    if end is None:
        problem = "the record has no 'M  END' line; the file may be truncated, export it again"
        return Record(start, {MOLBLOCK: "\n".join(lines[:1])}, problem)
    fields = {MOLBLOCK: "\n".join(lines[: end + 1]) + "\n", "name": lines[0].strip()}
    tag = None
    for line in lines[end + 1 :]:
        if line.startswith(">"):
            tag = line[line.find("<") + 1 : line.rfind(">")]
        elif line.strip() and tag is not None:
            fields[tag] = f"{fields[tag]}\n{line.strip()}" if tag in fields else line.strip()
        else:
            tag = None
    return Record(start, fields)
