"""Any number of molecules through one unit of work: in order, in constant memory, resumable."""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa

from vgib.data.processes import Engine, Outcome, on_last
from vgib.errors import InputError, shortened
from vgib.stream.careful import WorkerError, carefully
from vgib.stream.chunks import Chunk
from vgib.stream.manifest import CountError
from vgib.stream.parts import PartStore, content_of, part_name
from vgib.stream.schema import Recognized
from vgib.stream.work import Recognize

REMEMBERED = 10
"""Refusals and remarks that are kept for the person at the terminal."""

MOST_NOTES = 1000
"""Different remarks that are counted."""

Sink = Callable[[Recognized], None]
"""Takes what came of the chunks, one after the other."""


class ChunkJob(NamedTuple):
    """A chunk on its way to a worker."""

    name: str
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
        records: Records that were read.
        first_refused: The first few refusals: line, text and reason.
        first_notes: The first few remarks: line, SMILES and remark.
        notes: How often each remark was made, of a thousand different ones.
        rejected_file: The file of all refusals, where there is one.
    """

    recognized: int = 0
    refused: int = 0
    reused: int = 0
    share: float | None = None
    records: int = 0
    first_refused: list[dict[str, Any]] = field(default_factory=list)
    first_notes: list[dict[str, Any]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    rejected_file: Path | None = None

    def add(self, found: Recognized) -> None:
        """Counts a chunk."""
        self.recognized += len(found.results)
        self.refused += len(found.rejected)
        room = REMEMBERED - len(self.first_refused)
        self.first_refused += found.rejected.slice(0, room).to_pylist()
        noted = found.results.select(["line", "smiles", "note"])
        noted = noted.filter(noted["note"].is_valid())
        self.first_notes += noted.slice(0, REMEMBERED - len(self.first_notes)).to_pylist()
        if len(self.notes) < MOST_NOTES:
            self.notes.update(noted["note"].to_pylist())


def recognize_all(
    work: Recognize,
    chunks: Iterable[Chunk],
    sinks: Sequence[Sink],
    parts: PartStore | None = None,
    *,
    engine: Engine | None = None,
    on_chunk: Callable[[Tally], None] = lambda tally: None,
    tally: Tally | None = None,
) -> Tally:
    """Recognizes all chunks and hands what came of them to the sinks, in the order of the source.

    With a store, every finished chunk is on the disk before it is used, so that a killed run costs
    no more than the chunks that were under way, and memory holds no more than these. A chunk over
    which a process died, be it a worker or this one in an earlier run, is looked into in a process
    of its own: the record to blame is refused, and the others are used. Without a store
    nothing touches the disk, and chunks that finish early wait in memory.

    Args:
        work: The unit of work.
        chunks: The source; read as it is needed.
        sinks: Writers, ledgers and the like.
        parts: Where finished chunks are kept, if anywhere; what is there is not computed again.
        engine: Processes or a cluster; by default this process.
        on_chunk: Called after each chunk.
        tally: The numbers of the run, for whoever wants to follow them.

    Raises:
        InputError: no molecule can be used.
        WorkerError: a worker failed.
    """
    tally = Tally() if tally is None else tally
    queue = _Queue(parts)

    def jobs() -> Iterator[ChunkJob]:
        for number, chunk in enumerate(chunks):
            tally.records += len(chunk.records)
            content = content_of([chunk.records]) if parts is not None else ""
            name = part_name(0, number, content)
            if queue.add(name, chunk.share):
                tally.reused += 1
            elif engine is None and parts is not None and parts.begin(name) > 1:
                queue.finish(name, *carefully(work, [chunk.records]))
            else:
                yield ChunkJob(name, chunk.records)

    def finished() -> Generator[tuple[Recognized, float | None], None, None]:
        for outcome in (engine or OneProcess()).map(partial(on_last, work), jobs()):
            found = outcome.result
            if outcome.is_lost:
                (found,) = carefully(work, [outcome.job.records])
            if found is None:
                raise _failure(outcome, is_kept=parts is not None)
            queue.finish(outcome.job.name, found)
            yield from queue.ready()
        yield from queue.ready()

    with closing(finished()) as found:  # an error in a sink ends the workers
        for recognized, share in found:
            tally.add(recognized)
            tally.share = share
            for sink in sinks:
                sink(recognized)
            on_chunk(tally)
    if not tally.recognized:
        raise _nothing(tally)
    if tally.records != tally.recognized + tally.refused:
        raise CountError(
            f"{tally.records} records went in, {tally.recognized} were recognized and "
            f"{tally.refused} refused"
        )
    return tally


class _Queue:
    """Chunks in the order of the source; each waits until all before it are finished."""

    def __init__(self, parts: PartStore | None) -> None:
        self.parts = parts
        self.waiting: deque[tuple[str, float | None]] = deque()
        self.done: dict[str, Recognized] = {}

    def add(self, name: str, share: float | None) -> bool:
        """Puts a chunk at the end; gives whether an earlier run has finished it."""
        self.waiting.append((name, share))
        return self.parts is not None and name in self.parts

    def finish(self, name: str, found: Recognized) -> None:
        """Keeps what came of a chunk; in memory only where it is its turn, or there is no disk."""
        if self.parts is not None:
            self.parts.put(name, found)
        if self.parts is None or self.waiting[0][0] == name:
            self.done[name] = found

    def ready(self) -> Iterator[tuple[Recognized, float | None]]:
        """The finished chunks at the head of the queue."""
        while self.waiting:
            name, share = self.waiting[0]
            found = self.done.pop(name, None)
            if found is None and self.parts is not None and name in self.parts:
                found = self.parts.get(name)
            if found is None:
                return
            self.waiting.popleft()
            yield found, share


def _failure(outcome: Outcome[ChunkJob, Recognized], *, is_kept: bool) -> WorkerError:
    lines = outcome.job.records["line"]
    hint = "; what is finished is kept, go on with --resume" if is_kept else ""
    why = str(outcome.error).splitlines()[0]
    return WorkerError(f"lines {lines[0]} to {lines[-1]} could not be recognized: {why}{hint}")


def _nothing(tally: Tally) -> InputError:
    if not tally.first_refused:
        return InputError("there are no molecules; expected one on each line")
    first = tally.first_refused[0]
    shown = shortened(first["text"] or first["id"] or "")
    several = tally.refused > 1
    told = f"none of the {tally.refused} molecules can" if several else "the molecule cannot"
    return InputError(f"{told} be used; line {first['line']} ({shown}): {first['reason']}")
