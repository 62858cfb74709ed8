"""Workbooks: what a spreadsheet saves is read like a .csv file, within the same bounds."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from vgib.data.molecules import read_molecules
from vgib.data.records import open_table
from vgib.errors import FileFormatError, InputError
from vgib.limits import FileReading


def saved(path: Path, *rows: list[Any], before: tuple[str, ...] = ()) -> Path:
    book = Workbook()
    sheet = book.active
    for title in before:
        sheet.title = title
        sheet = book.create_sheet("data")
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


def test_a_sheet_is_read_like_a_table(tmp_path: Path) -> None:
    header = ["Compound", "SMILES", "pIC50", "active"]
    path = saved(tmp_path / "a.xlsx", header, ["x1", "CCO", 5, True], [], ["x2", "CC", 6.25, None])
    with open_table(path) as table:
        records = list(table.records)
    assert table.columns == header
    assert table.name.endswith("a.xlsx, sheet 'Sheet'")
    assert [record.line for record in records] == [2, 4]
    assert records[0].fields == dict(zip(header, ["x1", "CCO", "5", "True"], strict=True))
    assert records[1].fields == {"Compound": "x2", "SMILES": "CC", "pIC50": "6.25"}
    found = read_molecules(path, target="pIC50", id_column="Compound")
    assert found.names == ("x1", "x2") and found.graphs.y is not None
    assert found.graphs.y.tolist() == [5, 6.25]


def test_the_first_sheet_that_holds_anything_is_read(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xlsx", ["smiles"], ["CCO"], before=("notes",))
    assert read_molecules(path).graphs.ids == ("CCO",)


@pytest.mark.hostile
def test_what_is_no_workbook_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with pytest.raises(InputError, match="the workbook is empty"):
        read_molecules(saved(path))
    path.write_bytes(b"PK, but no zip")
    with pytest.raises(FileFormatError, match=r"is no whole \.xlsx workbook .*; save it again"):
        read_molecules(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "no workbook")
    with pytest.raises(FileFormatError, match=r"is no whole \.xlsx workbook"):
        read_molecules(path)
    whole = saved(path, ["smiles"], ["CCO"]).read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[:-30] if "sheet1" in name else old.read(name))
    with pytest.raises(FileFormatError, match=r"is no whole \.xlsx workbook"):
        read_molecules(path)


@pytest.mark.hostile
def test_workbooks_have_bounds(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xlsx", ["smiles"], ["C" * 300], ["CC"])
    found = read_molecules(path, max_record=200)
    assert found.graphs.ids == ("CC",)
    assert "a cell is longer than 200 bytes" in found.rejected[0].reason
    with pytest.raises(FileFormatError, match="unpacks to more than 100 bytes"):
        read_molecules(path, max_unpacked=100)
    assert FileReading().max_unpacked is None


@pytest.mark.hostile
def test_rows_and_columns_that_are_far_away_cost_nothing(tmp_path: Path) -> None:
    whole = saved(tmp_path / "a.xlsx", ["smiles"], ["CCO"]).read_bytes()
    path = tmp_path / "b.xlsx"
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if "sheet1" in name:
                text = text.replace(b'<row r="2"', b'<row r="99999999"').replace(b"A2", b"XFD2")
            new.writestr(name, text)
    with pytest.raises(InputError, match=r"none of the 0 molecules|no column|empty"):
        read_molecules(path)
