"""The files of one TU dataset, in a zip or a folder, and the errors that name file and line.

They hold comma-separated numbers; the largest of the usual ones has 24.6 million lines.
"""

import itertools
import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from vgib.errors import FileFormatError, InputError
from vgib.limits import FileReading

Numbers: TypeAlias = npt.NDArray[Any]  # int32, int64 or float64, as the caller asked
Kind: TypeAlias = Literal["int32", "int64", "float64"]

BLOCK_BYTES = 1 << 23

# Damage, or (the last two) a zip that is encrypted or compressed in an unknown way.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
)


@dataclass(frozen=True)
class TuFiles:
    """The files ``NAME_*.txt`` of one dataset, in a folder or a zip, at any depth."""

    path: Path
    stem: str
    members: dict[str, Path | zipfile.ZipInfo]
    archive: zipfile.ZipFile | None

    @classmethod
    def find(cls, path: Path, how: FileReading) -> "TuFiles":
        if not path.exists():
            raise InputError(f"there is no file or folder {path}; expected a TU zip or its folder")
        archive = None if path.is_dir() else _open_zip(path, how)
        found: dict[str, Path | zipfile.ZipInfo]
        if archive is None:
            found = {file.relative_to(path).as_posix(): file for file in path.rglob("*.txt")}
        else:
            found = {info.filename: info for info in archive.infolist()}
        stems = [name.removesuffix("_A.txt") for name in found if name.endswith("_A.txt")]
        if len(stems) != 1:
            raise FileFormatError(
                f"{path} is no TU dataset: expected exactly one file NAME_A.txt in it, found "
                f"{len(stems)}; give the zip of one dataset, or fetch it again"
            )
        start = f"{stems[0]}_"
        members = {
            name.removeprefix(start).removesuffix(".txt"): member
            for name, member in found.items()
            if name.startswith(start)
        }
        return cls(path, stems[0].rpartition("/")[2], members, archive)

    def __enter__(self) -> "TuFiles":
        return self

    def __exit__(self, *_: object) -> None:
        if self.archive is not None:
            self.archive.close()

    def __contains__(self, part: str) -> bool:
        return part in self.members

    def name(self, part: str) -> str:
        return f"{self.path.name}: {self.stem}_{part}.txt"

    def read(self, part: str, kind: Kind, *, width: int | None = None) -> Numbers:
        """The columns of ``NAME_part.txt``, ``[columns, lines]``."""
        if part not in self:
            raise FileFormatError(
                f"{self.path} lacks {self.stem}_{part}.txt, which every TU dataset has; "
                "fetch the dataset again"
            )
        try:
            return read_columns(lambda: self._open(part), self.name(part), kind=kind, width=width)
        except UNREADABLE as error:
            raise FileFormatError(
                f"{self.name(part)} cannot be unpacked ({error}); "
                "the file is damaged: delete it and fetch it again"
            ) from error

    def _open(self, part: str) -> IO[bytes]:
        member = self.members[part]
        if isinstance(member, Path):
            return member.open("rb")
        assert self.archive is not None
        return self.archive.open(member)


def _open_zip(path: Path, how: FileReading) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise FileFormatError(
            f"{path} is no zip file or only the beginning of one ({error}); "
            "delete it and fetch it again"
        ) from error
    how.check_zip(str(path), archive)
    return archive


def check_range(name: str, values: Numbers, largest: int, what: str) -> None:
    """Raises, with the line, unless all values are between 1 and ``largest``."""
    bad = (values < 1) | (values > largest)
    if bad.any():
        line = int(bad.argmax())
        raise FileFormatError(
            f"{name}, line {line + 1}: there is no {what} {values[line]}; {what}s are numbered "
            f"1 to {largest}: correct that line or fetch the dataset again"
        )


def check_lines(path: Path, part: str, came: int, expected: int, what: str) -> None:
    """Raises unless a file has one line for each node or edge."""
    if came != expected:
        raise FileFormatError(
            f"{path.name}: {part} has {came} lines for {expected} {what}s; "
            "a file is truncated: fetch the dataset again"
        )


def read_columns(
    open_file: Callable[[], IO[bytes]], name: str, *, kind: Kind, width: int | None = None
) -> Numbers:
    """The numbers of one file, ``[columns, lines]``, each column contiguous.

    The text streams through in blocks, so that the peak is the result and not the text.

    Args:
        open_file: gives the file, positioned at its start; it is called twice.
        name: how errors call the file.
        width: the number of columns that every line must have; by default that of the first line.

    Raises:
        FileFormatError: a line has another number of columns, or something that is no number.
    """
    # Slow to import and needed here only.
    import pyarrow as pa
    from pyarrow import csv

    with open_file() as stream:
        first = next((line for line in stream if line.strip()), b"")
    found = first.count(b",") + 1
    if not first:
        return np.empty((width or 1, 0), dtype=kind)
    names = [str(column) for column in range(width or found)]
    try:
        with open_file() as stream:
            blocks = csv.open_csv(
                stream,
                read_options=csv.ReadOptions(
                    column_names=names, block_size=BLOCK_BYTES, use_threads=False
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.type_for_alias(kind)), null_values=[]
                ),
            )
            parts = [[column.to_numpy() for column in block.columns] for block in blocks]
    except pa.ArrowInvalid as error:
        raise _first_bad_line(open_file, name, len(names), kind) or FileFormatError(
            f"{name} cannot be read as numbers: {error}"
        ) from error
    columns = np.empty((len(names), sum(len(part[0]) for part in parts)), dtype=kind)
    for index in range(len(names)):
        np.concatenate([part[index] for part in parts], out=columns[index])
    return columns


def _first_bad_line(
    open_file: Callable[[], IO[bytes]], name: str, width: int, kind: Kind
) -> FileFormatError | None:
    """The error for the first line that is not ``width`` numbers; slow, as only a failure asks."""
    parse = float if kind == "float64" else int
    with open_file() as stream:
        for number, line in zip(itertools.count(1), stream, strict=False):
            cells = line.decode("utf-8", "replace").strip().split(",")
            if cells == [""]:
                continue
            try:
                good = len(cells) == width and all(parse(cell) is not None for cell in cells)
            except ValueError:
                good = False
            if not good:
                plural = "number" if width == 1 else "numbers separated by commas"
                return FileFormatError(
                    f"{name}, line {number}: expected {width} {plural}, got "
                    f"{','.join(cells)[:80]!r}; the file is damaged or of another kind: "
                    "fetch it again or correct that line"
                )
    return None
