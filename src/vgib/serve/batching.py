"""Requests that come at the same time are computed together.

While one batch is computed, the requests that arrive wait in a queue; the next batch is all of
them. Nothing waits for a batch to fill up: a lone request is computed at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from vgib.serve.limits import BusyError
from vgib.serve.worker import LostWorkerError

Q = TypeVar("Q")
A = TypeVar("A")

GRACE = 2.0
"""Seconds that a computation may go on for after everybody who waited for it has left: less would
end processes that are about to be needed again."""


@dataclass(eq=False)
class _Waiting(Generic[Q, A]):
    question: Q
    answer: "asyncio.Future[A]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Batcher(Generic[Q, A]):
    """Answers questions in batches, one batch at a time.

    A batch that is lost or late is computed again question by question, so that one costs itself.

    Args:
        work: Answers a list of questions, in their order; an exception is an answer to one of them.
        end: Ends a computation that nobody waits for any more.
        weight: How much a question is.
        most: A batch is closed when it weighs this much.
        waiting: Questions beyond this number are turned away.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Q]], Awaitable[Sequence[A | Exception]]],
        *,
        end: Callable[[], None] = lambda: None,
        weight: Callable[[Q], int] = lambda question: 1,
        most: int = 512,
        waiting: int = 512,
    ) -> None:
        self.work, self.end, self.weight, self.most = work, end, weight, most
        self.queue: asyncio.Queue[_Waiting[Q, A]] = asyncio.Queue(waiting)
        self.task: asyncio.Task[None] | None = None
        self.sizes: list[int] = []

    def start(self) -> None:
        """Begins to answer, in the running loop."""
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stops answering, and tells everybody who still waits."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        while not self.queue.empty():
            waiting = self.queue.get_nowait()
            if not waiting.answer.done():
                waiting.answer.set_exception(BusyError("the service is being stopped"))

    async def ask(self, question: Q) -> A:
        """The answer to one question.

        Raises:
            BusyError: too many wait already.
        """
        waiting: _Waiting[Q, A] = _Waiting(question)
        try:
            self.queue.put_nowait(waiting)
        except asyncio.QueueFull:
            raise BusyError(
                f"{self.queue.maxsize} requests wait already; try again in a moment"
            ) from None
        return await waiting.answer

    async def _run(self) -> None:
        while True:
            batch = await self._gather()
            self.sizes = [*self.sizes[-999:], len(batch)]
            try:
                await self._answer(batch)
            except (BusyError, LostWorkerError) as error:
                if isinstance(error, BusyError) and len(batch) == 1:
                    _tell(batch[0], error)
                for waiting in batch:
                    await self._alone(waiting)

    async def _alone(self, waiting: _Waiting[Q, A]) -> None:
        """Answers a question whose batch was lost or late; it is to blame when this is so again."""
        if waiting.answer.done():
            return
        try:
            await self._answer([waiting])
        except (BusyError, LostWorkerError) as error:
            _tell(waiting, error)

    async def _answer(self, batch: Sequence[_Waiting[Q, A]]) -> None:
        loop = asyncio.get_running_loop()
        end: asyncio.TimerHandle | None = None
        is_over = False

        def left(answer: "asyncio.Future[A]") -> None:
            nonlocal end
            if not is_over and all(waiting.answer.done() for waiting in batch):
                end = loop.call_later(GRACE, self.end)

        for waiting in batch:
            waiting.answer.add_done_callback(left)
        answers: Sequence[A | Exception]
        try:
            answers = await self.work([waiting.question for waiting in batch])
        except (BusyError, LostWorkerError):
            raise
        except Exception as error:  # a fault of ours, which each of them is told
            answers = [error] * len(batch)
        finally:
            is_over = True
            if end is not None:
                end.cancel()
        for waiting, answer in zip(batch, answers, strict=True):
            _tell(waiting, answer)

    async def _gather(self) -> list[_Waiting[Q, A]]:
        """The first that comes, and all that wait with it."""
        batch: list[_Waiting[Q, A]] = []
        weight = 0
        while not batch or (weight < self.most and not self.queue.empty()):
            waiting = await self.queue.get()
            if not waiting.answer.done():
                batch.append(waiting)
                weight += self.weight(waiting.question)
        return batch


def _tell(waiting: _Waiting[Q, A], answer: A | Exception) -> None:
    if waiting.answer.done():  # it was given up meanwhile
        return
    if isinstance(answer, Exception):
        waiting.answer.set_exception(answer)
    else:
        waiting.answer.set_result(answer)
