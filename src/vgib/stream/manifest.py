"""What a run is about and what it has done, in numbers that must add up."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vgib.data.files import write_text
from vgib.errors import FileFormatError, InputError, VgibError

NAME = "manifest.json"


class CountError(VgibError, RuntimeError):
    """Counts that do not add up: a row was lost or came twice."""


@dataclass
class InputFile:
    """An input file: its name, its bytes, and what became of its records.

    ``records`` are counted when they are read, all others when the results are on the disk.
    """

    name: str
    bytes: int
    records: int = 0
    parts: int = 0
    recognized: int = 0
    rejected: int = 0
    error: str | None = None


@dataclass
class Manifest:
    """The account of a run, kept as ``manifest.json`` beside its results.

    Attributes:
        settings: All that decides what comes of a record; results of others are never mixed in.
        files: The input, file by file.
        reasons: How many records were rejected for which reason, with the numbers left out of it.
        lost: Parts that no worker could finish, as ``file-part``.
        complete: Whether everything is done.
        seconds: Wall-clock time of the last run.
        reused: Parts that an earlier run had finished.
    """

    settings: str
    files: list[InputFile]
    reasons: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    complete: bool = False
    seconds: float = 0.0
    reused: int = 0

    @property
    def records(self) -> int:
        """Records that were read."""
        return sum(file.records for file in self.files)

    @property
    def recognized(self) -> int:
        """Molecules with a result."""
        return sum(file.recognized for file in self.files)

    @property
    def rejected(self) -> int:
        """The records that gave no result."""
        return sum(file.rejected for file in self.files)

    def check(self) -> None:
        """Sees that the numbers add up.

        Raises:
            CountError: what came out is not what went in.
        """
        for file in self.files:
            if not self.lost and file.records != file.recognized + file.rejected:
                raise CountError(
                    f"{file.name}: {file.records} records went in, {file.recognized} were "
                    f"recognized and {file.rejected} rejected; run it again with --resume"
                )
        if (told := sum(self.reasons.values())) != self.rejected:
            raise CountError(f"{self.rejected} records were rejected, but {told} reasons given")

    def write(self, folder: Path) -> None:
        """Writes it into the folder of the results, atomically."""
        totals = {
            "records": self.records,
            "recognized": self.recognized,
            "rejected": self.rejected,
        }
        # In ASCII, since the name of a file need not be text.
        text = json.dumps({"totals": totals, **asdict(self)}, indent=1)
        write_text(folder / NAME, text + "\n")

    def same_run(self, other: "Manifest") -> bool:
        """Whether both are of the same settings and input."""

        def identity(manifest: Manifest) -> Any:
            return manifest.settings, [(file.name, file.bytes) for file in manifest.files]

        return bool(identity(self) == identity(other))


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder, if it has one.

    Raises:
        FileFormatError: it is damaged.
    """
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        del told["totals"]
        return Manifest(**told | {"files": [InputFile(**file) for file in told["files"]]})
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{str(path)!r} is damaged ({error}); use another folder") from error


def begin(folder: Path, manifest: Manifest, *, resume: bool) -> None:
    """Claims a folder for a run: an empty one, or that of the same run when it is to go on.

    Raises:
        InputError: the folder holds something else.
    """
    there = read_manifest(folder)
    if there is None:
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{str(folder)!r} is not empty; name a new folder")
    elif not resume:
        raise InputError(
            f"{str(folder)!r} holds results already; add --resume to go on, or name a new folder"
        )
    elif not manifest.same_run(there):
        raise InputError(
            f"{str(folder)!r} holds the results of another model, other settings or another input; "
            "name a new folder"
        )
    manifest.write(folder)


def by_kind(reasons: list[str]) -> Counter[str]:
    """Reasons without their numbers, so that they can be counted.

    >>> by_kind(["C (atom 3) has 5 bonds", "C (atom 12) has 6 bonds"])
    Counter({'C (atom #) has # bonds': 2})
    """
    return Counter(re.sub(r"\d+(, \d+)*", "#", reason) for reason in reasons)
