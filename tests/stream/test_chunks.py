"""Every kind of source as the same chunks."""

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem

from vgib.data.records import MOLBLOCK
from vgib.errors import FileFormatError, InputError
from vgib.stream.chunks import SourceReading, iter_chunks


def parquet_bytes(**columns: list[object]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


CONTENT = {
    "a.smi": b"CCO ethanol\nCCN amine\n",
    "a.csv": b"name,smiles,dose\nethanol,CCO,1\namine,CCN,2\n",
    "a.tsv": b"name\tsmiles\tdose\nethanol\tCCO\t1\namine\tCCN\t2\n",
    "a.parquet": parquet_bytes(name=["ethanol", "amine"], smiles=["CCO", "CCN"], dose=[1, 2]),
}


@pytest.mark.parametrize("is_gzipped", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("name", CONTENT)
def test_every_kind_of_file_gives_the_same_molecules(
    name: str, is_gzipped: bool, tmp_path: Path
) -> None:
    raw = gzip.compress(CONTENT[name]) if is_gzipped else CONTENT[name]
    path = tmp_path / (f"{name}.gz" if is_gzipped else name)
    path.write_bytes(raw)
    (chunk,) = iter_chunks(path)
    assert chunk.records["smiles"].to_pylist() == ["CCO", "CCN"]
    assert chunk.records["id"].to_pylist() == ["ethanol", "amine"]
    first = 2 if name[2:5] in ("csv", "tsv") else 1
    assert chunk.records["line"].to_pylist() == [first, first + 1]
    assert chunk.share == 1
    # The same from standard input, which has no name to go by.
    (piped,) = iter_chunks(io.BytesIO(raw), SourceReading(format=path.name.split(".")[1]))  # type: ignore[arg-type]
    assert piped.records == chunk.records


def test_sd_records_come_with_their_names_and_tags(tmp_path: Path) -> None:
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")).replace("\n", "ethanol\n", 1)
    path = tmp_path / "a.sdf"
    path.write_text(f"{block}> <dose>\n1.5\n\n$$$$\n{block}$$$$\nbroken\n$$$$\n")
    (chunk,) = iter_chunks(path, SourceReading(carry=("dose",)))
    rows = chunk.records.to_pylist()
    assert [row["id"] for row in rows] == ["ethanol", "ethanol", None]
    assert [row["dose"] for row in rows] == ["1.5", None, None]
    assert rows[0][MOLBLOCK] == block and "no 'M  END' line" in rows[2]["problem"]
    assert [row["line"] for row in rows] == [1, 15, 26]


def test_chunks_have_a_size_and_tell_how_far_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("C\n" * 40_000)
    chunks = list(iter_chunks(path, SourceReading(size=10_000)))
    assert [len(chunk.records) for chunk in chunks] == [10_000] * 4
    shares = [chunk.share or 0.0 for chunk in chunks]
    assert shares == sorted(shares) and 0 < shares[0] < 0.5 and shares[-1] == 1
    assert chunks[1].records["line"][0].as_py() == 10_001
    (unknown,) = iter_chunks(["C", "CC"])
    assert unknown.share is None and unknown.records["id"].null_count == 2


def test_columns_are_found_asked_for_and_carried(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Compound ID,structure,other,y\nX1,CC,CCO,3\nX2,C,N\n")
    (chunk,) = iter_chunks(path, SourceReading(carry=("y",)))
    rows = chunk.records.to_pylist()
    assert rows[0] == {"line": 2, "smiles": "CC", "id": "X1", "problem": None, "y": "3"}
    assert "3 cells where the header has 4" in rows[1]["problem"] and rows[1]["y"] is None
    (chunk,) = iter_chunks(path, SourceReading("other", "y"))
    assert chunk.records.to_pylist()[0]["smiles"] == "CCO"
    assert chunk.records.to_pylist()[0]["id"] == "3"
    with pytest.raises(InputError, match="no column 'yy'"):
        list(iter_chunks(path, SourceReading(carry=("yy",))))
    path.write_text("smiles,scores\nCC,1\n")
    with pytest.raises(InputError, match="'scores' has the name of a result"):
        list(iter_chunks(path, SourceReading(carry=("scores",))))


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.smi", b"", "the file is empty"),
        ("a.csv", b"\n\n", "the file is empty"),
        ("a.parquet", parquet_bytes(smiles=[]), "the file is empty"),
        ("a.csv", b"name,value\nx,1\n", "no column holds SMILES"),
        ("a.smi", b"\x00\x01\x02\x03" * 50, "holds binary data"),
        ("a.smi", b"\xff\xfeC\x00", "UTF-16"),
        ("a.csv", b"sm\xe9les\nC\n", "not utf-8 text"),
        ("a.parquet", b"PAR1 no more", "is no whole Parquet file"),
        (
            "a.parquet.gz",
            gzip.compress(CONTENT["a.parquet"], mtime=0)[:60],
            "the gzip file is damaged",
        ),
        ("a.smi.gz", gzip.compress(b"CCO\n" * 9999, mtime=0)[:60], "the gzip file is damaged"),
        ("a.xls", b"PK", "has no known ending"),
    ],
)
def test_what_cannot_be_read_is_explained(
    name: str, raw: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises((InputError, FileFormatError), match=message):
        list(iter_chunks(path))
