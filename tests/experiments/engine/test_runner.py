"""Recipes through the command line at toy size: the same records, whatever happens on the way."""

import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from vgib.cli.app import main
from vgib.data.files import locked
from vgib.data.processes import Outcome
from vgib.experiments.engine.finished import Finished
from vgib.experiments.engine.folders import names
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.runner import missing, run_jobs

TOY = ("dataset=TU:Toy", "folds=3", "epochs=1", "encoder=gcn,gin", "readout=sum")


def vgib(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "vgib", *map(str, arguments)]


def run(*arguments: object, code: int = 0) -> str:
    """Runs the command in this process, its workers in theirs; gives what it says."""
    out, err = io.StringIO(), io.StringIO()
    root = logging.getLogger()
    handlers, level, usual = list(root.handlers), root.level, sys.argv
    sys.argv = ["vgib", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
        ended = 0
    except SystemExit as end:
        ended = int(end.code or 0)
    finally:
        sys.argv = usual
        root.handlers[:] = handlers
        root.setLevel(level)
    assert ended == code, err.getvalue()
    return out.getvalue() if code == 0 else err.getvalue()


def results(folder: Path) -> dict[str, Any]:
    return {key: record["result"] for key, record in Records(folder).by_key().items()}


@pytest.fixture(scope="module")
def places(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    return ["--mirror", toy, "--cache", tmp_path_factory.mktemp("cache")]


@pytest.fixture(scope="module")
def finished(places: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every row of table4 on the toy dataset, by two workers."""
    out = tmp_path_factory.mktemp("results")
    told = json.loads(run("run", "table4", *TOY, "--workers", 2, "--out", out, "--json", *places))
    assert told == {"done": (7 + 9) * 3, "jobs": 48, "failed": 0}
    return out


@pytest.mark.parametrize("name", names())
def test_every_recipe_can_be_planned(name: str, tmp_path: Path) -> None:
    told = json.loads(run("run", name, "--dry-run", "--json", "--out", tmp_path))
    assert told == {"done": 0, "jobs": len(recipe(name).jobs()), "failed": 0}
    assert not any(tmp_path.iterdir())


def test_one_worker_and_two_give_the_same_results(
    finished: Path, places: list[object], tmp_path: Path
) -> None:
    some = ("--subset", "encoder=gin", "--subset", "fold=1,2")
    run("run", "table4", *TOY, *some, "--out", tmp_path, *places)
    alone, together = results(tmp_path / "table4"), results(finished / "table4")
    assert len(alone) == 2 * 9
    assert json.dumps(alone, sort_keys=True) == json.dumps(
        {key: together[key] for key in alone}, sort_keys=True
    )


def test_a_record_holds_all_that_it_should(finished: Path) -> None:
    record = next(iter(Records(finished / "table4")))
    assert set(record) == {"key", "job", "result", "seconds", "host", "versions", "code"}
    assert record["job"]["epochs"] == 1 and record["job"]["batch_size"] == 128
    assert record["versions"]["torch"] and record["seconds"]["training"] > 0


def test_what_is_done_is_not_done_again(finished: Path, places: list[object]) -> None:
    files = {path: path.stat().st_mtime_ns for path in finished.rglob("*.jsonl")}
    run("run", "table4", *TOY, "--out", finished, *places)
    assert files == {path: path.stat().st_mtime_ns for path in finished.rglob("*.jsonl")}


def test_what_other_code_recorded_is_done_again_on_request(
    finished: Path, places: list[object], tmp_path: Path
) -> None:
    some = ("--subset", "encoder=gcn", "--subset", "bottleneck=none,gib", "--subset", "fold=0")
    first = Records(finished / "table4").by_key()
    for key, record in first.items():
        if key.startswith(("TU:Toy/sum/gcn/none/0", "TU:Toy/sum/gcn/gib/0")):
            code = {"code": "0" * 12} if "none" in key else {}
            Records(tmp_path / "table4").append(key.rpartition("/")[0], record | code)
    plan = json.loads(
        run("run", "table4", *TOY, *some, "--out", tmp_path, "--again", "--dry-run", "--json")
    )
    assert plan == {"done": 1, "jobs": 2, "failed": 0}
    run("run", "table4", *TOY, *some, "--out", tmp_path, "--again", *places)
    again = Records(tmp_path / "table4").by_key()
    assert len(again) == 2 and "0" * 12 not in {record["code"] for record in again.values()}
    assert all(record["result"] == first[key]["result"] for key, record in again.items())


def test_no_record_is_removed_while_another_process_writes(finished: Path, tmp_path: Path) -> None:
    records = Records(tmp_path / "table4")
    key, record = next(iter(Records(finished / "table4").by_key().items()))
    records.append(key.rpartition("/")[0], record | {"code": "0" * 12})
    with locked(records.folder / ".lock", "this test"):
        told = run("run", "table4", *TOY, "--out", tmp_path, "--again", code=1)
    assert "is being written by" in told and records.by_key().keys() == {key}


def test_a_killed_run_goes_on_where_it_was(
    finished: Path, places: list[object], tmp_path: Path
) -> None:
    some = ("--subset", "bottleneck=gib")
    command = vgib("run", "table4", *TOY, *some, "--out", tmp_path, *places)
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not results(tmp_path / "table4") and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = results(tmp_path / "table4")
    assert 1 <= len(before) < 6
    # As if the kill had come in the middle of a line.
    torn = next(iter(tmp_path.rglob("*.jsonl")))
    whole = torn.read_bytes()
    torn.write_bytes(whole + whole[: len(whole) // 3])
    run("run", "table4", *TOY, *some, "--out", tmp_path, *places)
    after = results(tmp_path / "table4")
    together = results(finished / "table4")
    assert len(after) == 6 and after == {key: together[key] for key in after}
    assert torn.read_bytes().startswith(whole)


def test_the_report_is_drawn_from_the_records(finished: Path, tmp_path: Path) -> None:
    run("report", "table4", "--results", finished, "--out", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"table4.md", "table4.tex", "table4.csv"}
    found = json.loads(run("report", "coverage", "--results", finished, "--json"))
    # The records are of another dataset and fewer epochs: none is one of the table's.
    nothing = {"full_cells": 0, "records": 0, "out_of_date": 0, "unknown": 0}
    assert found["table4"] == {"cells": 360, "jobs": 3600} | nothing
    assert "records" in run("report", "coverage", "--results", finished)
    assert "Figure 2(b)" in run("report", "--results", finished, "--out", tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "Table 1" in page and "Figure 3" in page and "Table 4" in page
    assert json.loads(run("report", "table4", "--results", finished, "--json"))["table4"]


def test_a_report_does_not_need_torch(finished: Path) -> None:
    code = (
        "import sys; from vgib.experiments.engine import drawing, coverage; "
        "from vgib.experiments.engine.recipe import recipe; "
        "from vgib.experiments.engine.records import Records; made = recipe('table4'); "
        f"drawing.draw(made, Records({str(finished)!r})); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_misuse_is_explained(tmp_path: Path) -> None:
    assert "did you mean 'epochs'" in run("run", "table4", "epoch=3", code=2)
    assert "did you mean 'table4'" in run("run", "tabel4", code=2)
    assert "did you mean 'MUTAG'" in run("run", "table4", "--subset", "dataset=MUTAGG", code=2)
    assert "expected key=value" in run("run", "table4", "epochs", code=1)


def test_a_job_that_fails_is_told_and_tried_again_next_time(
    places: list[object], tmp_path: Path
) -> None:
    one = ("--subset", "readout=sum", "--subset", "encoder=gcn", "--subset", "bottleneck=none")
    wrong = ("dataset=TU:Toy", "folds=20", "epochs=1", "--subset", "fold=0")
    told = run("run", "table4", *wrong, *one, "--out", tmp_path, *places, code=1)
    assert "20 folds need at least 20 graphs of each class" in told and "1 failed" in told
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_users_own_data_are_cross_validated(toy: Path) -> None:
    quick = ("--set", "epochs=1", "--set", "hidden=8", "--folds", 3)
    told = json.loads(run("evaluate", toy / "tu" / "Toy.zip", "--encoder", "gin", *quick, "--json"))
    assert len(told["folds"]) == 3
    assert {"value", "low", "high", "spread", "n"} == set(told["metrics"]["accuracy"])


class Inline:
    """An engine without processes: any engine will do."""

    def map(self, work: Any, jobs: Any) -> Iterator[Outcome[Any, Any]]:
        for number, job in enumerate(jobs):
            done = work(job) if number % 2 else None
            yield Outcome(job, done, None if done else "lost", 0.0)


def test_only_what_finished_is_recorded(tmp_path: Path) -> None:
    jobs, records = recipe("table4").jobs()[:4], Records(tmp_path)
    outcomes = list(
        run_jobs(jobs, records, Inline(), lambda job: Finished({"fold": job.fold}, {}), "a")
    )
    written: list[Record | None] = [outcome.result for outcome in outcomes]
    assert [record is None for record in written] == [True, False, True, False]
    assert missing(jobs, records) == [jobs[0], jobs[2]]
