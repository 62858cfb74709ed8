"""How large a record or a file may be: every limit of what is read, in one place.

The name of a limit is its option on the command line: ``max_atoms`` is ``--max-atoms``. The limits
of the service, of requests and of time, are in :mod:`vgib.serve.limits`.
"""

import codecs
import zipfile
from dataclasses import dataclass

from vgib.errors import FileFormatError, InputError

MAX_ATOMS = 500
"""Heavy atoms of one molecule. The other limits of a record follow from this one, so that who has
larger molecules raises one number."""

LETTERS_AN_ATOM = 20
"""Letters of a SMILES for each atom that is allowed; some twice what the longest ones need."""

BLOCK_LETTERS_AN_ATOM = 200
"""Letters of a mol block for each atom that is allowed."""


def most_rings(max_atoms: int) -> int:
    """Rings that one record may have: with a hundred RDKit can take half a second to find them."""
    return max(100, max_atoms // 5)


RATIO = 100
"""How many times its size a compressed file may unpack to: tables of molecules reach ten."""

FLOOR = 4_000_000
"""Bytes that any compressed file may unpack to."""


@dataclass(frozen=True)
class FileReading:
    """How the bytes of a file are read, and how many.

    Attributes:
        encoding: Of text.
        max_record: Bytes of one record: a line, a cell or an SD record. A longer one is refused.
        max_unpacked: Bytes that a compressed file may unpack to; by default a hundred times its
            size, and 4 MB in any case.
    """

    encoding: str = "utf-8"
    max_record: int = 200_000
    max_unpacked: int | None = None

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InputError(
                f"no encoding is called {self.encoding!r}; common ones are utf-8, latin-1, cp1252"
            ) from None

    def check_unpacked(self, name: str, packed: int, unpacked: int) -> None:
        """Refuses a file that unpacks to too much.

        Raises:
            FileFormatError: it does, and this is how to allow it.
        """
        most = max(FLOOR, RATIO * packed) if self.max_unpacked is None else self.max_unpacked
        if unpacked > most:
            raise FileFormatError(
                f"{name} unpacks to more than {most:,} bytes, from {packed:,}; if it is to be "
                "trusted, raise the limit with --max-unpacked (max_unpacked in Python)"
            )

    def check_zip(self, name: str, archive: zipfile.ZipFile) -> None:
        """Refuses a zip whose files are too large; they are never read beyond what it declares."""
        infos = archive.infolist()
        packed = sum(info.compress_size for info in infos)
        self.check_unpacked(name, packed, sum(info.file_size for info in infos))


PLAIN = FileReading()


def too_long(what: str, most: int) -> str:
    """Why a line, a cell or a record is refused for its length."""
    return (
        f"{what} is longer than {most:,} bytes; raise the limit with --max-record (max_record in "
        "Python) if this is meant"
    )
