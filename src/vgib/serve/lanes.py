"""Lanes: a process for each kind of work, so that no kind has to wait for another."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from vgib.errors import InputError
from vgib.serve.batching import Batcher
from vgib.serve.limits import Limits, within
from vgib.serve.worker import LostWorkerError, Worker

Q = TypeVar("Q")
A = TypeVar("A")
W = TypeVar("W", bound=Sequence[Any])


class Lane(Generic[Q, A]):
    """One process, and the requests that wait for it.

    Args:
        desk: What the process does with a list of questions: one answer for each.
        limits: How much one request may ask for.
        seconds: How long a request may take.
        batch: How much is computed at once.
        batch_seconds: How long that may take; by default as long as a request.
        weight: How much a question is.
    """

    def __init__(
        self,
        desk: Callable[[Sequence[Q]], Sequence[A | Exception]],
        limits: Limits,
        seconds: float,
        *,
        batch: int = 1,
        batch_seconds: float | None = None,
        weight: Callable[[Q], int] = lambda question: 1,
    ) -> None:
        self.seconds, self.batch_seconds = seconds, batch_seconds or seconds
        self.worker = Worker(desk)
        self.starting: asyncio.Future[Any] | None = None
        self.batcher: Batcher[Q, A] = Batcher(
            self._answer, end=self.worker.end, weight=weight, most=batch, waiting=limits.waiting
        )

    async def _answer(self, questions: Sequence[Q]) -> Sequence[A | Exception]:
        found: Sequence[A | Exception] = await self.worker.answer(questions, self.batch_seconds)
        return found

    async def ask(self, question: Q) -> A:
        """The answer to one question.

        Raises:
            BusyError: there is none in time, or too many wait already.
            LostWorkerError: no process survives it.
        """
        assert self.starting is not None
        if not self.starting.done():  # no part of the time that a request may take
            await asyncio.wait([self.starting])
        return await within(self.seconds, self.batcher.ask(question))

    def start(self) -> None:
        """Begins, in the running loop; who asks before the process is there waits for it."""
        self.starting = asyncio.wrap_future(self.worker.warm_up())
        self.batcher.start()

    async def stop(self) -> None:
        """Ends the process; who still waits is told so."""
        await self.batcher.stop()
        self.worker.stop()


async def by_halves(
    ask: Callable[[W], Awaitable[A]], records: W, refuse: Callable[[W, str], A]
) -> list[A]:
    """What comes of records; of those that no process survives, each is refused for itself.

    Args:
        ask: Answers some records.
        records: Anything that can be sliced.
        refuse: The answer for one record that cannot be used, and why.
    """
    try:
        return [await ask(records)]
    except LostWorkerError as error:
        lost = str(error)
    if len(records) == 1:
        return [refuse(records, lost)]
    half = len(records) // 2
    found: list[A] = []
    for part in (records[:half], records[half:]):
        try:
            found += await by_halves(ask, part, refuse)  # type: ignore[arg-type]  # also a W
        except InputError as error:  # none of this half can be used
            one_by_one = (part[place : place + 1] for place in range(len(part)))
            found += [refuse(record, str(error)) for record in one_by_one]  # type: ignore[arg-type]
    return found
