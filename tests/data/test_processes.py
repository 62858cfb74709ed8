"""Jobs in processes: all are answered, whatever happens to the processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from vgib.data.processes import LocalProcesses, Outcome, in_order, piecewise
from vgib.errors import InputError


def square(job: int) -> int:
    return job * job


def fail_on_two(job: int) -> int:
    if job == 2:
        raise ValueError("two is too many")
    return job


def die(job: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def die_at_first(job: str) -> str:
    """Dies, unless it has left a mark before."""
    mark = Path(job)
    if mark.exists():
        return "second try"
    mark.touch()
    os._exit(3)


def torch_threads(job: int) -> tuple[int, str]:
    import torch

    return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]


def total_without_seven(records: list[int]) -> int:
    """Dies over the number seven."""
    if 7 in records:
        os.kill(os.getpid(), signal.SIGKILL)
    return sum(records)


def doubled(job: Any) -> Any:
    return job + job


def outcomes(
    work: Callable[[Any], Any], jobs: list[Any], **options: Any
) -> list[Outcome[Any, Any]]:
    return list(LocalProcesses(**options).map(work, jobs))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_job_is_answered_once(workers: int) -> None:
    found = outcomes(square, [3, 1, 2], workers=workers)
    assert sorted((o.job, o.result) for o in found) == [(1, 1), (2, 4), (3, 9)]
    assert all(o.error is None and o.seconds >= 0 for o in found)


@pytest.mark.timeout(900)  # a dozen processes, one after the other
def test_a_record_that_kills_its_process_is_found_by_halves(forked: None) -> None:
    found = sorted(piecewise(total_without_seven, [[1, 2], [3, 7, 5, 7]]), key=lambda one: one.job)
    assert [tuple(one.job) for one in found] == [
        (0, 0, [1, 2]),
        (1, 0, [3]),
        (1, 1, [7]),
        (1, 2, [5]),
        (1, 3, [7]),
    ]
    assert [one.result for one in found] == [3, 3, None, 5, None]
    assert [one.is_lost for one in found] == [False, False, True, False, True]


def test_one_worker_keeps_the_order() -> None:
    assert [o.job for o in outcomes(square, [3, 1, 2])] == [3, 1, 2]


def test_no_jobs_need_no_processes() -> None:
    assert outcomes(square, []) == []


def test_an_exception_is_the_outcome_of_its_job_alone() -> None:
    found = {o.job: o for o in outcomes(fail_on_two, [1, 2, 3])}
    assert found[1].result == 1 and found[3].result == 3
    assert found[2].result is None
    assert found[2].error is not None and "two is too many" in found[2].error


def test_a_job_whose_worker_dies_is_tried_again(tmp_path: Path) -> None:
    (found,) = outcomes(die_at_first, [str(tmp_path / "mark")])
    assert found.result == "second try" and found.error is None


def test_a_job_that_keeps_killing_its_worker_is_given_up() -> None:
    first, second = outcomes(die, ["a", "b"])
    assert (first.job, second.job) == ("a", "b")
    assert first.error == "the worker was ended by SIGKILL, perhaps out of memory"


def test_an_exit_code_is_named(tmp_path: Path) -> None:
    (found,) = outcomes(die_at_first, [str(tmp_path / "mark")], retries=0)
    assert found.error == "the worker ended with exit code 3"


def leave(job: int) -> None:
    os._exit(job)


def test_a_worker_that_leaves_without_an_error_is_missed_too() -> None:
    (found,) = outcomes(leave, [0], retries=0)
    assert found.error == "the worker ended with exit code 0"


def test_a_worker_computes_with_one_thread() -> None:
    (found,) = outcomes(torch_threads, [0])
    assert found.result == (1, "1")


def test_large_jobs_and_results_get_through() -> None:
    (found,) = outcomes(doubled, ["x" * 300_000])
    assert found.result == "x" * 600_000


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        LocalProcesses(0)


def test_leaving_the_loop_ends_the_workers() -> None:
    engine = LocalProcesses(2).map(process_id, [0.0, 60.0, 60.0])
    pid = next(engine).result
    assert pid is not None
    engine.close()  # type: ignore[attr-defined]  # a generator, as in a for loop that is left
    assert not is_alive(pid)


def process_id(job: float) -> int:
    time.sleep(job)
    return os.getpid()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


PROGRAM = """
import signal, sys
from vgib.data.processes import LocalProcesses
from tests_parallel_work import sleep_and_tell
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    for outcome in LocalProcesses(1).map(sleep_and_tell, [sys.argv[1]]):
        pass
"""
WORK = """
import os, time, pathlib
def sleep_and_tell(path):
    pathlib.Path(path).write_text(str(os.getpid()))
    time.sleep(120)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "tests_parallel_work.py").write_text(WORK)
    told = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "main.py", told], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 250
    while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    worker = int(told.read_text())
    parent.send_signal(how)
    parent.wait(120)
    while is_alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(worker)


def test_jobs_are_taken_as_they_are_needed() -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            yield taken
            taken += 1

    with closing(LocalProcesses(2).map(square, endless())) as found:
        for _ in range(5):
            outcome = next(found)
            assert outcome.result == outcome.job**2
        assert taken <= 5 + 2  # those that are answered, and one for each worker


# ---- in order ------------------------------------------------------------------------------------


def late_if_even(job: int) -> int:
    time.sleep(0.1 * (job % 2 == 0))
    return job * job


def die_in_a_worker(job: int) -> int:
    if multiprocessing.parent_process() is not None:
        os._exit(3)
    return job * job


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    found = list(in_order(late_if_even, range(7), workers=workers, killed=abs))
    assert found == [job * job for job in range(7)]


def test_only_a_few_jobs_are_taken_ahead() -> None:
    taken: list[int] = []

    def jobs() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    with closing(in_order(square, jobs(), workers=2, killed=abs)) as stream:
        assert next(stream) == 0
        assert len(taken) <= 6


def test_what_no_worker_can_do_is_done_here(caplog: pytest.LogCaptureFixture) -> None:
    assert list(in_order(die_in_a_worker, range(5), workers=2, killed=abs)) == [0, 1, 4, 9, 16]
    assert "the worker ended with exit code 3; going on in this process" in caplog.text


def test_an_error_of_the_work_is_raised_in_its_turn() -> None:
    stream = in_order(fail_on_two, range(4), workers=2, killed=abs)
    assert [next(stream), next(stream)] == [0, 1]
    with pytest.raises(ValueError, match="two is too many"):
        next(stream)


def killed_by_three(job: int) -> int:
    if job == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return job * job


def test_a_job_that_kills_is_not_tried_here(caplog: pytest.LogCaptureFixture) -> None:
    found = list(in_order(killed_by_three, range(6), workers=2, killed=lambda job: -job))
    assert found == [0, 1, 4, -3, 16, 25] and not caplog.text
