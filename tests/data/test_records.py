"""Records of files: what is counted while they are read."""

import gzip
from pathlib import Path

import pytest

from vgib.data.records import TITLE, open_table
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


def fields(text: str) -> list[dict[str, str]]:
    """What the lines of a text hold."""
    with open_table(text.splitlines(keepends=True)) as table:
        return [record.fields for record in table.records]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("CCO aspirin tablet", "aspirin tablet"),
        ("  CCO   aspirin  tablet \r\n", "aspirin  tablet"),
        ("CCO\taspirin tablet\t0.5 mg", "aspirin tablet"),
        ("CCO aspirin tablet\t0.5 mg", "aspirin tablet"),
        ("CCO\t\t0.5", ""),
        ("CCO |&1:1,r| aspirin tablet", "aspirin tablet"),
        ("CCO |&1:1|\tZ1\t0.5", "Z1"),
        ("CCO a |b| c", "a |b| c"),
        ("CCO", None),
        ("CCO |&1:1|", None),
    ],
)
def test_the_title_is_all_that_stands_behind_a_smiles_up_to_a_tab(
    line: str, title: str | None
) -> None:
    (found,) = fields(line)
    assert found["0"] == "CCO" and found.get(TITLE) == title


def test_without_a_header_columns_are_words_or_what_stands_between_tabs() -> None:
    assert [found["2"] for found in fields("CCO a 0.5\nCC\ta b\t0.25")] == ["0.5", "0.25"]


@pytest.mark.parametrize(
    ("header", "line", "found"),
    [
        ("SMILES Name", "CCO aspirin tablet", {"SMILES": "CCO", "Name": "aspirin tablet"}),
        ("smiles name dose", "CCO a b c 5", {"smiles": "CCO", "name": "a b c", "dose": "5"}),
        ("smiles dose", "CCO 5 mg", {"smiles": "CCO", "dose": "5"}),
        ("smiles", "CCO aspirin, a tablet", {"smiles": "CCO", "name": "aspirin, a tablet"}),
        ("canonical_smiles\tid", "CCO\ta b", {"canonical_smiles": "CCO", "id": "a b"}),
    ],
)
def test_below_a_header_the_name_takes_the_words_that_are_too_many(
    header: str, line: str, found: dict[str, str]
) -> None:
    assert fields(f"{header}\n{line}") == [found]
