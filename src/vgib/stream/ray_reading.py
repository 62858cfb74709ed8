"""What reads on a cluster: tasks that cut files into parts, and how a part travels.

The processes that read import this module and nothing that is slow to start: torch in each of them
would take the cores from the actors just when these start.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vgib.data.records import SUFFIXES, Format
from vgib.errors import InputError, VgibError
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.parts import PartStore, content_of, part_name

Row = dict[str, Any]


class Shard(NamedTuple):
    """Some records of a file in a row: the tables of their chunks, and how much has been read."""

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


@dataclass(frozen=True)
class Reader:
    """Reads a file and gives a row for each part, and one at the end that counts the records."""

    out: Path
    reading: SourceReading

    def __call__(self, batch: Row) -> Iterator[Row]:
        (number,), (path,) = batch["file"].tolist(), batch["path"].tolist()
        parts = records = 0
        error = ""
        try:
            for part in cut(Path(path), self.reading):
                parts, records = parts + 1, records + part.records
                done = PartStore(self.out).counts(part_name(number, part.number))
                content = content_of(part.chunks)
                if done is not None and done["content"] != content:
                    raise InputError(
                        f"the records of part {part.number} are not those of the run that is to go "
                        "on: the file has changed; name a new folder"
                    )
                chunks = _packed(part) if done is None else b""
                yield row_of(number, part.number, chunks, part.share, {"content": content})
        except (VgibError, OSError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        told = {"parts": parts, "records": records, "error": error or None}
        yield row_of(number, -1, b"", 1.0, told)


def row_of(number: int, part: int, chunks: bytes, share: float, told: Row | None = None) -> Row:
    """One row of the stream, as Ray Data takes it: lists of one."""
    told_as = [json.dumps(told or {})]
    return {"file": [number], "part": [part], "chunks": [chunks], "share": [share], "told": told_as}


def _packed(part: Shard) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, part.chunks[0].schema, options=options) as stream:
        for chunk in part.chunks:
            stream.write_batch(chunk.combine_chunks().to_batches()[0])
    return sink.getvalue()


def unpacked(data: bytes) -> list[pa.Table]:
    """The chunks of a part that has traveled."""
    return [pa.Table.from_batches([batch]) for batch in pa.ipc.open_stream(data)]
