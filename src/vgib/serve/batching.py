"""Requests that come at the same time are computed together.

While one batch is computed in a thread, the requests that arrive wait in a queue; the next batch is
all of them. Nothing waits for a batch to fill up: a lone request is computed at once.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from vgib.serve.limits import BusyError

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(eq=False)
class _Waiting(Generic[Q, A]):
    question: Q
    answer: "asyncio.Future[A]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Batcher(Generic[Q, A]):
    """Answers questions in batches, one batch at a time.

    Args:
        work: Answers a list of questions, in their order; an exception is an answer to one of them.
        weight: How much a question is.
        most: A batch is closed when it weighs this much.
        waiting: Questions beyond this number are turned away.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Q]], Sequence[A | Exception]],
        *,
        weight: Callable[[Q], int] = lambda question: 1,
        most: int = 512,
        waiting: int = 512,
    ) -> None:
        self.work, self.weight, self.most = work, weight, most
        self.queue: asyncio.Queue[_Waiting[Q, A]] = asyncio.Queue(waiting)
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="batch")
        self.task: asyncio.Task[None] | None = None
        self.sizes: list[int] = []

    def start(self) -> None:
        """Begins to answer, in the running loop."""
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends; who still waits is told so."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        while not self.queue.empty():
            waiting = self.queue.get_nowait()
            if not waiting.answer.done():
                waiting.answer.set_exception(BusyError("the service is being stopped"))
        self.thread.shutdown(wait=False, cancel_futures=True)

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
        loop = asyncio.get_running_loop()
        while True:
            batch = await self._gather()
            self.sizes = [*self.sizes[-999:], len(batch)]
            questions = [waiting.question for waiting in batch]
            try:
                answers = await loop.run_in_executor(self.thread, self.work, questions)
            except Exception as error:  # a fault of ours, which each of them is told
                answers = [error] * len(batch)
            for waiting, answer in zip(batch, answers, strict=True):
                if waiting.answer.done():  # it was given up meanwhile
                    continue
                if isinstance(answer, Exception):
                    waiting.answer.set_exception(answer)
                else:
                    waiting.answer.set_result(answer)

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
