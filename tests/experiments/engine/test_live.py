"""A run as it is seen: counts, means, the time that is left."""

import io
from typing import Any

import pytest
from rich.console import Console

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.live import Board, counts, shown
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Record

MADE = recipe("table4")
JOBS = MADE.jobs(
    subset={
        "dataset": ["MUTAG", "DD"],
        "bottleneck": ["none", "gib"],
        "encoder": "gcn",
        "readout": "sum",
        "fold": [0, 1],
    }
)


def record(accuracy: float = 0.75, seconds: float = 2.0) -> Record:
    return {"result": {"test_accuracy": accuracy}, "seconds": {"job": seconds}}


def board(done: int = 0, workers: int = 1, **more: Any) -> Board:
    return Board(MADE, JOBS, {job.key(): record(**more) for job in JOBS[:done]}, workers)


def drawn(made: Board) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(made.table())
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_nothing_is_known_at_first() -> None:
    assert board().seconds_left() is None
    assert "0 of 8 done" in drawn(board())


def test_what_is_done_and_its_mean_are_shown() -> None:
    made = board(1, accuracy=0.7)
    made.add(JOBS[1], record(0.8))
    assert "2/2 0.750" in drawn(made)
    assert made.done == 2


def test_the_longer_axis_goes_down_so_that_the_table_fits_on_a_terminal() -> None:
    for datasets, methods in ((2, 3), (3, 2)):
        jobs = MADE.jobs(
            subset={
                "dataset": ["MUTAG", "DD", "COLLAB"][:datasets],
                "bottleneck": ["none", "gib", "vgib-paper"][:methods],
                "fold": 0,
            }
        )
        table = Board(MADE, jobs, {}, 1).table()
        assert (table.row_count, len(table.columns)) == (3, 1 + 2)


def test_the_time_left_counts_costs() -> None:
    made = board(2, seconds=3.0)  # two jobs of equal cost took 3 s each
    cost = sum(MADE.cost_of(job) for job in JOBS[2:]) / MADE.cost_of(JOBS[0])
    assert made.seconds_left() == pytest.approx(3.0 * cost)
    assert board(2, seconds=3.0, workers=2).seconds_left() == pytest.approx(1.5 * cost)


def test_a_failed_job_is_counted_and_not_waited_for() -> None:
    made = board()
    for job in JOBS:
        made.add(job, None)
    assert counts(made) == {"done": 0, "jobs": 8, "failed": 8}
    assert "8 failed" in made.state()


@pytest.mark.parametrize("seconds", [1.0, 60.0, 3600.0])
def test_the_time_left_is_told_in_fitting_units(seconds: float) -> None:
    made = board(7, seconds=seconds)
    left = made.seconds_left()
    assert left is not None
    unit = "h left" if left >= 5400 else "min left" if left >= 90 else "s left"
    assert unit in made.state()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_run_is_shown_on_a_terminal_and_in_a_log(terminal: bool) -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=120)
    made = board()
    with shown(made, console) as tell:
        job: Job
        for job in JOBS:
            tell(job, record())
    assert "8 of 8 done" in file.getvalue()
    assert made.done == 8
