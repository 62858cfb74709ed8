"""What reads on a cluster starts quickly, and gives every record of a file once, with its line."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.stream.molecules import smiles

from vgib.errors import FileFormatError, InputError
from vgib.stream.chunks import SourceReading, iter_chunks
from vgib.stream.parts import PartStore, part_name
from vgib.stream.ray_reading import Reader, cut, input_files
from vgib.stream.schema import Recognized

SMALL = SourceReading(size=4, part=8)


def test_a_process_that_reads_does_not_import_torch() -> None:
    told = "import sys, vgib.stream.ray_reading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    assert not {"torch", "torch_geometric", "pandas", "scipy"} & set(done.stdout.split())


def test_parts_are_named_by_file_and_number() -> None:
    assert part_name(3, 12) == "00003-000012"


def test_a_file_that_has_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    source, out = tmp_path / "in.smi", tmp_path / "out"
    reader = Reader(out, SourceReading(size=2, part=2))
    empty = pa.table({"reason": pa.array([], pa.string())})

    def told(text: str) -> list[Any]:
        source.write_text(text)
        batch = {"file": np.array([0]), "path": np.array([str(source)])}
        return [json.loads(row["told"][0]) for row in reader(batch)]

    first, *_, last = told("CCO\nCCN\nCCC\n")
    assert last == {"parts": 2, "records": 3, "error": None}
    PartStore(out).put("00000-000000", Recognized(empty, empty), first["content"])
    assert told("CCO\nCCN\nCCC\n")[-1]["error"] is None
    assert "the file has changed" in told("CCO\nCCC\nCCC\n")[-1]["error"]


def rows(path: Path, reading: SourceReading = SMALL) -> list[tuple[int, str]]:
    """Line and text of every record, in the order of the parts."""
    return [
        (row["line"], row["smiles"])
        for part in cut(path, reading)
        for chunk in part.chunks
        for row in chunk.to_pylist()
    ]


@pytest.fixture(params=["in.smi", "in.smi.gz", "in.csv", "in.csv.gz", "in.parquet"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    found = tmp_path / request.param
    if found.suffix == ".parquet":
        pq.write_table(pa.table({"smiles": smiles(30)}), found)
        return found
    header = "smiles\n" if ".csv" in found.name else ""
    text = (header + "".join(f"{text}\n" for text in smiles(30))).encode()
    found.write_bytes(gzip.compress(text) if found.suffix == ".gz" else text)
    return found


def test_parts_hold_the_chunks_of_one_machine(path: Path) -> None:
    parts = list(cut(path, SMALL))
    assert [part.number for part in parts] == list(range(4))
    assert [part.records for part in parts] == [8, 8, 8, 6]
    assert parts[-1].share == 1.0 and all(0 < part.share <= 1 for part in parts)
    found = [chunk for part in parts for chunk in part.chunks]
    expected = [chunk.records for chunk in iter_chunks(path, SourceReading(size=4))]
    assert [chunk.to_pylist() for chunk in found] == [chunk.to_pylist() for chunk in expected]


@pytest.mark.parametrize("name", ["in.smi", "in.csv"])
def test_a_line_that_is_no_text_costs_itself(name: str, tmp_path: Path) -> None:
    lines = [text.encode() for text in smiles(10)]
    lines[3], lines[7] = b'\xff\xfe"\x00garbage', b"CC\x00O"
    path = tmp_path / name
    path.write_bytes(b"smiles\n" + b"\n".join(lines))
    (part,) = cut(path, SourceReading())
    found = part.chunks[0].to_pylist()
    assert [row["line"] for row in found] == list(range(2, 12))
    broken = {row["line"]: row["problem"] for row in found if row["problem"]}
    assert set(broken) == {5, 9} and all("binary data" in why for why in broken.values())


def test_what_comes_before_the_damage_is_given_out(tmp_path: Path) -> None:
    path = tmp_path / "in.smi.gz"
    whole = gzip.compress("".join(f"{text}\n" for text in smiles(2000)).encode())
    path.write_bytes(whole[: len(whole) // 2])
    seen = 0
    with pytest.raises(FileFormatError, match="the gzip file is damaged"):
        for part in cut(path, SMALL):
            seen += part.records
    assert 100 < seen < 2000


def test_a_folder_is_its_files_by_name(tmp_path: Path) -> None:
    for name in ("b.smi", "a.csv.gz", "sub/c.parquet", ".hidden.smi", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("C\n")
    found = [path.relative_to(tmp_path).as_posix() for path in input_files(tmp_path)]
    assert found == ["a.csv.gz", "b.smi", "sub/c.parquet"]
    assert input_files(tmp_path / "b.smi") == [tmp_path / "b.smi"]
    with pytest.raises(InputError, match="holds no molecules"):
        input_files(tmp_path / "nowhere")
