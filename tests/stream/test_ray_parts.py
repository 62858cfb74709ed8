"""Bulk recognition on a cluster: every row once, the same as on one machine, whatever happens."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.experiments.engine.test_runner import run
from tests.stream.molecules import Deadly, Slow, small_model, smiles

from vgib.stream.chunks import SIZE, SourceReading, iter_chunks
from vgib.stream.manifest import read_manifest
from vgib.stream.ray_parts import run_parts
from vgib.stream.work import Recognize

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'vgib[ray]'")

SMALL = SourceReading(size=4, part=8)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Recognize:
    return Recognize(str(small_model(tmp_path_factory.mktemp("small"))))


def rows(out: Path, kind: str = "results") -> list[dict[str, Any]]:
    """All rows of the parts, by file and line."""
    found: list[dict[str, Any]] = []
    for path in sorted((out / kind).glob("*.parquet")):
        found += [{"file": path.name[:5], **row} for row in pq.read_table(path).to_pylist()]
    return found


def expected(work: Recognize, *paths: Path, size: int = SMALL.size) -> list[dict[str, Any]]:
    """The rows that one machine makes of these files."""
    return [
        {"file": f"{number:05d}", **row}
        for number, path in enumerate(paths)
        for chunk in iter_chunks(path, SourceReading(size=size))
        for row in work(chunk.records).results.to_pylist()
    ]


def write(path: Path, count: int = 120) -> Path:
    path.write_text("".join(f"{text} m{n}\n" for n, text in enumerate(smiles(count))))
    return path


def parts(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").glob("*.parquet")}


def when(is_time: Callable[[], bool], act: Callable[[], None]) -> Thread:
    """Does something once its time has come, beside the run."""

    def wait() -> None:
        deadline = time.monotonic() + 600
        while not is_time() and time.monotonic() < deadline:
            time.sleep(0.02)
        act()

    thread = Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_any_files_give_the_rows_of_one_machine(
    cluster: Any, work: Recognize, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    texts = smiles(40)
    csv = "smiles,id\n" + "".join(f"{text},c{n}\n" for n, text in enumerate(texts[:20]))
    (source / "a.csv").write_text(csv)
    (source / "b.smi.gz").write_bytes(gzip.compress("\n".join(texts[20:30]).encode()))
    pq.write_table(pa.table({"smiles": texts[30:]}), source / "c.parquet")
    # Garbage, a giant and bad SMILES: each costs itself.
    bad = [b"\xff\x00\x01\n", b"C" * 5000 + b"\n", *[b"C1CC\n"] * 3]
    good = [f"{text}\n".encode() for text in texts[:5]]
    poison = [line for pair in zip(bad, good, strict=True) for line in pair]
    (source / "d.smi").write_bytes(b"".join(poison))
    (source / "e.parquet").write_bytes(os.urandom(1000))
    told: list[float] = []
    out = tmp_path / "out"
    manifest = run_parts(
        source, work, out, "s", SMALL, on_part=lambda manifest, share: told.append(share)
    )
    whole = [source / name for name in ("a.csv", "b.smi.gz", "c.parquet")]
    found = rows(out)
    assert [row for row in found if row["file"] < "00003"] == expected(work, *whole)
    assert [row["line"] for row in found if row["file"] == "00003"] == [2, 4, 6, 8, 10]
    assert [row["line"] for row in rows(out, "rejected")] == [1, 3, 5, 7, 9]
    assert (manifest.records, manifest.recognized, manifest.rejected) == (50, 45, 5)
    assert sum(manifest.reasons.values()) == 5
    assert [bool(file.error) for file in manifest.files] == [False] * 4 + [True]
    assert not manifest.complete and not manifest.lost
    assert told[-1] == 1.0
    assert read_manifest(out) == manifest
    assert json.loads((out / "manifest.json").read_text())["totals"]["records"] == 50


def test_a_killed_actor_and_a_lost_node_cost_no_row_and_double_none(
    cluster: Any, work: Recognize, tmp_path: Path
) -> None:
    lost = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20, include_dashboard=False)
    (tmp_path / "told").mkdir()
    source, out = write(tmp_path / "in.smi"), tmp_path / "out"
    slow = Slow(work, tmp_path / "told", seconds=0.4)

    def kill_an_actor() -> None:
        last = max((tmp_path / "told").iterdir(), key=lambda path: path.name.split("-")[2])
        os.kill(int(last.name.split("-")[1]), signal.SIGKILL)

    told = tmp_path / "told"
    actor = when(lambda: len(parts(out)) >= 2 and any(told.iterdir()), kill_an_actor)
    node = when(
        lambda: len(parts(out)) >= 5, lambda: cluster.remove_node(lost, allow_graceful=False)
    )
    manifest = run_parts(source, slow, out, "s", SMALL)
    actor.join()
    node.join()
    assert rows(out) == expected(work, source)
    assert manifest.complete and (manifest.records, manifest.recognized) == (120, 120)


DRIVER = """
import sys
from pathlib import Path
from tests.experiments.engine.test_runner import run
from tests.stream.molecules import Slow
from vgib.stream.work import Recognize
from vgib.stream.ray_parts import run_parts
from vgib.stream.chunks import SourceReading
model, source, told, out, address = sys.argv[1:]
work = Slow(Recognize(model), Path(told), seconds=0.4)
run_parts(Path(source), work, Path(out), "s", SourceReading(size=4, part=8), address=address)
"""


def test_a_killed_driver_goes_on_without_doing_anything_twice(
    cluster: Any, work: Recognize, tmp_path: Path
) -> None:
    told, source, out = tmp_path / "told", write(tmp_path / "in.smi", 60), tmp_path / "out"
    told.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, work.model, source, told, out, cluster.address],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    when(lambda: len(parts(out)) >= 2 or process.poll() is not None, process.kill).join()
    process.wait()
    when(lambda: ray.available_resources().get("CPU", 0) >= 2, lambda: None).join()
    assert ray.available_resources()["CPU"] >= 2  # its actors have ended with it
    before = parts(out)
    assert 2 <= len(before) < 8
    assert read_manifest(out) is not None
    manifest = run_parts(source, work, out, "s", SMALL, resume=True)
    after = parts(out)
    assert {name: after[name] for name in before} == before
    assert manifest.reused == len(before)
    assert rows(out) == expected(work, source)
    assert manifest.complete and manifest.recognized == 60


def test_what_takes_workers_down_costs_itself_as_does_what_raises(
    cluster: Any, work: Recognize, tmp_path: Path
) -> None:
    texts = [f"{text} m{n}" for n, text in enumerate(smiles(24))]
    texts[3], texts[20] = "CCO raises", "CCN kills"
    source, out = tmp_path / "in.smi", tmp_path / "out"
    source.write_text("\n".join(texts))
    manifest = run_parts(source, Deadly(work.model), out, "s", SMALL)
    assert manifest.complete and not manifest.lost
    assert (manifest.recognized, manifest.rejected) == (22, 2)
    raised, killed = rows(out, "rejected")
    assert "RuntimeError: out of patience" in raised["reason"] and raised["line"] == 4
    assert "cannot survive" in killed["reason"] and killed["line"] == 21


def test_the_command_writes_a_folder(cluster: Any, work: Recognize, tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.smi", 20), tmp_path / "out"
    command = ("recognize", source, "--model", work.model, "--engine", "ray", "--out", out)
    told = json.loads(run(*command, "--json"))
    assert (told["records"], told["recognized"], told["complete"]) == (20, 20, True)
    assert rows(out) == expected(replace(work, details=True), source, size=SIZE)
    assert "add --resume" in run(*command, code=1)
    smiles_instead = ("recognize", "CCO", *command[2:-1], tmp_path / "new")
    assert "a cluster reads files" in run(*smiles_instead, code=2)
