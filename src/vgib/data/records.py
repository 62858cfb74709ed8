"""Molecule files as a stream of records, each with the line it starts on and its fields by name."""

import csv
import io
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast, get_args

from vgib.data.cells import dotted
from vgib.data.unpacking import (
    DAMAGED,
    Lines,
    opened,
    plain_lines,
)
from vgib.errors import FileFormatError, InputError, unknown_name
from vgib.limits import PLAIN, FileReading, too_long

Source: TypeAlias = str | Path | BinaryIO | io.BufferedIOBase | Iterable[str]
"""A path, an open file such as standard input, or lines."""

Format = Literal["smi", "csv", "tsv", "sdf", "parquet", "xlsx"]
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
    ".mol": "sdf",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
}
SMILES_HEADERS = {"smiles", "canonical_smiles"}
"""What the first line of a ``.smi`` file says where it is no molecule."""

ID_NAMES = (
    *("id", "name", "title", "compoundid", "compoundname", "compound", "internalid"),
    *("moleculeid", "moleculename", "molecule", "moleculechemblid", "chemblid", "zincid"),
    *("drugname", "drug", "drugbankid", "compoundnumber", "compoundcode", "compoundno", "cmpdid"),
    *("cmpd", "cpdid", "cpd", "molid", "sampleid", "sample", "registrynumber", "regno"),
    *("externalid", "substanceid", "cid", "casnumber", "casno", "casrn", "cas", "code", "key"),
)
"""What columns of names are called, letters alone; the first that a table has is taken."""


def plain_name(column: str) -> str:
    """The letters of a column's name: ``Molecule ChEMBL ID`` is ``moleculechemblid``."""
    return re.sub("[^a-z]", "", column.lower())


class Record(NamedTuple):
    """One entry of a file.

    ``fields`` holds the cells by column name; in a headerless ``.smi`` file by position, ``"0"``
    being the SMILES, and the name under :data:`TITLE`. A record that is broken as a record says so
    in ``problem``.
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

TITLE = "title"
"""The field of a line without a header that holds the name: all that stands behind the SMILES."""

_EXTENSION = re.compile(r"^(\S+)\s+\|[^|]*\|")
"""A SMILES with what ChemAxon writes behind it, such as ``|&1:1|``, which is no name."""


@contextmanager
def open_table(
    source: Source, *, format: Format | None = None, how: FileReading = PLAIN
) -> Iterator[Table]:
    """Opens a file, plain or gzipped, or takes lines as they come (then ``.smi`` by default).

    A line that is no text, or is too long, is a record with a problem; the others are read.

    Raises:
        InputError: the file is missing or empty, or a column name comes twice.
        FileFormatError: the file is truncated or binary, unpacks to too much, or begins with
            something that is no text of this encoding.
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
        with raw, _opened(raw, str(path), chosen, how, path.stat().st_size) as table:
            yield table
    elif isinstance(source, io.BufferedIOBase):
        with _opened(
            cast("BinaryIO", source), "standard input", format or "smi", how, None
        ) as table:
            yield table
    else:
        lines = plain_lines(cast("Iterable[str]", source), how)
        yield _table(lines, format or "smi", lambda: None)


@contextmanager
def _opened(
    raw: Any, name: str, format: Format, how: FileReading, size: int | None
) -> Iterator[Table]:
    """The table of a file, gzipped or not; ``size`` is that of the file as it lies there."""
    handle, counted, is_gzip = opened(raw, name, how)

    def share() -> float | None:
        done = counted.count if is_gzip else handle.tell() if size else 0
        return min(1.0, done / size) if size else None

    unpack = {"parquet": _parquet, "xlsx": _xlsx}.get(format)
    if unpack is None:
        yield _table(Lines(handle, name, how), format, share)
    elif not is_gzip and handle.seekable():
        yield unpack(handle, name, how)
    else:  # the table of contents stands at the end
        with tempfile.TemporaryFile() as copy:
            try:
                shutil.copyfileobj(handle, copy)
            except DAMAGED as error:
                raise FileFormatError(
                    f"{name}: the gzip file is damaged ({error}); fetch it again"
                ) from error
            yield unpack(copy, name, how)


def _parquet(handle: IO[bytes], name: str, how: FileReading) -> Table:
    from vgib.data.parquet import ParquetRows  # slow to import and needed here only

    rows = ParquetRows(handle, name, how)
    records = (Record(line, *row) for line, row in enumerate(rows, 1))
    return Table(name, "parquet", rows.columns, records, lambda: rows.seen / rows.count)


def _xlsx(handle: IO[bytes], name: str, how: FileReading) -> Table:
    from vgib.data.xlsx import SheetRows  # slow to import and needed here only

    rows = SheetRows(handle, name, how)
    line, columns = rows.header
    distinct = _distinct([column for column in columns if column], rows.name, line)
    records = (Record(*row) for row in rows)
    return Table(rows.name, "xlsx", distinct, records, lambda: rows.seen / rows.count)


def _format_of(path: Path) -> Format:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in {".gz"}]
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    raise InputError(
        f"{str(path)!r} has no known ending; expected {', '.join(SUFFIXES)} (each also with .gz), "
        "or say which format it has: smi, csv, tsv, sdf, parquet or xlsx"
    )


def _table(lines: Lines, format: Format, share: Callable[[], float | None]) -> Table:
    name, texts = lines.name, iter(lines)
    line, first = 1, next(texts, None)
    broken: list[Record] = []
    while first is not None and not first.strip() and format != "sdf":
        if why := lines.problem(line, line):
            broken.append(Record(line, {}, why))
        line, first = line + 1, next(texts, None)
    if broken and (first is None or format in ("csv", "tsv")):  # no header can be trusted
        raise FileFormatError(f"{name}, line {broken[0].line}: {broken[0].problem}")
    if first is None:
        raise InputError(f"{name}: the file is empty; expected one molecule a line")

    def table(format: Format, columns: list[str] | None, records: Iterator[Record]) -> Table:
        return Table(name, format, columns, chain(broken, records), share)

    if format == "sdf":
        return table(format, None, _sdf(chain([first], texts), lines))
    if format == "smi" and not _is_csv_header(first):
        header = first.split()
        if header[0].lower() in SMILES_HEADERS:
            columns = _distinct(header if len(header) > 1 else [*header, "name"], name, line)
            return table(format, columns, _rows(texts, line + 1, lines, partial(_words, columns)))
        return table(format, None, _rows(chain([first], texts), line, lines, _titled))
    delimiter = "\t" if format == "tsv" else max(",;\t", key=first.count)
    reader = csv.reader(chain([first], texts), delimiter=delimiter, strict=True)
    columns = _distinct([cell.strip() for cell in _next(reader, name)], name, line)
    # A spreadsheet separates columns by semicolons where numbers have a decimal comma.
    written = dotted if delimiter == ";" else str
    return table("csv", columns, _cells(reader, columns, line - 1, lines, written))


def _is_csv_header(line: str) -> bool:
    cells = (line.lower().strip().split(delimiter) for delimiter in ",;\t")
    return any(len(each) > 1 and SMILES_HEADERS.intersection(each) for each in cells)


def _distinct(columns: list[str], name: str, line: int) -> list[str]:
    twice = sorted(column for column, times in Counter(columns).items() if times > 1)
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


def _cells(
    reader: Any,
    columns: list[str],
    skipped: int,
    lines: Lines,
    written: Callable[[str], str],
) -> Iterator[Record]:
    while True:
        line = skipped + reader.line_num + 1
        problem, row = None, None
        try:
            row = next(reader, None)
            if row is None:
                return
        except csv.Error as error:
            until = f" up to line {skipped + reader.line_num}" if reader.line_num > line else ""
            problem = f"{error}; check the quotes from here{until}"
        problem = lines.problem(line, skipped + reader.line_num) or problem
        if problem is None and not any(cell.strip() for cell in row or ()):
            continue
        fields = dict(zip(columns, (written(cell.strip()) for cell in row or ()), strict=False))
        if problem is None and row is not None and len(row) != len(columns):
            problem = (
                f"{len(row)} cells where the header has {len(columns)}; "
                "put cells that contain the separator into quotes"
            )
        yield Record(line, fields, problem)


def _rows(
    texts: Iterable[str], start: int, lines: Lines, fields: Callable[[str], dict[str, str]]
) -> Iterator[Record]:
    for number, line in enumerate(texts, start):
        if line.strip():
            yield Record(number, fields(line))
        elif why := lines.problem(number, number):
            yield Record(number, {}, why)


def _words(columns: list[str], line: str) -> dict[str, str]:
    """Words between blanks by the names of columns; of too many, the name has several."""
    words = line.split()
    named = (place for place, column in enumerate(columns) if plain_name(column) in ID_NAMES)
    more, place = len(words) - len(columns), next(named, None)
    if more > 0 and place is not None:
        words[place : place + more + 1] = [" ".join(words[place : place + more + 1])]
    return dict(zip(columns, words, strict=False))


def _titled(line: str) -> dict[str, str]:
    """Cells between tabs, else words between blanks, by their positions; and the title.

    >>> _titled("CCO ethyl alcohol")
    {'0': 'CCO', '1': 'ethyl', '2': 'alcohol', 'title': 'ethyl alcohol'}
    >>> _titled("CCO |&1:1|\\tethyl alcohol\\t0.5")
    {'0': 'CCO', '1': 'ethyl alcohol', '2': '0.5', 'title': 'ethyl alcohol'}
    """
    text, *columns = _EXTENSION.sub(r"\1", line.strip()).split("\t")
    smiles, *title = text.split(maxsplit=1)
    title += [cell.strip() for cell in columns]
    cells = title if columns else " ".join(title).split()
    told = dict(zip(map(str, count()), [smiles, *cells], strict=False))
    return told | {TITLE: title[0]} if title else told


def _sdf(texts: Iterable[str], lines: Lines) -> Iterator[Record]:
    held: list[str] = []
    start, size, number = 1, 0, 0
    for number, line in enumerate(texts, 1):
        if line.startswith("$$$$"):
            yield _sd_record(start, number, held, size, lines)
            held, start, size = [], number + 1, 0
        else:
            size += len(line)
            if size <= lines.how.max_record or not held:
                held.append(line.rstrip("\r\n"))
    if any(line.strip() for line in held) or lines.problems:
        yield _sd_record(start, number, held, size, lines)


def _sd_record(start: int, stop: int, lines: list[str], size: int, source: Lines) -> Record:
    broken = source.problem(start, stop)
    if size > source.how.max_record:
        broken = too_long("the record", source.how.max_record)
    if broken is not None:
        return Record(start, {"name": lines[0].strip() if lines else ""}, broken)
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
    if not fields["name"]:  # many programs leave the title empty and name the molecule in a tag
        named = {plain_name(key): text for key, text in reversed(fields.items()) if text}
        fields["name"] = next((named[name] for name in ID_NAMES if name in named), "")
    return Record(start, fields)
