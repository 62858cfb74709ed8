"""A file of molecules that is sent to the service."""

import asyncio
import json
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.serve.support import IMATINIB, PARACETAMOL

from vgib.data.molecules import load_drugs
from vgib.errors import InputError
from vgib.select.policy import Selection
from vgib.serve import uploads
from vgib.serve.limits import BusyError, Limits, TooMuchError
from vgib.serve.shelf import ModelShelf
from vgib.serve.uploads import CHUNK, begun, read_chunks, recognize
from vgib.stream.ledger import Ledger
from vgib.stream.recurring import Recurring
from vgib.stream.schema import Recognized


def send(client: httpx.Client, text: str | bytes, **query: Any) -> httpx.Response:
    headers = {"content-type": "text/csv"}
    return client.post("/api/v1/table", content=text, params=query, headers=headers)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_rows_come_back_with_their_names_and_lines(client: httpx.Client) -> None:
    text = f"name,smiles\nparacetamol,{PARACETAMOL}\nbad,C1CC\nimatinib,{IMATINIB}\n"
    first, *_ = lines(send(client, text, model="values", keep_ratio=0.3))
    assert [(row["line"], row["id"]) for row in first["results"]] == [
        (2, "paracetamol"),
        (4, "imatinib"),
    ]
    assert [(row["line"], row["text"]) for row in first["rejected"]] == [(3, "C1CC")]
    assert (first["done"], first["of"]) == (3, 3)


def test_rows_are_those_of_recognize(client: httpx.Client) -> None:
    first, *_ = lines(send(client, f"smiles\n{IMATINIB}\n", model="values", keep_ratio=0.3))
    asked = {"molecules": [IMATINIB], "model": "values", "keep_ratio": [0.3]}
    (row,) = client.post("/api/v1/recognize", json=asked).json()["results"]
    (other,) = first["results"]
    assert other["prediction"] == pytest.approx(row["prediction"], abs=1e-6)
    assert other["subgraphs"][0]["atoms"] == row["subgraphs"][0]["atoms"]


def test_the_ledger_comes_last_and_counts_fragments(client: httpx.Client) -> None:
    drugs = load_drugs().head(60)[["name", "smiles"]].assign(weight=range(60))
    text = drugs.to_csv(index=False)
    *rows, last = lines(send(client, text, model="values", keep_ratio=0.3, details=True))
    assert last["property"] == "prediction" and last["skipped"] == 0
    counts = {entry["called"]: entry["count"] for entry in last["ledger"]}
    assert min(counts.values()) >= 2 and counts["benzene"] > 10
    benzene = next(entry for entry in last["ledger"] if entry["called"] == "benzene")
    told = {row["line"]: row for step in rows for row in step["results"]}
    assert len(benzene["matches"]) == benzene["count"] and set(benzene["matches"]) <= told.keys()
    assert benzene["mean_effect"] is not None and len(told[2]["effects"]) == len(told[2]["scores"])
    sure = [(one["low"] or 0) * (one["high"] or 0) > 0 for one in last["ledger"]]
    assert sure == sorted(sure, reverse=True)
    measured = lines(send(client, text, model="values", keep_ratio=0.3, property="weight"))[-1]
    assert measured["property"] == "weight"
    pair = next(entry for entry in measured["ledger"] if entry["count"] == 2)
    numbers = [drugs["name"].tolist().index(name) for name in pair["names"]]
    assert pair["mean_with"] == pytest.approx(sum(numbers) / 2)


def test_an_unknown_property_is_refused(client: httpx.Client) -> None:
    answer = send(client, "smiles\nCCO\n", property="logp")
    assert answer.status_code == 422
    assert "logp" in answer.json()["error"]["message"]


def test_a_long_file_is_answered_in_steps(client: httpx.Client) -> None:
    text = "smiles\n" + "CCO\n" * (CHUNK + 10)
    steps = [line for line in lines(send(client, text, model="values")) if "results" in line]
    assert [step["done"] for step in steps] == [CHUNK, CHUNK + 10]


@pytest.mark.parametrize(
    ("format", "text"),
    [("smi", "CCO ethanol\nCCN\n"), ("tsv", "smiles\tname\nCCO\tethanol\nCCN\t\n")],
)
def test_other_kinds_of_files_are_read(client: httpx.Client, format: str, text: str) -> None:
    first, *_ = lines(send(client, text, model="values", format=format))
    assert [row["smiles"] for row in first["results"]] == ["CCO", "CCN"]
    assert first["results"][0]["id"] == "ethanol"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "no column holds SMILES"),
        (b"\x00\x01\x02", "binary"),
        (b"sm\xefles\nCCO\n", "UTF-8"),
    ],
    ids=["empty", "columns", "binary", "encoding"],
)
def test_a_file_that_cannot_be_used_is_refused(
    client: httpx.Client, text: bytes, told: str
) -> None:
    answer = send(client, text)
    assert answer.status_code == 422, answer.text
    assert told in answer.json()["error"]["message"]


def test_too_many_rows_are_too_much() -> None:
    drugs = load_drugs()[["smiles"]].to_csv(index=False).encode()
    with pytest.raises(TooMuchError, match="more than 100 molecules"):
        read_chunks(drugs, format="csv", smiles_column=None, rows=100, most=10**6)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="smile"):
        read_chunks(b"smiles\nC\n", format="csv", smiles_column="smile", rows=10, most=1000)


def told_until_late(shelf: ModelShelf, chunks: int, in_time: int) -> list[dict[str, Any]]:
    """The lines of a table of single rows, of which only the first few are computed in time.

    What recurs is never found in time.
    """
    work = shelf.recognize("values", {"selection": Selection(0.3)})
    asked: list[pa.Table] = []

    async def ask(chunk: pa.Table) -> Recognized:
        asked.append(chunk)
        if len(asked) > in_time:
            raise BusyError("no answer within 30 seconds")
        return work(chunk)

    async def recur(kept: object, counted: object) -> Recurring:
        raise BusyError("no answer within 30 seconds")

    async def every() -> list[str]:
        table = pa.table({"line": [2], "smiles": [PARACETAMOL]})
        told = recognize(ask, work.refuse, [table] * chunks, Ledger(), recur)
        return [line async for line in await begun(told)]

    return [json.loads(line) for line in asyncio.run(every())]


def test_a_table_whose_first_rows_are_late_is_refused_and_not_answered_with_nothing(
    shelf: ModelShelf,
) -> None:
    with pytest.raises(BusyError):  # before a status is sent, which is then 503
        told_until_late(shelf, 3, in_time=0)
    first, error = told_until_late(shelf, 3, in_time=1)
    assert (first["done"], first["of"], len(first["results"])) == (1, 3, 1)
    assert error["error"]["kind"] == "BusyError"
    *steps, last = told_until_late(shelf, 2, in_time=2)
    assert [step["done"] for step in steps] == [1, 2]
    # The recognized part as it was counted, where the search for what recurs takes too long.
    assert [entry["count"] for entry in last["ledger"]] == [2] and last["changes"] == []


def test_a_table_waits_longer_than_its_rows_may_be_computed_for(shelf: ModelShelf) -> None:
    from vgib.serve.api import Service

    tables = Service(shelf, Limits(seconds=7, patience=70)).tables
    assert (tables.batch_seconds, tables.seconds) == (7, 70)


def test_a_table_may_take_exactly_the_memory_that_it_may_take() -> None:
    body, room = b"smiles\nCCO\nCCN\n", uploads.BYTES_IN_MEMORY
    needed = sum(chunk.nbytes for chunk in read_chunks(body, format="csv", rows=10, most=10**6))
    assert needed % room == 0
    assert read_chunks(body, format="csv", rows=10, most=needed // room)
    with pytest.raises(TooMuchError, match="bytes of text"):
        read_chunks(body, format="csv", rows=10, most=needed // room - 1)
