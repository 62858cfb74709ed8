"""Records: one line of JSON for each finished job, which is never computed twice.

A record holds the ``key`` and the full configuration of its ``job``, the ``result`` (the same to
the byte for the same job), and what may differ from run to run: the ``seconds`` it took, the
``host`` it ran on, the ``versions`` it ran with and the hash of the ``code`` that it ran
(:mod:`vgib.experiments.engine.code`), which older records do not have.
"""

import json
import logging
import os
import platform
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from vgib.errors import FileFormatError, UnwritableError

Record = dict[str, Any]

FIELDS = ("key", "job", "result", "seconds", "host", "versions")

log = logging.getLogger(__name__)


class Records:
    """The records of one recipe: a folder of JSON lines, a file for each cell of its table.

    One process writes. A line is on the disk before the next one is begun, so a kill costs at most
    the line that was being written: it has no end, is left out on reading, and makes room on
    writing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __iter__(self) -> Iterator[Record]:
        for path in sorted(self.folder.rglob("*.jsonl")):
            yield from read_lines(path)

    def by_key(self) -> dict[str, Record]:
        """Every record by its key; of several with one key the first."""
        found: dict[str, Record] = {}
        for record in self:
            found.setdefault(record["key"], record)
        return found

    def append(self, cell: str, record: Record) -> None:
        """Adds a record to the file of its cell and waits until it is on the disk."""
        path = self.folder / f"{cell}.jsonl"
        line = json.dumps(record, sort_keys=True, allow_nan=False) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.truncate(_whole_lines(path))
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            why = error.strerror or error
            raise UnwritableError(f"cannot write the record to {str(path)!r}: {why}") from error

    def forget(self, keys: Collection[str]) -> None:
        """Removes the records of these keys, so that their jobs can be done again."""
        for path in sorted(self.folder.rglob("*.jsonl")):
            lines = path.read_bytes()[: _whole_lines(path)].splitlines(keepends=True)
            kept = [line for line in lines if json.loads(line)["key"] not in keys]
            if len(kept) < len(lines):
                rest = path.with_suffix(".rest")
                rest.write_bytes(b"".join(kept))
                rest.replace(path)


def read_lines(path: Path) -> Iterator[Record]:
    """The records of a file; a last line without an end is left out.

    Raises:
        FileFormatError: some other line is not a record.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    if rest:
        log.warning("%s ends in the middle of a record, which will be computed again", path)
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not set(FIELDS) <= record.keys():
            raise FileFormatError(f"{path}, line {number}: not a record; delete the line")
        yield record


def _whole_lines(path: Path) -> int:
    """The length of a file up to its last line's end."""
    return path.read_bytes().rfind(b"\n") + 1


def host() -> dict[str, Any]:
    """The kind of machine, without its name."""
    return {"cpu": _cpu_model(), "cores": os.cpu_count(), "system": platform.system()}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())
