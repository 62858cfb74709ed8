"""Molecules of one file or of a folder, cut into parts that a cluster can take one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from vgib.data.records import SUFFIXES, Format
from vgib.errors import InputError, VgibError
from vgib.stream.chunks import SourceReading, iter_chunks


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


def cut(path: Path, reading: SourceReading) -> Iterator[Shard]:
    """The parts of a file, one after the other.

    Raises:
        VgibError: the file cannot be read any further; what came before it was given out.
    """
    how = replace(reading, carry=reading.carry or (), format=reading.format or _format(path))
    chunks = iter_chunks(path, how)
    number, held = 0, list[pa.Table]()
    try:
        for chunk in chunks:
            held.append(chunk.records)
            if sum(map(len, held)) >= reading.part:
                yield Shard(number, held, chunk.share or 1.0)
                number, held = number + 1, []
    except VgibError:
        if held:
            yield Shard(number, held, 1.0)
        raise
    if held:
        yield Shard(number, held, 1.0)
