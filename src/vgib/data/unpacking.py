"""Files as bytes and lines, with a bound on what comes out of them.

A small file can unpack to more than any memory holds, and a single line can be as long as a file.
So every file that a user names is read through here, in constant memory.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from vgib.errors import FileFormatError
from vgib.limits import FileReading, too_long

GZIP_MAGIC = b"\x1f\x8b"
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


class _Counted:
    """A file of which we know how much was read, also where it is a pipe."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.count += len(data)
        return data


class _Unpacking(io.RawIOBase):
    """What a gzip file holds, until it is too much."""

    def __init__(self, packed: _Counted, name: str, how: FileReading) -> None:
        self.packed, self.name, self.how, self.total = packed, name, how, 0
        self.unpacked = gzip.GzipFile(fileobj=packed)  # type: ignore[call-overload]  # it only reads

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # typeshed's name for it is not importable
        data = self.unpacked.read1(len(buffer))  # all there is before some damage
        buffer[: len(data)] = data
        self.total += len(data)
        self.how.check_unpacked(self.name, self.packed.count, self.total)
        return len(data)


def opened(raw: Any, name: str, how: FileReading) -> tuple[Any, _Counted, bool]:
    """The bytes of a binary file, of a compressed one what it holds; how much was read; and whether
    it is compressed. Typed loosely, as Python has several unrelated types of binary files.
    """
    source = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    counted = _Counted(source)
    is_gzip = source.peek(2)[:2] == GZIP_MAGIC
    if is_gzip:
        return io.BufferedReader(_Unpacking(counted, name, how), 1 << 16), counted, True
    return source, counted, False


def unpacked_text(path: Path, how: FileReading | None = None) -> str:
    """The text of a file, compressed or not.

    Raises:
        FileFormatError: it is damaged, or unpacks to too much.
    """
    try:
        with path.open("rb") as raw:
            text: str = opened(raw, str(path), how or FileReading())[0].read().decode()
            return text
    except (OSError, *DAMAGED, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} cannot be unpacked ({error}); it is damaged") from error


@dataclass
class Lines:
    """The lines of a file as text; a line that is none is empty here, and a problem.

    ``problems`` says by the number of a line, from 1, why it cannot be used.
    """

    handle: IO[bytes]
    name: str
    how: FileReading
    problems: dict[int, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        number, most = 0, self.how.max_record
        try:
            while raw := self.handle.readline(most + 1):
                number += 1
                if raw == b"\n":
                    yield "\n"
                elif len(raw) > most:
                    self.problems[number] = too_long("the line", most)
                    while raw and not raw.endswith(b"\n"):
                        raw = self.handle.readline(1 << 16)
                    yield "\n"
                else:
                    yield self._text(raw, number)
        except DAMAGED as error:
            raise FileFormatError(
                f"{self.name}: the gzip file is damaged after line {number} ({error}); fetch it "
                "again"
            ) from error

    def _text(self, raw: bytes, number: int) -> str:
        if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FileFormatError(f"{self.name} is UTF-16; save it as UTF-8")
        why = "holds binary data; expected a text file"
        if b"\0" not in raw:
            try:
                text = raw.decode(self.how.encoding)
                return text.removeprefix("\ufeff") if number == 1 else text
            except UnicodeDecodeError as error:
                why = (
                    f"not {self.how.encoding} text ({error.reason}); save the file as UTF-8 or "
                    "give its encoding, for instance --encoding latin-1 (encoding='latin-1')"
                )
        self.problems[number] = why
        return "\n"

    def problem(self, first: int, last: int) -> str | None:
        """Why the record on these lines cannot be used, if one of them is no text."""
        if not self.problems:
            return None
        found = [
            self.problems.pop(line) for line in range(first, last + 1) if line in self.problems
        ]
        return found[0] if found else None


def plain_lines(lines: Iterable[str], how: FileReading) -> Lines:
    """Lines that came as text, which have no problem that a file could have."""
    return _Given(io.BytesIO(), "the given lines", how, given=lines)


@dataclass
class _Given(Lines):
    given: Iterable[str] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)
