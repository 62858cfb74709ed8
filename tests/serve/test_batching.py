"""Requests that come at the same time are computed together."""

import asyncio
from collections.abc import Sequence

import pytest

from vgib.serve import batching
from vgib.serve.batching import Batcher
from vgib.serve.limits import BusyError
from vgib.serve.worker import LostWorkerError


async def doubled(questions: Sequence[int]) -> list[int | Exception]:
    return [ValueError("three") if question == 3 else 2 * question for question in questions]


class Gate:
    """Work that waits to be let through, and remembers what it was given."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.batches: list[list[int]] = []

    async def __call__(self, questions: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(questions))
        await asyncio.wait_for(self.open.wait(), 60)
        return await doubled(questions)


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

    async def work(questions: Sequence[int]) -> list[int | Exception]:
        calls.append(len(questions))
        if len(calls) == 1:
            raise RuntimeError("broken")
        return await doubled(questions)

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


def test_a_batch_that_is_lost_costs_the_question_to_blame_alone() -> None:
    calls: list[list[int]] = []

    async def work(questions: Sequence[int]) -> list[int | Exception]:
        calls.append(list(questions))
        if 13 in questions:
            raise LostWorkerError("the program did not survive this (SIGSEGV)")
        if 17 in questions:
            raise BusyError("no answer within 1 seconds")
        return await doubled(questions)

    async def main() -> list[int | BaseException]:
        batcher: Batcher[int, int] = Batcher(work)
        asked = [asyncio.create_task(batcher.ask(number)) for number in (1, 13, 2, 17)]
        await asyncio.sleep(0)
        batcher.start()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        answers += await asyncio.gather(batcher.ask(17), return_exceptions=True)
        await batcher.stop()
        return answers

    first, lost, second, late, alone = asyncio.run(main())
    assert (first, second) == (2, 4)
    assert isinstance(lost, LostWorkerError)
    assert isinstance(late, BusyError) and isinstance(alone, BusyError)
    assert calls == [
        [1, 13, 2, 17],
        [1],
        [13],
        [2],
        [17],
        [17],
    ]  # what is late alone is not asked again


def test_a_worker_that_was_killed_for_no_fault_is_asked_again() -> None:
    calls = []

    async def work(questions: Sequence[int]) -> list[int | Exception]:
        calls.append(1)
        if len(calls) == 1:
            raise LostWorkerError("killed")
        return await doubled(questions)

    async def main() -> int:
        batcher: Batcher[int, int] = Batcher(work)
        batcher.start()
        answer = await batcher.ask(4)
        await batcher.stop()
        return answer

    assert asyncio.run(main()) == 8


def test_what_nobody_waits_for_is_ended_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "GRACE", 0.05)

    async def main() -> list[int]:
        ended: list[int] = []
        gate = Gate()
        batcher: Batcher[int, int] = Batcher(gate, end=lambda: ended.append(len(gate.batches)))
        batcher.start()
        one, other = (asyncio.create_task(batcher.ask(number)) for number in (1, 2))
        while not gate.batches:
            await asyncio.sleep(0.001)
        one.cancel()
        await asyncio.sleep(0.1)
        assert not ended  # the other is still there
        other.cancel()
        await asyncio.sleep(0.1)
        gate.open.set()
        assert await batcher.ask(3 + 1) == 8
        await asyncio.sleep(0.1)
        await batcher.stop()
        return ended

    assert asyncio.run(main()) == [1]
