"""Files as bytes and lines: encodings, lengths, and what a damaged file still holds."""

import gzip
import io
from pathlib import Path

import pytest

from vgib.data.unpacking import Lines, opened, plain_lines, unpacked_text
from vgib.errors import FileFormatError
from vgib.limits import FileReading

PLAIN = FileReading()


def lines_of(content: bytes, how: FileReading = PLAIN) -> Lines:
    return Lines(io.BufferedReader(io.BytesIO(content)), "a", how)  # type: ignore[arg-type]


def test_a_compressed_file_is_known_by_its_first_bytes_and_counted_as_it_lies() -> None:
    content = b"CCO\n" * 100_000
    packed = gzip.compress(content)
    handle, counted, is_gzip = opened(io.BytesIO(packed), "a", PLAIN)
    assert is_gzip and handle.read() == content and counted.count == len(packed)
    handle, _, is_gzip = opened(io.BytesIO(content), "a", PLAIN)
    assert not is_gzip and handle.read() == content


def test_unpacking_ends_at_the_limit() -> None:
    packed = gzip.compress(b"C" * 300_000)
    handle, _, _ = opened(io.BytesIO(packed), "a", FileReading(max_unpacked=300_000))
    assert len(handle.read()) == 300_000
    handle, _, _ = opened(io.BytesIO(packed), "a", FileReading(max_unpacked=299_999))
    with pytest.raises(FileFormatError, match="a unpacks to more than 299,999 bytes"):
        handle.read()


def test_a_line_may_be_as_long_as_a_record_with_its_end() -> None:
    how = FileReading(max_record=5)
    lines = lines_of(b"CCCC\nCCCCC\nCC\n" + b"C" * 200_000 + b"\nC", how)
    assert list(lines) == ["CCCC\n", "\n", "CC\n", "\n", "C"]
    assert sorted(lines.problems) == [2, 4]
    assert "the line is longer than 5 bytes" in lines.problems[2]


def test_bytes_that_are_no_text_cost_their_line() -> None:
    lines = lines_of(b"\xef\xbb\xbfCC\n\xe9\nC\0C\n\nCCC")
    assert list(lines) == ["CC\n", "\n", "\n", "\n", "CCC"]
    assert lines.problem(1, 1) is None
    assert "not utf-8 text" in str(lines.problem(1, 2)) and lines.problem(2, 2) is None
    assert lines.problem(3, 5) == "holds binary data; expected a text file"
    assert lines.problem(1, 5) is None


def test_another_encoding_can_be_named_and_utf_16_is_known() -> None:
    assert list(lines_of(b"caf\xe9\n", FileReading(encoding="latin-1"))) == ["café\n"]
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        with pytest.raises(FileFormatError, match="a is UTF-16; save it as UTF-8"):
            list(lines_of(mark + b"C\0C\0\n\0"))
    later = lines_of(b"C\n\xff\xfeC\n")  # only a file begins so
    assert list(later) == ["C\n", "\n"] and 2 in later.problems


def test_of_a_damaged_file_the_lines_before_are_read() -> None:
    packed = gzip.compress(b"".join(b"C%d\n" % number for number in range(100_000)))
    handle, _, _ = opened(io.BytesIO(packed[: len(packed) // 2]), "a", PLAIN)
    found: list[str] = []
    with pytest.raises(FileFormatError, match=r"the gzip file is damaged after line \d+"):
        found.extend(Lines(handle, "a", PLAIN))


def test_lines_that_came_as_text_have_no_problem() -> None:
    lines = plain_lines(["CC", "C\0"], PLAIN)
    assert list(lines) == ["CC", "C\0"] and lines.problem(1, 2) is None


def test_the_text_of_a_file_is_the_same_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert unpacked_text(tmp_path / "a") == unpacked_text(tmp_path / "b.gz") == "one\ntwo\n"
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"one\ntwo\n")[:-9])
    (tmp_path / "d").write_bytes(b"\xff\xfe\xff")
    for name in ("c.gz", "d", "none"):
        with pytest.raises(FileFormatError, match="cannot be unpacked"):
            unpacked_text(tmp_path / name)
