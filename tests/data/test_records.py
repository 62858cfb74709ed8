"""Records of files: what is counted while they are read."""

import gzip
from pathlib import Path

import pytest

from vgib.data.records import open_table
from vgib.limits import FileReading

LINES = [f"{'C' * (1 + number % 7)} name{number}\n" for number in range(20_000)]


@pytest.mark.parametrize("name", ["a.smi", "a.smi.gz"])
def test_the_share_that_was_read_grows_from_nothing_to_one(tmp_path: Path, name: str) -> None:
    content = "".join(LINES).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with open_table(path) as table:
        shares = [table.share() for number, _ in enumerate(table.records) if number % 1000 == 0]
        assert shares[0] is not None and shares[0] < 0.5
        assert shares == sorted(shares) and len(set(shares)) > 2
        assert table.share() == 1


def test_of_lines_that_come_from_elsewhere_no_share_is_known() -> None:
    with open_table(iter(LINES[:5])) as table:
        assert [record.line for record in table.records] == [1, 2, 3, 4, 5]
        assert table.share() is None


def test_a_long_record_of_an_sd_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.sdf").write_text("first\n" + "C" * 300 + "\n$$$$\n")
    with open_table(tmp_path / "a.sdf", how=FileReading(max_record=200)) as table:
        (record,) = table.records
    assert record.fields == {"name": "first"} and "longer than 200 bytes" in str(record.problem)
