"""Requests that come at the same time are computed together."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from vgib.serve.batching import Batcher
from vgib.serve.limits import BusyError


def doubled(questions: Sequence[int]) -> list[int | Exception]:
    return [ValueError("three") if question == 3 else 2 * question for question in questions]


class Gate:
    """Work that waits to be let through, and remembers what it was given."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.batches: list[list[int]] = []

    def __call__(self, questions: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(questions))
        self.open.wait(5)
        return doubled(questions)


def test_a_lone_question_is_answered_at_once() -> None:
    async def main() -> int:
        batcher: Batcher[int, int] = Batcher(doubled)
        batcher.start()
        answer = await batcher.ask(21)
        await batcher.stop()
        return answer

    assert asyncio.run(main()) == 42


def test_what_waits_is_answered_together_and_in_order() -> None:
    gate = Gate()

    async def main() -> list[int]:
        batcher: Batcher[int, int] = Batcher(gate)
        batcher.start()
        first = asyncio.create_task(batcher.ask(0))
        while not gate.batches:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batcher.ask(number)) for number in (5, 7, 9)]
        await asyncio.sleep(0.01)
        gate.open.set()
        answers = await asyncio.gather(first, *others)
        await batcher.stop()
        return answers

    assert asyncio.run(main()) == [0, 10, 14, 18]
    assert gate.batches == [[0], [5, 7, 9]]


def test_a_batch_is_closed_when_it_is_heavy_enough() -> None:
    gate = Gate()
    gate.open.set()

    async def main() -> None:
        batcher: Batcher[int, int] = Batcher(gate, weight=lambda question: question, most=10)
        asked = [asyncio.create_task(batcher.ask(number)) for number in (6, 5, 1)]
        await asyncio.sleep(0)
        batcher.start()
        await asyncio.gather(*asked)
        await batcher.stop()

    asyncio.run(main())
    assert gate.batches == [[6, 5], [1]]


def test_the_fault_of_one_question_is_not_that_of_the_others() -> None:
    async def main() -> list[int | BaseException]:
        batcher: Batcher[int, int] = Batcher(doubled)
        asked = [asyncio.create_task(batcher.ask(number)) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        batcher.start()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        await batcher.stop()
        return answers

    first, second, third = asyncio.run(main())
    assert (first, third) == (4, 8)
    assert str(second) == "three"


def test_a_failure_of_the_work_is_told_to_all_and_the_next_batch_goes_on() -> None:
    calls = []

    def work(questions: Sequence[int]) -> list[int | Exception]:
        calls.append(len(questions))
        if len(calls) == 1:
            raise RuntimeError("broken")
        return doubled(questions)

    async def main() -> tuple[list[int | BaseException], int]:
        batcher: Batcher[int, int] = Batcher(work)
        asked = [asyncio.create_task(batcher.ask(number)) for number in (1, 2)]
        await asyncio.sleep(0)
        batcher.start()
        failed = await asyncio.gather(*asked, return_exceptions=True)
        answer = await batcher.ask(4)
        await batcher.stop()
        return failed, answer

    failed, answer = asyncio.run(main())
    assert [str(error) for error in failed] == ["broken", "broken"]
    assert answer == 8


def test_too_many_waiting_questions_are_turned_away() -> None:
    async def main() -> None:
        batcher: Batcher[int, int] = Batcher(doubled, waiting=1)
        asked = asyncio.create_task(batcher.ask(1))
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="1 requests wait already"):
            await batcher.ask(2)
        await batcher.stop()
        with pytest.raises(BusyError, match="being stopped"):
            await asked

    asyncio.run(main())


def test_what_was_given_up_is_not_computed() -> None:
    gate = Gate()
    gate.open.set()

    async def main() -> None:
        batcher: Batcher[int, int] = Batcher(gate)
        lost = asyncio.create_task(batcher.ask(1))
        kept = asyncio.create_task(batcher.ask(2))
        await asyncio.sleep(0)
        lost.cancel()
        await asyncio.sleep(0)
        batcher.start()
        assert await kept == 4
        await batcher.stop()

    asyncio.run(main())
    assert gate.batches == [[2]]
