"""Jobs as Ray tasks: the engine of ``vgib run --engine ray``."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import monotonic, perf_counter
from typing import Any, TypeVar

from vgib.data.processes import PATIENCE, Outcome, attempt
from vgib.errors import InputError
from vgib.train.cluster import connected

J = TypeVar("J")
R = TypeVar("R")


class RayEngine:
    """Tasks of a Ray cluster, each on one core with one thread for its arithmetic.

    It does what :class:`~vgib.data.processes.LocalProcesses` does, with the cores of every
    machine of the cluster. A task whose worker or whole node is lost is tried again elsewhere; an
    exception in ``work`` is that job's outcome and is not tried again. Files that ``work`` reads
    must be found under the same path on every machine. Leaving the loop early cancels
    what is under way.

    Args:
        address: The cluster's; see :func:`~vgib.train.cluster.connected`.
        workers: Tasks at once; by default as many as the cluster has cores, also when it grows.
        retries: How often a job is tried again after its worker was lost.
    """

    def __init__(
        self, address: str | None = None, *, workers: int | None = None, retries: int = 3
    ) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"workers must be at least 1; got {workers}")
        self.address = address
        self.workers = workers
        self.retries = retries

    def map(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[Outcome[J, R]]:
        """One outcome for each job, in the order in which they finish."""
        with connected(self.address, cores=self.workers) as ray:
            task = ray.remote(num_cpus=1, max_retries=self.retries)(attempt)
            shared = ray.put(work)
            waiting = iter(jobs)
            running: dict[Any, tuple[J, float]] = {}
            try:
                while True:
                    for job in islice(waiting, max(0, self._room(ray) - len(running))):
                        running[task.remote(shared, job)] = job, perf_counter()
                    if not running:
                        return
                    (done, *_), _ = ray.wait(list(running))
                    job, started = running.pop(done)
                    yield Outcome(job, *_answer(ray, done, started))
            finally:
                _cancel(ray, list(running))

    def _room(self, ray: Any) -> int:
        """How many tasks may be under way; a few in waiting keep every core busy."""
        return self.workers or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))


def _answer(ray: Any, done: Any, started: float) -> tuple[Any, str | None, float, bool]:
    """What came of a task that has ended; also of one that Ray has given up."""
    try:
        return *ray.get(done), False
    except ray.exceptions.RayError as error:
        why = f"the worker was lost: {type(error).__name__}: {error}"
        return None, why, perf_counter() - started, True


def _cancel(ray: Any, tasks: list[Any]) -> None:
    """Ends tasks, as far as Ray can within some seconds; a canceled one counts as done.

    A request that meets a task on its way to a worker is lost, so it is made again.
    """
    deadline = monotonic() + PATIENCE
    while tasks and monotonic() < deadline:
        for task in tasks:
            ray.cancel(task, force=True)
        _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=0.5)
