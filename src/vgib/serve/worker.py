"""A process that computes for the service, and that can be ended when its time is over.

RDKit and torch hold the interpreter's lock while they work, and what crashes them ends a process.
So the process that talks to the network never calls them: it stays alive, and knows the time.
"""

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from vgib.data.processes import PATIENCE, WorkerProcess
from vgib.errors import VgibError
from vgib.serve.limits import BusyError

SERVER = "vgib.serve.tasks"
"""What processes are forked from: a process that has imported this, and has done nothing yet."""

START_SECONDS = 120.0
"""How long a process may take to start and to load the models."""

READY = None
"""The job that a process is given at first, which does nothing."""


class LostWorkerError(VgibError, RuntimeError):
    """A process that died while it computed."""


class FaultError(RuntimeError):
    """An error in the program itself; its text is the traceback."""


class Worker:
    """One process, replaced whenever it dies or is ended.

    Args:
        work: What is done with a question: a callable of a module, which travels by pickle.
    """

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="worker")
        self.process: WorkerProcess | None = None
        self.is_over = False

    async def answer(self, question: Any, seconds: float) -> Any:
        """What the work makes of a question.

        Raises:
            BusyError: it did not within these seconds; the process was ended.
            LostWorkerError: the process died.
            FaultError: the work raised an error that is none of ours.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.thread, self._answer, question, seconds)

    def warm_up(self) -> "Future[Any]":
        """Has the process started, so that the first question need not wait for it."""
        return self.thread.submit(self._started)

    def _started(self) -> None:
        with suppress(
            FaultError, BusyError, LostWorkerError
        ):  # who asks is told, when it fails again
            self._ready()

    def _ready(self) -> WorkerProcess:
        """The process, started and with its models loaded."""
        if self.process is None:
            process = self.process = WorkerProcess(self.work, server=SERVER)
            if self.is_over:
                self.end()
            process.start(READY, 0)
            try:
                self._wait(process, START_SECONDS)
            except FaultError:
                process.stop()
                self.process = None
                raise
        return self.process

    def _answer(self, question: Any, seconds: float) -> Any:
        process = self._ready()
        process.start(question, 0)
        return self._wait(process, seconds)

    def _wait(self, process: WorkerProcess, seconds: float) -> Any:
        if not process.pipe.poll(seconds):
            self.end()
            process.finish()
            self.process = None
            raise BusyError(
                f"no answer within {seconds:g} seconds; ask for less at once, or try again later"
            )
        _, answer = process.finish()
        if answer is None:
            self.process = None
            code = process.process.exitcode or 0
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise LostWorkerError(f"the program did not survive this ({how})")
        result, error, _ = answer
        if error is not None:
            raise FaultError(error)
        return result

    def end(self) -> None:
        """Ends the process, whatever it does; the next question starts another."""
        process = self.process
        if process is not None:
            process.process.kill()

    def stop(self) -> None:
        """Ends for good."""
        self.is_over = True
        self.end()
        self.thread.shutdown(wait=False, cancel_futures=True)
        if self.process is not None:
            self.process.process.join(PATIENCE)
