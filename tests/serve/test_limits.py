"""How much one request may ask for."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from vgib.serve.limits import BusyError, Limits, within


def test_an_answer_in_time_is_handed_on() -> None:
    async def quick() -> int:
        return 3

    assert asyncio.run(within(1.0, quick())) == 3


def test_an_answer_that_is_late_is_given_up_with_a_sentence() -> None:
    async def ask() -> None:
        await within(0.01, asyncio.sleep(5))

    with pytest.raises(BusyError, match=r"no answer within 0\.01 seconds"):
        asyncio.run(ask())


def test_a_body_that_is_too_long_is_refused(client: httpx.Client, limits: Limits) -> None:
    text = "x" * (limits.body + 1)
    answer = client.post("/api/v1/table", content=text, headers={"content-type": "text/csv"})
    assert answer.status_code == 413
    assert answer.json()["error"]["kind"] == "TooMuchError"
    assert "200,000 bytes" in answer.json()["error"]["message"]


def test_a_body_of_unknown_length_is_refused_when_it_gets_too_long(
    client: httpx.Client, limits: Limits
) -> None:
    pieces = (b"x" * 10_000 for _ in range(limits.body // 10_000 + 1))
    answer = client.post("/api/v1/table", content=pieces, headers={"content-type": "text/csv"})
    assert answer.status_code == 413


def test_a_body_just_within_the_limit_is_read(client: httpx.Client, limits: Limits) -> None:
    text = "smiles\nCCO\n" + "\n" * (limits.body - 11)
    answer = client.post("/api/v1/table", content=text, headers={"content-type": "text/csv"})
    assert answer.status_code == 200


def test_a_question_may_be_shorter_than_a_table(client: httpx.Client) -> None:
    limits = Limits(body=200, question=100)
    assert [limits.of_route(f"/api/v1/{name}") for name in ("table", "draw")] == [200, 100]
    answer = client.post("/api/v1/draw", content=b"1" * 2_000_001)
    assert answer.status_code == 413 and "2,000,000 bytes" in answer.text


@pytest.mark.parametrize(
    ("route", "asked"),
    [
        ("recognize", {"molecules": [1] * 500_000}),
        ("draw", {"molecule": "CCO", "scores": [""] * 500_000}),
        ("whatif", {"molecule": "CCO", "atoms": [""] * 500_000}),
        ("inspect", {"molecule": "CCO"} | {f"f{number}": 1 for number in range(100_000)}),
    ],
    ids=["molecules", "scores", "atoms", "fields"],
)
def test_of_many_mistakes_the_first_is_told_at_once(
    client: httpx.Client, route: str, asked: dict[str, Any]
) -> None:
    begun = time.process_time()  # the service is a thread of this process
    answer = client.post(f"/api/v1/{route}", json=asked)
    assert answer.status_code == 422 and len(answer.text) < 200
    assert time.process_time() - begun < 2  # half a minute when each was described
