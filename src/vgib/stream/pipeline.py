"""Any number of molecules through one unit of work: in order, in constant memory, resumable."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa

from vgib.data.processes import Engine, Outcome
from vgib.errors import InputError, VgibError
from vgib.stream.chunks import Chunk
from vgib.stream.parts import Parts
from vgib.stream.work import Recognize, Recognized

REMEMBERED = 10
"""Refusals and remarks that are kept for the person at the terminal."""

Sink = Callable[[Recognized], None]
"""Takes what came of the chunks, one after the other."""


class WorkerError(VgibError, RuntimeError):
    """A chunk that a worker could not finish."""


class ChunkJob(NamedTuple):
    """A chunk on its way to a worker."""

    key: str
    records: pa.Table


class OneProcess:
    """The engine that starts nothing: one job after the other, here."""

    def map(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Outcome[Any, Any]]:
        """One outcome for each job, in their order; an error is not caught."""
        for job in jobs:
            started = perf_counter()
            yield Outcome(job, work(job), None, perf_counter() - started)


@dataclass
class Tally:
    """A run in numbers.

    Attributes:
        recognized: Molecules with a result.
        refused: Records without one.
        reused: Of the chunks, those that an earlier run had finished.
        share: How much of the source is done, from 0 to 1; ``None`` where nobody knows.
        first_refused: The first few refusals: line, text and reason.
        first_notes: The first few remarks: line, SMILES and remark.
    """

    recognized: int = 0
    refused: int = 0
    reused: int = 0
    share: float | None = None
    first_refused: list[dict[str, Any]] = field(default_factory=list)
    first_notes: list[dict[str, Any]] = field(default_factory=list)

    def add(self, found: Recognized) -> None:
        """Counts a chunk."""
        self.recognized += len(found.results)
        self.refused += len(found.rejected)
        room = REMEMBERED - len(self.first_refused)
        self.first_refused += found.rejected.slice(0, room).to_pylist()
        if room := REMEMBERED - len(self.first_notes):
            notes = found.results.select(["line", "smiles", "note"])
            self.first_notes += notes.filter(notes["note"].is_valid()).slice(0, room).to_pylist()


def recognize_all(
    work: Recognize,
    chunks: Iterable[Chunk],
    sinks: Sequence[Sink],
    parts: Parts,
    *,
    engine: Engine | None = None,
    on_chunk: Callable[[Tally], None] = lambda tally: None,
    tally: Tally | None = None,
) -> Tally:
    """Recognizes all chunks and hands what came of them to the sinks, in the order of the source.

    Every finished chunk is on the disk before it is used, so that a killed run costs no more than
    the chunks that were under way, and memory holds no more than these, whichever comes first.

    Args:
        work: The unit of work.
        chunks: The source; read as it is needed.
        sinks: Writers, ledgers and the like.
        parts: Where finished chunks are kept; what is there is not computed again.
        engine: Processes or a cluster; by default this process.
        on_chunk: Called after each chunk.
        tally: The numbers of the run, for whoever wants to follow them.

    Raises:
        InputError: no molecule can be used.
        WorkerError: a worker failed or died.
    """
    tally = Tally() if tally is None else tally
    shares: dict[str, float | None] = {}
    waiting: list[str] = []

    def jobs() -> Iterator[ChunkJob]:
        for number, chunk in enumerate(chunks):
            key = parts.key(number, chunk.records)
            waiting.append(key)
            shares[key] = chunk.share
            if key in parts:
                tally.reused += 1
            else:
                yield ChunkJob(key, chunk.records)

    def finished() -> Generator[str, None, None]:
        for outcome in (engine or OneProcess()).map(_Unit(work), jobs()):
            _check(outcome)
            assert outcome.result is not None
            parts.put(outcome.job.key, outcome.result)
            yield from _ready(waiting, parts)
        yield from _ready(waiting, parts)

    with closing(finished()) as keys:  # an error in a sink ends the workers
        for key in keys:
            found = parts.get(key)
            tally.add(found)
            tally.share = shares.pop(key)
            for sink in sinks:
                sink(found)
            on_chunk(tally)
    if not tally.recognized:
        raise _nothing(tally)
    return tally


@dataclass(frozen=True)
class _Unit:
    """The work on a job's table."""

    work: Recognize

    def __call__(self, job: ChunkJob) -> Recognized:
        return self.work(job.records)


def _ready(waiting: list[str], parts: Parts) -> Iterator[str]:
    """The finished chunks at the head of the queue."""
    while waiting and waiting[0] in parts:
        yield waiting.pop(0)


def _check(outcome: Outcome[ChunkJob, Recognized]) -> None:
    if outcome.error is None:
        return
    lines = outcome.job.records["line"]
    raise WorkerError(
        f"lines {lines[0]} to {lines[-1]} could not be recognized: "
        f"{outcome.error.splitlines()[0]}; what is finished is kept, go on with --resume"
    )


def _nothing(tally: Tally) -> InputError:
    if not tally.first_refused:
        return InputError("there are no molecules; expected one on each line")
    first = tally.first_refused[0]
    shown = first["text"] or first["id"] or ""
    return InputError(
        f"none of the {tally.refused} molecules can be used; "
        f"line {first['line']} ({shown}): {first['reason']}"
    )
