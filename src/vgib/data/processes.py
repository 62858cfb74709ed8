"""A map over jobs: results come as they finish, and a worker that dies takes nothing with it."""

import logging
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from vgib.errors import InputError

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that a worker is given to end when it is told to, before it is killed."""


@dataclass(frozen=True)
class Outcome(Generic[J, R]):
    """A finished job: its result, or the reason why there is none.

    Attributes:
        job: What was asked for.
        result: What came of it; ``None`` after an error.
        error: ``None``, or what went wrong, with the place in the program.
        seconds: Wall-clock time in the worker.
        is_lost: Whether the worker died over it, every time that it was tried.
        is_killed: Whether a signal ended that worker, as a crash does; one that cannot even start,
            in a script without ``if __name__ == "__main__":``, ends with an exit code.
    """

    job: J
    result: R | None
    error: str | None
    seconds: float
    is_lost: bool = False
    is_killed: bool = False


class Engine(Protocol):
    """Whatever can do many jobs: processes of this machine, or a cluster."""

    def map(
        self, work: Callable[[J], R], jobs: Iterable[J]
    ) -> Iterator[Outcome[J, R]]:  # pragma: no cover
        """One outcome for each job, in the order in which they finish."""
        ...


AHEAD = 3
"""Jobs for each worker that are taken before the first of them is handed out."""


class LocalProcesses:
    """Fresh processes of this machine, each with one thread for its arithmetic.

    A job and its result travel by pickle, so ``work`` is a function of a module (or a
    ``functools.partial`` of one). A worker that dies (out of memory, killed) is replaced, and its
    job is tried again ``retries`` times before it is given up. An exception in ``work`` is that
    job's outcome; it is not tried again, since it would happen again. Leaving the loop early, by
    Ctrl-C for instance, ends the workers.

    Args:
        workers: How many processes; jobs beyond that wait for their turn.
        retries: How often a job is tried again after its worker has died.
    """

    def __init__(self, workers: int = 1, *, retries: int = 1) -> None:
        if workers < 1:
            raise InputError(f"workers must be at least 1; got {workers}")
        self.workers = workers
        self.retries = retries

    def map(
        self,
        work: Callable[[J], R],
        jobs: Iterable[J],
        *,
        may_take: Callable[[], bool] = lambda: True,
        split: Callable[[J], Sequence[J]] = lambda job: (),
    ) -> Generator[Outcome[J, R], None, None]:
        """One outcome for each job, in the order in which they finish.

        Jobs are taken as they are needed, so that there may be any number of them; a worker gets
        its next job before the outcome of the last is handed out. ``may_take`` is asked before each
        one; it may say no only while a job is under way. A job over which workers die is replaced
        by what ``split`` makes of it, if anything.
        """
        fresh = ((job, 0) for job in jobs)
        again: deque[tuple[J, int]] = deque()
        crew: list[WorkerProcess] = []
        finished: list[Outcome[J, R]] = []
        try:
            while True:
                while sum(bool(worker.task) for worker in crew) < self.workers and may_take():
                    task = again.popleft() if again else next(fresh, None)
                    if task is None:
                        break
                    _idle(crew, work).start(*task)
                yield from finished
                finished = []
                if not any(worker.task for worker in crew):
                    return
                for worker in _ready(crew):
                    done, answer = worker.finish()
                    if answer is not None:
                        finished.append(Outcome(done.job, *answer))
                        continue
                    crew.remove(worker)
                    if done.tries < self.retries:
                        again.append((done.job, done.tries + 1))
                    elif parts := split(done.job):
                        again.extend((part, 0) for part in parts)
                    else:
                        killed = (worker.process.exitcode or 0) < 0
                        told = (worker.epitaph(), done.elapsed(), True, killed)
                        finished.append(Outcome(done.job, None, *told))
        finally:
            for worker in crew:
                worker.stop()


def in_order(
    work: Callable[[J], R], jobs: Iterable[J], *, workers: int, killed: Callable[[J], R]
) -> Generator[R, None, None]:
    """The result of each job in the order of the jobs, from several processes when asked for.

    Jobs are taken as they are needed, and when the next result in turn is late, only a few results
    that came before it are held. The processes are fresh ones, so a script that asks for several
    needs the usual ``if __name__ == "__main__":``. Where they cannot be started, the work goes on
    here. What comes of a job that kills them, ``killed`` tells: it is not tried here, where it
    would end the program.
    """
    fresh = enumerate(jobs)
    open_jobs: dict[int, J] = {}
    early: dict[int, R] = {}
    turn = 0

    def handed_out() -> Iterator[tuple[int, J]]:
        for number, job in fresh:
            open_jobs[number] = job
            yield number, job

    if workers > 1:
        pool, most = LocalProcesses(workers), AHEAD * workers
        paired = partial(on_last, work)
        with closing(
            pool.map(paired, handed_out(), may_take=lambda: len(open_jobs) < most)
        ) as found:
            for outcome in found:
                if outcome.is_killed:
                    number, job = outcome.job
                    early[number] = killed(job)
                elif outcome.error is not None:
                    why = outcome.error.splitlines()[0]
                    logger.warning("%s; going on in this process", why)
                    break
                else:
                    early[outcome.job[0]] = outcome.result  # type: ignore[assignment]  # no error
                while turn in early:
                    del open_jobs[turn]
                    yield early.pop(turn)
                    turn += 1
    for number, job in chain(sorted(open_jobs.items()), fresh):
        yield early.pop(number) if number in early else work(job)


class Piece(NamedTuple, Generic[T]):
    """Some records of a chunk, which can be cut as a list can.

    ``start`` is where in its chunk, whose number is known, its records begin.
    """

    chunk: int
    start: int
    records: T


def piecewise(work: Callable[[T], R], chunks: Iterable[T]) -> Iterator[Outcome[Piece[T], R]]:
    """What comes of chunks of records in a process that may die over them, piece by piece.

    A chunk over which it dies is halved until each record to blame is alone: that piece is lost,
    and all others have a result.
    """
    pieces = (Piece(number, 0, chunk) for number, chunk in enumerate(chunks))
    return LocalProcesses(retries=0).map(partial(on_last, work), pieces, split=_halves)


def _halves(piece: Piece[Any]) -> list[Piece[Any]]:
    number, start, records = piece
    half = len(records) // 2
    cuts = ((start, records[:half]), (start + half, records[half:])) if half else ()
    return [Piece(number, *cut) for cut in cuts]


def on_last(work: Callable[[Any], R], job: Sequence[Any]) -> R:
    """The work on the last field of a job, of which the others tell which job it is."""
    return work(job[-1])


@dataclass
class _Task:
    job: Any
    tries: int
    started: float

    def elapsed(self) -> float:
        return perf_counter() - self.started


class WorkerProcess:
    """A process that takes one job at a time, seen from the parent.

    Args:
        work: What it does with a job; it travels by pickle.
        server: A module; then the process is forked from one that has imported it, and starts in
            no time. Else it is a fresh one: torch's threads do not survive a fork.
    """

    def __init__(self, work: Callable[[Any], Any], *, server: str | None = None) -> None:
        context: Any = get_context("spawn" if server is None else "forkserver")  # of either kind
        if server is not None:
            context.set_forkserver_preload([server])
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.task: _Task | None = None
        self._send(work)

    def _send(self, message: Any) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # dead: finish() will find out
            self.pipe.send(message)

    def start(self, job: Any, tries: int) -> None:
        """Hands the worker a job."""
        self.task = _Task(job, tries, perf_counter())
        self._send(job)

    def finish(self) -> "tuple[_Task, tuple[Any, str | None, float] | None]":
        """The job and its answer, or no answer when the worker died over it."""
        task, self.task = self.task, None
        assert task is not None
        try:
            answer: tuple[Any, str | None, float] = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(PATIENCE)
            self.pipe.close()
            return task, None
        return task, answer

    def epitaph(self) -> str:
        """How the worker ended."""
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"the worker was ended by {signal.Signals(-code).name}, perhaps out of memory"
        return f"the worker ended with exit code {code}"

    def stop(self) -> None:
        """Ends the process, by force when it does not hear."""
        self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _idle(crew: list[WorkerProcess], work: Callable[[Any], Any]) -> WorkerProcess:
    """A worker without a job; a new one where all have one."""
    for worker in crew:
        if worker.task is None:
            return worker
    crew.append(WorkerProcess(work))
    return crew[-1]


def _ready(crew: list[WorkerProcess]) -> list[WorkerProcess]:
    """Waits until at least one busy worker has answered or died, and gives those."""
    busy = {worker.pipe: worker for worker in crew if worker.task}
    return [busy[pipe] for pipe in wait(list(busy)) if isinstance(pipe, Connection)]


def _serve(pipe: Connection) -> None:
    """The life of a worker: one thread, one job after the other, until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    try:
        work = pipe.recv()  # imports what the work needs, torch included
        while True:
            pipe.send(attempt(work, pipe.recv()))
    except (EOFError, OSError):
        return


def attempt(work: Callable[[Any], Any], job: Any) -> tuple[Any, str | None, float]:
    """Does a job with one thread: its result or its error, and the seconds that it took."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
    started = perf_counter()
    try:
        return work(job), None, perf_counter() - started
    except Exception as error:  # the job's outcome, whatever it is
        text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        return None, text, perf_counter() - started


def _end_with_parent() -> None:
    """Ends this process when its parent is killed, however busy it is."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
