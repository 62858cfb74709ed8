"""Finished parts on the disk."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from vgib.stream.parts import PartStore, content_of, part_name, results_file
from vgib.stream.schema import REJECTED, Recognized

CHUNK = pa.table({"line": [1, 2], "smiles": ["C", "CC"]})
RESULTS = pa.table({"line": [1], "scores": [[0.5]]}).replace_schema_metadata({"about": "all"})
REFUSED = pa.table(
    {"line": [2], "id": [None], "text": ["C1"], "reason": ["atom 3 is odd"]}, schema=REJECTED
)
FOUND = Recognized(RESULTS, REFUSED)


def test_a_part_is_known_by_file_place_and_content() -> None:
    other = pa.table({"line": [1, 2], "smiles": ["C", "CN"]})
    names = {
        part_name(0, 0, content_of([CHUNK])),
        part_name(0, 1, content_of([CHUNK])),
        part_name(1, 0, content_of([CHUNK])),
        part_name(0, 0, content_of([other])),
        part_name(0, 0),
    }
    assert len(names) == 5
    again = pa.concat_tables([CHUNK.slice(0, 1), CHUNK.slice(1)]).combine_chunks()
    assert content_of([again]) == content_of([CHUNK])


def test_what_is_put_is_there_and_comes_back(tmp_path: Path) -> None:
    parts, name = PartStore(tmp_path / "parts"), part_name(0, 0)
    assert name not in parts and parts.counts(name) is None
    counts = parts.put(name, FOUND)
    assert name in parts and name in PartStore(tmp_path / "parts")
    found = parts.get(name)
    assert found == FOUND and found.results.schema.metadata == RESULTS.schema.metadata
    assert counts == parts.counts(name)
    reasons = {"atom # is odd": 1}
    assert counts == {"recognized": 1, "rejected": 1, "reasons": reasons, "content": ""}
    parts.remove()
    assert not (tmp_path / "parts").exists()


def test_half_a_part_is_none(tmp_path: Path) -> None:
    parts, name = PartStore(tmp_path), part_name(0, 0)
    parts.put(name, FOUND)
    results_file(tmp_path, name).unlink()  # killed between the two files
    assert name not in parts


def test_a_part_is_a_plain_parquet_file(tmp_path: Path) -> None:
    PartStore(tmp_path).put("00000-000000", FOUND)
    assert pq.read_table(tmp_path / "results" / "00000-000000.parquet").to_pylist() == [
        {"line": 1, "scores": [0.5]}
    ]
