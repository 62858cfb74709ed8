"""Jobs on a cluster: all are answered, whatever happens to workers and nodes."""

import json
import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.experiments.engine.test_runner import TOY, run

from vgib.data.processes import LocalProcesses
from vgib.errors import InputError
from vgib.experiments.engine.records import Records
from vgib.stream.ray_engine import RayEngine

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'vgib[ray]'")


def square(job: int) -> int:
    if job < 0:
        raise ValueError("too small")
    return job * job


def die_at_first(job: str) -> str:
    """Kills its worker, unless it has left a mark before."""
    mark = Path(job)
    if mark.exists():
        return "second try"
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def always_die(job: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def threads(job: int) -> int:
    import torch

    return torch.get_num_threads()


def linger(job: tuple[str, int]) -> tuple[str, int]:
    """Says where it runs, and waits until it is told that it may end."""
    folder, number = Path(job[0]), job[1]
    node = ray.get_runtime_context().get_node_id()
    (folder / f"{number}-{time.monotonic_ns()}").write_text(node)
    while not (folder / "go").exists():
        time.sleep(0.05)
    return node, number


def test_every_job_is_answered_once_and_an_exception_is_one_jobs_outcome(cluster: Any) -> None:
    found = {o.job: o for o in RayEngine().map(square, [3, -1, 2, 5])}
    assert {job: o.result for job, o in found.items()} == {3: 9, -1: None, 2: 4, 5: 25}
    assert "too small" in str(found[-1].error)
    assert all(o.error is None for job, o in found.items() if job > 0)


def test_no_jobs_and_too_few_workers(cluster: Any) -> None:
    assert list(RayEngine().map(square, [])) == []
    with pytest.raises(InputError, match="at least 1"):
        RayEngine(workers=0)


def test_a_task_computes_with_one_thread(cluster: Any) -> None:
    assert [o.result for o in RayEngine(workers=1).map(threads, [0])] == [1]


def test_a_job_whose_worker_is_killed_is_tried_again(cluster: Any, tmp_path: Path) -> None:
    (found,) = RayEngine().map(die_at_first, [str(tmp_path / "mark")])
    assert found.result == "second try"


def test_a_job_that_kills_every_worker_is_given_up(cluster: Any) -> None:
    (found,) = RayEngine(retries=1).map(always_die, [1])
    assert found.result is None
    assert "the worker was lost" in str(found.error)


def test_a_lost_node_costs_nothing_but_time(cluster: Any, tmp_path: Path) -> None:
    lost = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20, include_dashboard=False)
    engine = RayEngine(workers=3).map(linger, [(str(tmp_path), n) for n in range(3)])
    deadline = time.monotonic() + 600
    started: set[str] = set()

    def watch() -> None:
        """Takes the third node away once all three are at work."""
        while len(started) < 3 and time.monotonic() < deadline:
            written = (path.read_text() for path in tmp_path.iterdir())
            started.update(filter(None, written))  # a file may be seen before its text is
            time.sleep(0.05)
        cluster.remove_node(lost, allow_graceful=False)
        (tmp_path / "go").touch()

    thread = Thread(target=watch)
    thread.start()
    outcomes = list(engine)
    thread.join()
    assert lost.node_id in started
    assert sorted(o.result[1] for o in outcomes) == [0, 1, 2]
    assert lost.node_id not in {o.result[0] for o in outcomes}


def test_the_records_of_the_grid_are_those_of_the_local_engine(
    cluster: Any, toy: Path, tmp_path: Path
) -> None:
    some = ("--subset", "encoder=gcn", "--subset", "bottleneck=vgib-paper,gib")
    places = ("--mirror", toy, "--cache", tmp_path / "cache")
    for engine in ("local", "ray"):
        run("run", "table4", *TOY, *some, *places, "--out", tmp_path / engine, "--engine", engine)
    local, there = (
        {
            key: json.dumps({k: v for k, v in record.items() if k not in ("seconds", "host")})
            for key, record in Records(tmp_path / engine / "table4").by_key().items()
        }
        for engine in ("local", "ray")
    )
    assert len(local) == 6
    assert local == there


def test_both_engines_are_asked_in_the_same_way(cluster: Any) -> None:
    for engine in (LocalProcesses(1), RayEngine(workers=1)):
        assert [o.result for o in engine.map(square, [4])] == [16]


def test_leaving_the_loop_cancels_what_is_under_way(cluster: Any, tmp_path: Path) -> None:
    jobs: list[Any] = [(str(tmp_path), n) for n in range(2)]
    engine = RayEngine().map(either, [3, *jobs])
    assert next(engine).result == 9
    engine.close()  # type: ignore[attr-defined]  # a generator, as in a for loop that is left
    deadline = time.monotonic() + 300
    while ray.available_resources().get("CPU", 0) < 2:
        assert time.monotonic() < deadline, "the tasks still hold their cores"
        time.sleep(0.1)


def either(job: Any) -> Any:
    return square(job) if isinstance(job, int) else linger(job)
