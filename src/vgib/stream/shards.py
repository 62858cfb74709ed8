"""Molecules of one file or of a folder, cut into parts that a cluster can take one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from vgib.data.headers import Column
from vgib.data.records import SUFFIXES, Format
from vgib.errors import InputError, VgibError
from vgib.limits import PLAIN, FileReading
from vgib.stream.chunks import SIZE, iter_chunks

PART = 8 * SIZE
"""Records in a part: two or three seconds of work, which is what actors may wait for the last."""


@dataclass(frozen=True)
class Cutting:
    """How files are read and cut; see :func:`vgib.stream.chunks.iter_chunks`.

    Attributes:
        smiles_column: The column of structures.
        names: The column of names.
        carry: Other columns that the results shall have. None by default: the files of a folder may
            differ in theirs.
        format: Of files whose names do not tell.
        chunk: Records that are recognized at once: the same as on one machine, so that the results
            are the same to the last bit.
        part: Records of one part; a multiple of the chunk.
        how: The encoding, and the limits of what is read.
    """

    smiles_column: Column | None = None
    names: Column | None = None
    carry: tuple[str, ...] = ()
    format: Format | None = None
    chunk: int = SIZE
    part: int = PART
    how: FileReading = PLAIN


@dataclass(frozen=True)
class Shard:
    """Some records of a file in a row.

    Attributes:
        number: Of the part in its file, from 0.
        chunks: Their tables.
        share: How much of the file has been read with them.
    """

    number: int
    chunks: list[pa.Table]
    share: float

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(map(len, self.chunks))


def input_files(source: Path) -> list[Path]:
    """The file itself, or those of a folder that hold molecules, by name.

    Raises:
        InputError: there are none.
    """
    if source.is_file():
        return [source]
    found = [path for path in sorted(source.rglob("*")) if _format(path) and path.is_file()]
    if not found:
        endings = ", ".join(SUFFIXES)
        raise InputError(f"{str(source)!r} holds no molecules; expected files with {endings}")
    return found


def _format(path: Path) -> Format | None:
    name = path.name.lower().removesuffix(".gz")
    return None if path.name.startswith(".") else SUFFIXES.get(Path(name).suffix)


def cut(path: Path, cutting: Cutting) -> Iterator[Shard]:
    """The parts of a file, one after the other.

    Raises:
        VgibError: the file cannot be read any further; what came before it was given out.
    """
    chunks = iter_chunks(
        path,
        smiles_column=cutting.smiles_column,
        names=cutting.names,
        carry=cutting.carry,
        format=cutting.format or _format(path),
        how=cutting.how,
        size=cutting.chunk,
    )
    number, held = 0, list[pa.Table]()
    try:
        for chunk in chunks:
            held.append(chunk.records)
            if sum(map(len, held)) >= cutting.part:
                yield Shard(number, held, chunk.share or 1.0)
                number, held = number + 1, []
    except VgibError:
        if held:
            yield Shard(number, held, 1.0)
        raise
    if held:
        yield Shard(number, held, 1.0)
