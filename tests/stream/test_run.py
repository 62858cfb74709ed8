"""A source to files: all outputs agree, and a killed run goes on to the same ones."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.stream.conftest import SMILES

from vgib.errors import FileFormatError, InputError, UnwritableError
from vgib.select.policy import Selection
from vgib.stream.chunks import SourceReading
from vgib.stream.run import (
    Writing,
    free_rejected_file,
    parts_folder,
    recognize_source,
    rejected_file,
    settings_of,
)
from vgib.stream.work import Recognize

OUTS = ("a.csv", "a.jsonl", "a.parquet", "a.sdf", "a.html")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    lines = [f"m{number},{text},{number}" for number, text in enumerate(SMILES)]
    lines.insert(7, "bad,oops,1")
    path.write_text("\n".join(["name,smiles,activity", *lines]) + "\n")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_output_tells_the_same(source: Path, model: Path, tmp_path: Path) -> None:
    outs = tuple(tmp_path / "out" / name for name in OUTS)
    writing = Writing(outs, ledger=tmp_path / "out" / "l.csv", pictures=tmp_path / "pictures")
    tally = recognize_source(source, Recognize(model), writing, SourceReading(carry=("activity",)))
    assert (tally.recognized, tally.refused) == (len(SMILES), 1)
    assert sorted(contents(tmp_path / "out")) == sorted([*OUTS, "a.rejected.csv", "l.csv"])
    table = pq.read_table(outs[2]).to_pylist()
    told = [json.loads(line) for line in outs[1].read_text().splitlines()]
    rows = list(csv.DictReader(outs[0].read_text().splitlines()))
    assert [row["line"] for row in table] == [row["line"] for row in told]
    assert [row["line"] for row in table] == [int(row["line"]) for row in rows]
    assert [row["smiles"] for row in table] == SMILES
    assert [row["activity"] for row in rows] == [str(number) for number in range(len(SMILES))]
    assert [row["id"] for row in rows] == [f"m{number}" for number in range(len(SMILES))]
    refused = list(csv.DictReader(rejected_file(outs[0]).read_text().splitlines()))
    assert [(row["line"], row["id"], row["text"]) for row in refused] == [("9", "bad", "oops")]
    assert "line 9 (oops)" in outs[4].read_text()
    assert len(list((tmp_path / "pictures").iterdir())) == len(SMILES)


def test_the_ledger_compares_a_column_of_the_source(
    source: Path, model: Path, tmp_path: Path
) -> None:
    writing = Writing((tmp_path / "a.html",), ledger=tmp_path / "l.csv", measured="activity")
    work = Recognize(model, Selection(0.1))
    recognize_source(source, work, writing)
    entries = list(csv.DictReader((tmp_path / "l.csv").read_text().splitlines()))
    assert entries and all(int(entry["count"]) > 1 for entry in entries)
    first = entries[0]
    lines = [int(line) for line in first["lines"].split()]
    if int(first["count"]) == len(lines):
        values = [line - 2 - (line > 9) for line in lines]
        assert float(first["mean_with"]) == pytest.approx(sum(values) / len(values), rel=1e-3)
    assert "mean activity of the molecules" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_and_ends_the_same(
    workers: int, source: Path, model: Path, tmp_path: Path
) -> None:
    """``kill -9`` in the middle; then the rest, and every file as if nothing had happened."""
    names = ("a.csv", "a.parquet", "a.html")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from vgib.stream.work import Recognize\n"
        "from vgib.stream.run import *\n"
        "from vgib.data.processes import LocalProcesses\n"
        "if __name__ == '__main__':\n"
        "    source, model, folder, workers = sys.argv[1:]\n"
        f"    outs = tuple(Path(folder) / name for name in {names!r})\n"
        "    engine = LocalProcesses(int(workers)) if workers != '1' else None\n"
        "    recognize_source(Path(source), Recognize(model), Writing(outs),\n"
        "        SourceReading(size=4), engine=engine, on_chunk=lambda tally: time.sleep(60))\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code)

    work = Recognize(model)
    recognize_source(
        source, work, Writing(tuple(whole / name for name in names)), SourceReading(size=4)
    )
    arguments = map(str, (source, model, killed, workers))
    process = subprocess.Popen([sys.executable, script, *arguments])
    parts = parts_folder(killed / names[0])

    def finished() -> list[Path]:
        return list(parts.glob("results/*.parquet"))

    deadline = time.monotonic() + 240  # a busy machine takes minutes to import torch
    while not finished() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    done = len(finished())
    assert done and not any((killed / name).exists() for name in names)
    assert list(killed.glob(".*.part"))  # nobody could clean up
    outs = tuple(killed / name for name in names)
    tally = recognize_source(source, work, Writing(outs), SourceReading(size=4), resume=True)
    assert tally.reused == done
    assert contents(killed) == contents(whole)


def test_other_settings_or_another_model_reuse_nothing(
    source: Path, model: Path, classes: Path
) -> None:
    told = {settings_of(work) for work in (Recognize(model), Recognize(model, Selection(n=2)))}
    told |= {
        settings_of(Recognize(classes)),
        settings_of(Recognize(model, Selection(by="prediction"))),
    }
    assert len(told) == 4
    assert settings_of(Recognize(str(model))) == settings_of(Recognize(model))


def test_without_resume_a_run_starts_anew(source: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    parts_folder(out).mkdir()
    (parts_folder(out) / "old.arrow").touch()
    recognize_source(source, Recognize(model), Writing((out,)))
    assert not parts_folder(out).exists()


@pytest.mark.parametrize(("resume", "n", "reused"), [(True, 1, 1), (True, 2, 0), (False, 1, 0)])
def test_a_run_goes_on_only_where_it_is_asked_to_and_was_begun_alike(
    resume: bool, n: int, reused: int, source: Path, model: Path, tmp_path: Path
) -> None:
    out, reading = Writing((tmp_path / "a.csv",)), SourceReading(size=16)

    def stop(tally: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recognize_source(source, Recognize(model), out, reading, on_chunk=stop)
    work = Recognize(model, Selection(n=n))
    assert recognize_source(source, work, out, reading, resume=resume).reused == reused


@pytest.mark.parametrize("content", ["smiles\noops\nC1CC\n", ""])
def test_nothing_usable_leaves_nothing(content: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(content)
    with pytest.raises(InputError):
        recognize_source(path, Recognize(model), Writing((tmp_path / "a.csv",)))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_breaks_off_keeps_what_was_finished(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    path = tmp_path / "in.smi.gz"
    path.write_bytes(gzip.compress("\n".join([*SMILES, ""]).encode())[:-9])
    with pytest.raises(FileFormatError, match=f"damaged after line {len(SMILES)}"):
        recognize_source(path, Recognize(model), Writing((out,)), SourceReading(size=8))
    assert not out.exists() and parts_folder(out).exists()
    path.write_bytes(gzip.compress("\n".join([*SMILES, ""]).encode()))
    work = Recognize(model)
    tally = recognize_source(path, work, Writing((out,)), SourceReading(size=8), resume=True)
    assert tally.reused >= 4 and tally.recognized == len(SMILES)


def test_a_place_that_cannot_be_written_is_found_before_the_work(
    source: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnwritableError, match="cannot write"):
        recognize_source(source, Recognize(model), Writing((tmp_path / "file" / "a.csv",)))


def test_what_is_only_printed_touches_no_disk(model: Path) -> None:
    work = Recognize(model)
    work.check()
    told: list[Any] = []
    touched: list[str] = []
    is_watched = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if not is_watched:
            return
        if (
            event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        ) or event in ("os.mkdir", "os.rename", "tempfile.mkdtemp", "tempfile.mkstemp"):
            touched.append(f"{event} {arguments[0]}")

    sys.addaudithook(watch)  # nobody can take it away again, so it stops listening
    try:
        recognize_source(["CCO"], work, Writing(stream=told.append))
    finally:
        is_watched = False
    assert len(told) == 1 and touched == []


@pytest.mark.hostile
def test_nothing_that_belongs_to_the_user_is_written_over(
    source: Path, model: Path, tmp_path: Path
) -> None:
    work = Recognize(model)
    link = tmp_path / "link.csv"
    own = tmp_path / "own.csv"
    own.write_text("smiles\nCCO\noops\n")
    link.symlink_to(own)
    for out in (own, link):
        with pytest.raises(InputError, match="is the input itself"):
            recognize_source(own, work, Writing((out,)))
    both = tmp_path / "both.csv"
    with pytest.raises(InputError, match="the output and the ledger"):
        recognize_source(own, work, Writing((both,), ledger=both))
    corrected = tmp_path / "a.rejected.csv"
    corrected.write_text("line,id,text,reason\n3,,CCN,corrected by hand\n")
    with pytest.raises(InputError, match="a list of refused records"):
        recognize_source(own, work, Writing((corrected,)))
    tally = recognize_source(own, work, Writing((tmp_path / "a.csv",)))
    assert tally.rejected_file == tmp_path / "a.2.rejected.csv"
    assert "oops" in tally.rejected_file.read_text()
    assert "corrected by hand" in corrected.read_text()
    again = recognize_source(corrected, work, Writing((tmp_path / "again.csv",)))
    assert (again.recognized, again.refused) == (1, 0)
    assert not list(tmp_path.glob(".*.lock"))


def test_two_runs_at_once_write_two_lists_of_refusals(model: Path, tmp_path: Path) -> None:
    with free_rejected_file(tmp_path / "a.csv") as held:
        tally = recognize_source(["CCO", "oops"], Recognize(model), Writing((tmp_path / "a.sdf",)))
        assert not held.exists()
    assert held == tmp_path / "a.rejected.csv"
    assert tally.rejected_file == tmp_path / "a.2.rejected.csv"
    with free_rejected_file(tmp_path / "a.csv") as free:
        assert free == held


@pytest.mark.hostile
def test_what_is_written_beside_the_ledger_is_not_the_input_nor_the_list_of_refusals(
    model: Path, tmp_path: Path
) -> None:
    work, ledger = Recognize(model), tmp_path / "ledger.csv"
    for name in ("pairs", "cores"):
        own = tmp_path / f"ledger.{name}.csv"
        own.write_text("smiles\nCCO\noops\n")
        with pytest.raises(InputError, match="is the input itself"):
            recognize_source(own, work, Writing((tmp_path / "a.csv",), ledger=ledger))
    outs = (tmp_path / "a.csv", tmp_path / "a.rejected.csv")
    with pytest.raises(InputError, match="a list of refused records; name another file"):
        recognize_source(own, work, Writing(outs))
    assert own.read_text().startswith("smiles") and not any(out.exists() for out in outs)


@pytest.mark.hostile
def test_a_pipe_a_folder_and_a_name_that_is_too_long_are_no_places_for_an_output(
    model: Path, tmp_path: Path
) -> None:
    pipe, folder = tmp_path / "pipe.csv", tmp_path / "folder.csv"
    os.mkfifo(pipe)
    folder.mkdir()
    for out in (pipe, folder):
        with pytest.raises(InputError, match="is no file that can be replaced; name another"):
            recognize_source(["CCO"], Recognize(model), Writing((out,)))
    for letters in (300, 245):  # the longer cannot be a name, the shorter none with more beside it
        with pytest.raises(UnwritableError, match="File name too long"):
            out = tmp_path / f"{'a' * letters}.csv"
            recognize_source(["CCO"], Recognize(model), Writing((out,)))
    assert pipe.is_fifo() and folder.is_dir()


@pytest.mark.hostile
def test_bytes_that_are_no_text_cost_their_record_and_name_no_output(
    model: Path, tmp_path: Path
) -> None:
    said, out = os.fsdecode(b"\xff"), tmp_path / "a.csv"
    tally = recognize_source(
        ["CCO a", f"C{said} b", f"CCN {said}"], Recognize(model), Writing((out,))
    )
    assert (tally.recognized, tally.refused) == (1, 2)
    assert "2,b,C?,holds bytes that are no text" in (tmp_path / "a.rejected.csv").read_text()
    with pytest.raises(InputError, match="holds bytes that are no text; use another name"):
        recognize_source(["CCO"], Recognize(model), Writing((tmp_path / f"{said}.csv",)))
    named = tmp_path / f"{said}.smi"
    named.write_text("CCO a\n")
    assert recognize_source(named, Recognize(model), Writing((tmp_path / "b.csv",))).recognized == 1


@pytest.mark.hostile
def test_two_runs_into_one_output_are_told_of_each_other(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"

    def second(tally: Any) -> None:
        with pytest.raises(InputError, match=rf"being written by process {os.getpid()} on"):
            recognize_source(["CCN"], Recognize(model), Writing((out,)), resume=True)

    recognize_source(["CCO"], Recognize(model), Writing((out,)), on_chunk=second)
    assert recognize_source(["CCN"], Recognize(model), Writing((out,))).recognized == 1


@pytest.mark.hostile
def test_a_run_that_cleans_up_leaves_the_unfinished_files_of_another(
    model: Path, tmp_path: Path
) -> None:
    work, own, other = Recognize(model), tmp_path / "a.parquet", tmp_path / "a.csv"
    parts_folder(own).mkdir()  # what an earlier run left, which was killed

    def second(tally: Any) -> None:
        recognize_source(["CCN"], work, Writing((own,)))

    recognize_source(["CCO"], work, Writing((other,)), on_chunk=second)
    assert [row["smiles"] for row in csv.DictReader(other.read_text().splitlines())] == ["CCO"]
    assert pq.read_table(own)["smiles"].to_pylist() == ["CCN"]
