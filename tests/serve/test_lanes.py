"""Lanes: who asks before the process is there waits, and what kills it is refused for itself."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from vgib.errors import InputError
from vgib.serve.lanes import Lane, by_halves
from vgib.serve.limits import BusyError, Limits
from vgib.serve.worker import LostWorkerError


@dataclass(frozen=True)
class SlowToStart:
    """Is ready when it is let, and then doubles."""

    mark: Path

    def __call__(self, asked: Sequence[int] | None) -> list[int]:
        while not self.mark.exists():
            time.sleep(0.01)
        return [2 * number for number in asked or ()]


def test_a_lane_begins_at_once_and_who_asks_waits_for_its_process(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    async def main() -> int:
        lane: Lane[int, int] = Lane(SlowToStart(mark), Limits(), 0.2, batch_seconds=60.0)
        lane.start()  # returns before there is a process: /health need not wait for it
        asked = asyncio.create_task(lane.ask(3))
        await asyncio.sleep(0.5)  # longer than a request may take
        assert not asked.done()
        lane.seconds = 60.0  # from here on a busy machine may be slow
        mark.touch()
        answer = await asked
        await lane.stop()
        return answer

    assert asyncio.run(main()) == 6


def sleeping(asked: Sequence[int] | None) -> list[int]:
    """Is ready at once, and then takes too long."""
    time.sleep(60 if asked else 0)
    return []


def test_a_lane_gives_up_on_what_is_late() -> None:
    async def main() -> None:
        lane: Lane[int, int] = Lane(sleeping, Limits(), 0.1)
        lane.start()
        try:
            await lane.ask(3)
        finally:
            await lane.stop()

    with pytest.raises(BusyError, match=r"within 0\.1 seconds"):
        asyncio.run(main())


def halved(records: str, bad: str = "x", unusable: str = "") -> list[str]:
    """Records in capitals, those that kill as the reason, in parentheses."""
    asked: list[str] = []

    async def ask(part: str) -> str:
        asked.append(part)
        if bad in part:
            raise LostWorkerError("gone")
        if unusable and set(part) <= set(unusable):
            raise InputError("no molecule can be used")
        return part.upper()

    return asyncio.run(by_halves(ask, records, lambda record, why: f"({record} {why})"))


def test_of_records_that_no_process_survives_each_is_refused_for_itself() -> None:
    assert halved("abcd") == ["ABCD"]
    assert halved("abxd") == ["AB", "(x gone)", "D"]
    assert halved("x") == ["(x gone)"]
    assert halved("xabx") == ["(x gone)", "A", "B", "(x gone)"]


def test_a_half_that_cannot_be_used_is_refused_record_by_record() -> None:
    told = ["(u no molecule can be used)"] * 2
    assert halved("uuxd", unusable="u") == [*told, "(x gone)", "D"]
