"""Finished chunks on the disk."""

from pathlib import Path

import pyarrow as pa

from vgib.stream.parts import Parts
from vgib.stream.work import Recognized

CHUNK = pa.table({"line": [1, 2], "smiles": ["C", "CC"]})
FOUND = Recognized(pa.table({"line": [1], "scores": [[0.5]]}), pa.table({"line": [2]}))


def test_a_chunk_is_known_by_place_content_and_settings(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "parts", "settings")
    other = pa.table({"line": [1, 2], "smiles": ["C", "CN"]})
    keys = {
        parts.key(0, CHUNK),
        parts.key(1, CHUNK),
        parts.key(0, other),
        Parts(tmp_path / "parts", "other settings").key(0, CHUNK),
    }
    assert len(keys) == 4
    again = pa.concat_tables([CHUNK.slice(0, 1), CHUNK.slice(1)]).combine_chunks()
    assert parts.key(0, again) == parts.key(0, CHUNK)


def test_what_is_put_is_there_and_comes_back(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "parts", "")
    key = parts.key(0, CHUNK)
    assert key not in parts
    parts.put(key, FOUND)
    assert key in parts and key in Parts(tmp_path / "parts", "")
    assert parts.get(key) == FOUND
    parts.remove()
    assert not (tmp_path / "parts").exists()


def test_half_a_chunk_is_none(tmp_path: Path) -> None:
    parts = Parts(tmp_path, "")
    key = parts.key(0, CHUNK)
    parts.put(key, FOUND)
    (tmp_path / f"{key}.arrow").unlink()  # killed between the two files
    assert key not in parts
