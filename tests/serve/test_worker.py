"""A process that computes for the service: replaced when it dies, and ended when it is late."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from vgib.serve.limits import BusyError
from vgib.serve.worker import FaultError, LostWorkerError, Worker


def desk(asked: Any) -> Any:
    """What the process does: a word is an order, a number is doubled."""
    if asked == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if asked == "leave":
        os._exit(3)
    if asked == "sleep":
        time.sleep(60)
    if asked == "fail":
        raise ValueError("a mistake of ours")
    return os.getpid() if asked == "who" else asked and 2 * asked


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker(desk)
    found.warm_up()
    yield found
    found.stop()


def ask(worker: Worker, question: Any, seconds: float = 60.0) -> Any:
    return asyncio.run(worker.answer(question, seconds))


def test_one_process_answers_one_question_after_the_other(worker: Worker) -> None:
    assert [ask(worker, number) for number in (1, 2, 3)] == [2, 4, 6]
    assert ask(worker, "who") == ask(worker, "who") != os.getpid()


@pytest.mark.parametrize(("order", "told"), [("die", "SIGKILL"), ("leave", "exit code 3")])
def test_a_process_that_dies_is_told_of_and_replaced(worker: Worker, order: str, told: str) -> None:
    with pytest.raises(LostWorkerError, match=told):
        ask(worker, order)
    assert ask(worker, 4) == 8


def test_a_process_that_dies_between_two_questions_is_replaced(worker: Worker) -> None:
    os.kill(ask(worker, "who"), signal.SIGKILL)
    with pytest.raises(LostWorkerError):  # who asks again is answered: see Batcher
        ask(worker, 1)
    assert ask(worker, 1) == 2


def test_a_process_that_is_late_is_ended(worker: Worker) -> None:
    before = ask(worker, "who")
    begun = time.monotonic()
    with pytest.raises(BusyError, match=r"no answer within 0\.2 seconds"):
        ask(worker, "sleep", 0.2)
    assert time.monotonic() - begun < 30
    assert ask(worker, "who") != before


def test_a_mistake_of_ours_is_told_with_its_place_and_the_process_goes_on(worker: Worker) -> None:
    before = ask(worker, "who")
    with pytest.raises(FaultError, match=r"a mistake of ours[\s\S]*Traceback"):
        ask(worker, "fail")
    assert ask(worker, "who") == before
