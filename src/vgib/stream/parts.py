"""The finished chunks of a run on the disk, so that a killed run goes on where it was."""

import hashlib
import shutil
from pathlib import Path

import pyarrow as pa

from vgib.data.files import ensure_writable, replacing
from vgib.stream.work import Recognized

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Parts:
    """A folder with two small files for each finished chunk, its results and its refusals.

    A chunk is known by its place, its content and the settings of the run, so that what was
    finished for another input or with other settings is never taken for it.

    Args:
        folder: Made when it is not there.
        settings: Everything that decides what comes of a chunk, as text.
    """

    def __init__(self, folder: Path, settings: str) -> None:
        ensure_writable(folder)
        self.folder = folder
        self.settings = settings

    def key(self, number: int, chunk: pa.Table) -> str:
        """The name of a chunk."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, chunk.schema) as stream:
            stream.write_table(chunk)
        digest = hashlib.sha256(self.settings.encode())
        digest.update(sink.getvalue())
        return f"{number:06d}-{digest.hexdigest()[:24]}"

    def __contains__(self, key: str) -> bool:
        return self._results(key).is_file()

    def put(self, key: str, found: Recognized) -> None:
        """Stores what came of a chunk; it is there once the results are, which come last."""
        _write(self._rejected(key), found.rejected)
        _write(self._results(key), found.results)

    def get(self, key: str) -> Recognized:
        """What came of a chunk that is there."""
        return Recognized(_read(self._results(key)), _read(self._rejected(key)))

    def remove(self) -> None:
        """Removes the folder, once everything is written where it belongs."""
        shutil.rmtree(self.folder)

    def _results(self, key: str) -> Path:
        return self.folder / f"{key}.arrow"

    def _rejected(self, key: str) -> Path:
        return self.folder / f"{key}.rejected.arrow"


def _write(path: Path, table: pa.Table) -> None:
    with (
        replacing(path) as temporary,
        temporary.open("wb") as file,
        pa.ipc.new_file(file, table.schema, options=_OPTIONS) as writer,
    ):
        writer.write_table(table)


def _read(path: Path) -> pa.Table:
    with path.open("rb") as file:
        return pa.ipc.open_file(file).read_all()
