"""A run as it goes on: what is done, how good it is so far, and how long it will take."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record

Told = Callable[[Job, Record | None], None]

LINE_EVERY = 20.0
"""Seconds between two lines where there is no terminal to draw on."""


class Board:
    """Counts and means of a run, by the values of two axes."""

    def __init__(
        self, made: Recipe, jobs: Sequence[Job], done: dict[str, Record], workers: int
    ) -> None:
        self.made, self.workers = made, workers
        self.down, self.across = made.job_type.axes[0], made.job_type.axes[-2]
        self.total = Counter(map(self._place, jobs))
        self.values: dict[tuple[str, str], list[float]] = {}
        self.failed = 0
        self._left = {job.key(): made.cost_of(job) for job in jobs}
        self._paid = self._seconds = 0.0
        for job in jobs:
            if (record := done.get(job.key())) is not None:
                self.add(job, record)

    def _place(self, job: Job) -> tuple[str, str]:
        return str(getattr(job, self.down)), str(getattr(job, self.across))

    def add(self, job: Job, record: Record | None) -> None:
        """A finished job; without a record it has failed."""
        cost = self._left.pop(job.key())
        if record is None:
            self.failed += 1
            return
        self._paid += cost
        self._seconds += record["seconds"]["job"]
        value = record["result"][self.made.job_type.headline]
        self.values.setdefault(self._place(job), []).append(value)

    @property
    def done(self) -> int:
        """Jobs with a record."""
        return sum(map(len, self.values.values()))

    def seconds_left(self) -> float | None:
        """The costs of what is left, at the price that was paid so far; unknown at first."""
        if not self._paid:
            return None
        return sum(self._left.values()) * self._seconds / self._paid / self.workers

    def state(self) -> str:
        """``12 of 2400 done, 3.4 h left``."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {sum(self.total.values())} done{failed}{_left(self.seconds_left())}"

    def table(self) -> Table:
        """What is done of each cell, with the mean of its results; the longer axis goes down."""
        rows = list(dict.fromkeys(down for down, _ in self.total))
        columns = list(dict.fromkeys(across for _, across in self.total))
        lines = [[row, *(self._text((row, column)) for column in columns)] for row in rows]
        lines.insert(0, [f"{self.down} / {self.across}", *columns])
        if len(columns) > len(rows):  # so that it fits on a terminal
            lines = [list(line) for line in zip(*lines, strict=True)]
            lines[0][0] = f"{self.across} / {self.down}"
        table = Table(*lines[0], box=None, header_style="bold", caption=self.state())
        table.columns[0].no_wrap = True
        for line in lines[1:]:
            table.add_row(*line)
        return table

    def _text(self, place: tuple[str, str]) -> str:
        total, values = self.total[place], self.values.get(place, [])
        if not total:
            return ""
        mean = f" {sum(values) / len(values):.3f}" if values else ""
        return f"{len(values)}/{total}{mean}"


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 5400:
        return f", about {seconds / 3600:.1f} h left"
    return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"


@contextmanager
def shown(board: Board, console: Console) -> Iterator[Told]:
    """Draws the board while a run goes on: a table on a terminal, else a line now and then."""
    if console.is_terminal:
        with Live(board.table(), console=console, refresh_per_second=2) as live:

            def redraw(job: Job, record: Record | None) -> None:
                board.add(job, record)
                live.update(board.table())

            yield redraw
        return
    last = monotonic() - LINE_EVERY

    def tell(job: Job, record: Record | None) -> None:
        nonlocal last
        board.add(job, record)
        if monotonic() - last >= LINE_EVERY:
            last = monotonic()
            console.print(f"{job.cell()}: {board.state()}", highlight=False, soft_wrap=True)

    yield tell
    console.print(board.state(), highlight=False, soft_wrap=True)


def counts(board: Board) -> dict[str, Any]:
    """The end of a run, for machines."""
    return {"done": board.done, "jobs": sum(board.total.values()), "failed": board.failed}
