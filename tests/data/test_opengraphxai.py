"""Reading the sets of OpenGraphXAI and their official splits."""

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from vgib.data import catalog, entries
from vgib.data.entries import Statistics
from vgib.data.opengraphxai import read_opengraphxai, read_split
from vgib.errors import DownloadError, FileFormatError, InputError

ROWS = [
    {"source": "T", "index": 4, "y": 1, "x": [0, 2, 1], "edges": [[0, 1], [1, 2]], "truth": [0, 1]},
    {"source": "T", "index": 9, "y": 0, "x": [3], "edges": [], "truth": None},
]
SPLIT = [{"train": [1], "val": [], "test": [0]}]


def packed(rows: list[dict[str, object]]) -> bytes:
    return gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


def test_graphs_have_labels_edges_and_the_nodes_that_decide(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(packed(ROWS))
    graphs = read_opengraphxai(path)
    assert graphs.x.flatten().tolist() == [0, 2, 1, 3]
    assert graphs.cardinalities == (4,)
    assert graphs.y is not None and graphs.y.tolist() == [1, 0]
    assert graphs.sizes.tolist() == [3, 1]
    assert graphs.is_undirected and graphs.num_edges == 4
    assert graphs.node_truth is not None and graphs.edge_truth is not None
    assert graphs.node_truth.tolist() == [True, True, False, False]
    assert int(graphs.edge_truth.sum()) == 2


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": [0]}\n')
    with pytest.raises(FileFormatError, match="no graphs of OpenGraphXAI"):
        read_opengraphxai(path)
    path.write_text(json.dumps(SPLIT))
    assert read_split(path, 2).test.tolist() == [0]
    with pytest.raises(FileFormatError, match="does not divide the 3 graphs"):
        read_split(path, 3)
    path.write_text("[]")
    with pytest.raises(FileFormatError, match="holds no split"):
        read_split(path, 2)


def test_the_catalog_checks_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "ogx").mkdir(parents=True)
    bodies = {"ogx/t.jsonl.gz": packed(ROWS), "ogx/t_splits.json": json.dumps(SPLIT).encode()}
    sums = {name: hashlib.sha256(body).hexdigest() for name, body in bodies.items()}
    for name, body in bodies.items():
        (mirror / name).write_bytes(body)
    lines = [f"{value}  {name}\n" for name, value in sums.items()]
    (mirror / "SHA256SUMS").write_text("".join(lines))
    made = replace(
        entries.entry("OpenGraphXAI/alfa"),
        file="ogx/t.jsonl.gz",
        split_file="ogx/t_splits.json",
        statistics=Statistics(2, 2.0, 1.0, 2),
        sha256=sums["ogx/t.jsonl.gz"],
        split_sha256=sums["ogx/t_splits.json"],
    )
    monkeypatch.setitem(entries.ENTRIES, made.name, made)
    assert len(catalog.load(made.name, mirror=mirror, cache=tmp_path)) == 2
    assert catalog.load_split(made.name, mirror=mirror, cache=tmp_path).train.tolist() == [1]
    with pytest.raises(InputError, match="no official split"):
        catalog.load_split("MUTAG", mirror=mirror, cache=tmp_path)
    monkeypatch.setitem(entries.ENTRIES, made.name, replace(made, sha256="0" * 64))
    with pytest.raises(DownloadError, match="damaged or of another version"):
        catalog.load(made.name, mirror=mirror, cache=tmp_path)
