"""The finished parts of a run on the disk, so that a killed run goes on where it was.

One machine and a cluster keep them in the same way: a part has one name, its results and refusals
are files of their own that are renamed into place when they are whole, and the results carry their
counts in their footer. On one machine the folder goes once everything is written where it belongs;
on a cluster it is the output.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vgib.data.files import ensure_writable, replacing
from vgib.stream.manifest import by_kind
from vgib.stream.schema import Recognized

COUNTS = b"vgib"
"""The entry of a part's footer that holds its counts."""

RESULTS, REJECTED, BEGUN, UNFINISHED = "results", "rejected", "begun", "unfinished"


class PartStore:
    """A folder with the results and the refusals of each finished part.

    The folder is made when the first part is put into it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        return results_file(self.folder, name).is_file()

    def put(self, name: str, found: Recognized, content: str = "") -> dict[str, Any]:
        """Stores what came of a part, and gives its counts; it is there once the results are.

        ``content`` tells of which records, where the name does not; see :func:`content_of`.
        """
        counts = {
            "content": content,
            "recognized": len(found.results),
            "rejected": len(found.rejected),
            "reasons": by_kind(found.rejected["reason"].to_pylist()),
        }
        _write(self.folder / REJECTED / f"{name}.parquet", found.rejected)
        told = {**(found.results.schema.metadata or {}), COUNTS: json.dumps(counts)}
        _write(results_file(self.folder, name), found.results.replace_schema_metadata(told))
        return counts

    def get(self, name: str) -> Recognized:
        """What came of a part that is there."""
        results = _read(results_file(self.folder, name))
        told = {key: value for key, value in results.schema.metadata.items() if key != COUNTS}
        rejected = _read(self.folder / REJECTED / f"{name}.parquet")
        return Recognized(results.replace_schema_metadata(told or None), rejected)

    def counts(self, name: str) -> dict[str, Any] | None:
        """The counts of a part that is there."""
        if name not in self:
            return None
        footer = pq.read_metadata(results_file(self.folder, name)).metadata
        counts: dict[str, Any] = json.loads(footer[COUNTS])
        return counts

    def begin(self, name: str) -> int:
        """Notes on the disk, where a crash does not reach, that a part is begun; how often so."""
        path = self.folder / BEGUN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b".")
            return file.tell()

    def forget_begun(self) -> None:
        """Forgets which parts were begun."""
        shutil.rmtree(self.folder / BEGUN, ignore_errors=True)

    def note_unfinished(self, output: Path) -> None:
        """Notes the name of an output that is being written: a killed run leaves it behind."""
        notes = self.folder / UNFINISHED
        notes.mkdir(parents=True, exist_ok=True)
        (notes / output.name).touch()

    def unfinished(self) -> list[str]:
        """The names of outputs that were noted."""
        return [note.name for note in (self.folder / UNFINISHED).glob("*")]

    def remove(self) -> None:
        """Removes the folder with everything in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def results_file(folder: Path, name: str) -> Path:
    """Where the results of a part are, or will be."""
    return folder / RESULTS / f"{name}.parquet"


def part_name(file: int, number: int, content: str = "") -> str:
    """The name of a part: its file, its place in it and, where the file may change, its content."""
    return f"{file:05d}-{number:06d}" + (f"-{content}" if content else "")


def content_of(chunks: Sequence[pa.Table]) -> str:
    """A short text that differs wherever the records do."""
    digest = hashlib.sha256()
    for chunk in chunks:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, chunk.schema) as stream:
            stream.write_table(chunk)
        digest.update(sink.getvalue())
    return digest.hexdigest()[:24]


def _write(path: Path, table: pa.Table) -> None:
    ensure_writable(path.parent)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _read(path: Path) -> pa.Table:
    return pq.read_table(path, partitioning=None)
