"""Parquet files as rows of text: what is in them, what is too long, and what is damaged."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vgib.data import parquet
from vgib.data.parquet import ParquetRows
from vgib.errors import FileFormatError, InputError
from vgib.limits import FileReading


def file_of(table: pa.Table, **options: object) -> io.BytesIO:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


def test_cells_are_text_and_empty_ones_are_left_out() -> None:
    table = pa.table(
        {"smiles": ["CCO", None], "value": [1.5, 2.0], "many": [[1], [2, 3]], "raw": [b"a", b"b"]}
    )
    rows = ParquetRows(file_of(table), "a.parquet", FileReading())
    assert rows.columns == ["smiles", "value", "raw"]  # lists are no cells
    assert list(rows) == [
        ({"smiles": "CCO", "value": "1.5", "raw": "b'a'"}, None),
        ({"value": "2.0", "raw": "b'b'"}, None),
    ]
    assert (rows.seen, rows.count) == (2, 2)


def test_a_cell_may_be_as_long_as_a_record_and_a_longer_one_costs_its_row() -> None:
    table = pa.table({"smiles": ["C" * 10, "C" * 11, "CC"], "id": ["a", "b", "c"]})
    rows = list(ParquetRows(file_of(table), "a", FileReading(max_record=10)))
    assert rows[0] == ({"smiles": "C" * 10, "id": "a"}, None)
    assert rows[1][0] == {"id": "b"} and "longer than 10 bytes" in str(rows[1][1])
    assert rows[2] == ({"smiles": "CC", "id": "c"}, None)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 24])
def test_rows_are_the_same_however_few_are_written_out_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "BYTES_AT_ONCE", at_once)
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 4)
    smiles = ["C" * (1 + number % 5) for number in range(11)]
    rows = ParquetRows(file_of(pa.table({"smiles": smiles}), row_group_size=3), "a", FileReading())
    assert [row["smiles"] for row, _ in rows] == smiles


def test_a_file_that_declares_too_much_is_refused_before_it_is_read() -> None:
    file = file_of(pa.table({"smiles": ["C" * 5_000_000]}), compression="zstd")
    with pytest.raises(FileFormatError, match="a unpacks to more than 4,000,000 bytes"):
        ParquetRows(file, "a", FileReading())
    (row,) = ParquetRows(file, "a", FileReading(max_unpacked=6_000_000))
    assert row[0] == {} and "longer than 200,000 bytes" in str(row[1])


def test_files_without_rows_and_files_of_other_kinds_are_answered() -> None:
    with pytest.raises(InputError, match="the file is empty; expected one molecule a row"):
        ParquetRows(file_of(pa.table({"smiles": pa.array([], pa.string())})), "a", FileReading())
    with pytest.raises(FileFormatError, match="a is no whole Parquet file"):
        ParquetRows(io.BytesIO(b"PAR1 and nothing more"), "a", FileReading())


def test_a_damaged_page_is_told_with_the_rows_that_were_read(tmp_path: Path) -> None:
    content = bytearray(
        file_of(
            pa.table({"smiles": [f"C{'C' * (i % 50)}{i}" for i in range(9000)]}),
            row_group_size=4096,
            compression="snappy",
            use_dictionary=False,
        ).getvalue()
    )
    about = pq.read_metadata(io.BytesIO(content)).row_group(1).column(0)
    middle = about.data_page_offset + about.total_compressed_size // 2
    content[middle : middle + 2000] = b"\xff" * 2000
    rows = ParquetRows(io.BytesIO(content), "a", FileReading())
    with pytest.raises(FileFormatError, match="the Parquet file is damaged after row 4096"):
        list(rows)
