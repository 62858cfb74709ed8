"""Chunks over which a process has died: each is halved until the one record to blame is found."""

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Protocol

import pyarrow as pa

from vgib.data.processes import piecewise
from vgib.errors import VgibError
from vgib.stream.schema import Recognized


class WorkerError(VgibError, RuntimeError):
    """A chunk that a worker could not finish."""


class ChunkWork(Protocol):
    """A chunk to its results and refusals, such as :class:`vgib.stream.work.Recognize`."""

    def __call__(self, chunk: pa.Table) -> Recognized:
        """Does the work."""
        ...

    def refuse(self, chunk: pa.Table, reason: str) -> Recognized:
        """Refuses every record of a chunk."""
        ...


def carefully(work: ChunkWork, chunks: Iterable[pa.Table]) -> list[Recognized]:
    """What comes of chunks, in a process of its own that may die.

    A record that ends the process is refused by its line; all others are dealt with.

    Raises:
        WorkerError: the work raised an error.
    """
    found: dict[int, list[tuple[int, Recognized]]] = defaultdict(list)
    for outcome in piecewise(work, chunks):
        number, start, records = outcome.job
        done = outcome.result
        if outcome.is_lost:
            done = work.refuse(records, f"the program cannot survive this record: {outcome.error}")
        elif done is None:
            raise WorkerError(str(outcome.error).splitlines()[0])
        found[number].append((start, done))
    joined = []
    for number in sorted(found):
        tables = [done for _, done in sorted(found[number], key=itemgetter(0))]
        joined.append(Recognized(*map(pa.concat_tables, zip(*tables, strict=True))))
    return joined
