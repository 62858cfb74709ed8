"""Limits of what is read: exactly as much as they say, and a message that tells how to raise them.

What they hold off is in ``tests/test_hostile.py``.
"""

import io
import zipfile

import pytest

from vgib.errors import FileFormatError, InputError
from vgib.limits import FLOOR, RATIO, FileReading, most_rings, too_long


@pytest.mark.parametrize(("max_atoms", "rings"), [(1, 100), (500, 100), (505, 101), (5000, 1000)])
def test_rings_grow_with_the_atoms_beyond_a_hundred(max_atoms: int, rings: int) -> None:
    assert most_rings(max_atoms) == rings


@pytest.mark.parametrize(
    ("how", "packed", "most"),
    [
        (FileReading(), 10, FLOOR),
        (FileReading(), FLOOR, RATIO * FLOOR),
        (FileReading(max_unpacked=7), FLOOR, 7),
        (FileReading(max_unpacked=0), 10, 0),
    ],
    ids=["small", "large", "asked for", "nothing"],
)
def test_a_file_unpacks_to_exactly_the_limit(how: FileReading, packed: int, most: int) -> None:
    how.check_unpacked("a", packed, most)
    with pytest.raises(FileFormatError, match=rf"than {most:,} bytes, from {packed:,};.*--max-unp"):
        how.check_unpacked("a", packed, most + 1)


def test_a_zip_is_judged_by_all_of_its_files_before_one_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a", "b"):
            archive.writestr(name, b"0" * 600)
    with zipfile.ZipFile(file) as archive:
        FileReading(max_unpacked=1200).check_zip("a.zip", archive)
        with pytest.raises(FileFormatError, match=r"a\.zip unpacks to more than 1,199 bytes"):
            FileReading(max_unpacked=1199).check_zip("a.zip", archive)


def test_an_encoding_that_is_none_is_answered_with_common_ones() -> None:
    assert FileReading(encoding="latin-1").encoding == "latin-1"
    with pytest.raises(InputError, match="no encoding is called 'utf-9'; common ones are utf-8"):
        FileReading(encoding="utf-9")


def test_what_is_too_long_names_its_limit() -> None:
    told = too_long("the line", 200_000)
    assert told.startswith("the line is longer than 200,000 bytes") and "--max-record" in told
