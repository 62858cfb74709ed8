"""What a process of the service computes, and how the parts of an answer are put together."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.serve.support import PARACETAMOL

from vgib.errors import InputError
from vgib.serve.recognition import Question
from vgib.serve.schemas import DrawRequest, ExplainRequest, InspectRequest, WhatIfRequest
from vgib.serve.shelf import ModelShelf
from vgib.serve.tasks import (
    Desk,
    answered,
    drawn,
    explained,
    inspected,
    recognized,
    table_chunks,
    what_if,
)
from vgib.serve.worker import LostWorkerError


@pytest.fixture(scope="module")
def desk(shelf: ModelShelf) -> Desk:
    return Desk(shelf.places)


def test_a_desk_has_its_models_before_it_is_asked(folders: list[Path]) -> None:
    assert Desk({"values": folders[0]})(None) == []
    with pytest.raises(InputError, match="there is no model folder"):
        Desk({"none": folders[0].parent / "none"})(None)


def test_tasks_and_questions_are_answered_in_their_order(desk: Desk) -> None:
    wrong = partial(inspected, "values", InspectRequest(molecule="no smiles"), 100)
    one = Question("values", ("CCO",))
    first, refused, picture, last = desk(
        [
            one,
            wrong,
            partial(drawn, DrawRequest(molecule="CCO")),
            Question("classes", ("CCN", "CCC")),
        ]
    )
    assert isinstance(refused, InputError) and picture.startswith("<svg")
    assert [len(json.loads(answer)["results"]) for answer in (first, last)] == [1, 2]
    assert [json.loads(answer)["model"] for answer in (first, last)] == ["values", "classes"]
    assert desk([one]) == [first]


def test_what_is_shown_of_a_molecule_fits_together(desk: Desk) -> None:
    asked = InspectRequest(molecule=PARACETAMOL)
    told = json.loads(inspected("values", asked, 100, desk))
    assert len(told["scores"]) == len(told["effects"]) == 11
    assert told["value"] == pytest.approx(sum(told["members"]) / len(told["members"]))
    assert told["sizes"] and len(told["sketch"]["places"]) == 11
    with pytest.raises(InputError, match="has 11 atoms, more than the 10 that this service takes"):
        inspected("values", asked, 10, desk)


def test_atoms_that_are_kept_are_told_once_and_in_order(desk: Desk) -> None:
    asked = WhatIfRequest(molecule=PARACETAMOL, atoms=[5, 4, 5, 6])
    told = json.loads(what_if("values", asked, 100, desk))
    assert told["atoms"] == [4, 5, 6] and told["model"] == "values"


def test_a_method_scores_every_atom(desk: Desk) -> None:
    asked = ExplainRequest(molecule=PARACETAMOL, method="occlusion")
    told = json.loads(explained("values", asked, 100, desk))
    assert len(told["scores"]) == 11 and 0 <= min(told["scores"]) <= max(told["scores"]) <= 1
    assert told["method"] == "occlusion" and told["sizes"]


def test_a_table_is_read_and_then_recognized(desk: Desk) -> None:
    how: dict[str, Any] = {"format": "smi", "rows": 10, "most": 1000}
    (chunk,) = table_chunks(b"CCO a\nno b\nCCN c\n", how, desk)
    found = recognized("values", {"max_atoms": 100}, chunk, desk)
    assert found.results.num_rows == 2 and found.rejected.num_rows == 1


def test_lines_are_counted_over_all_parts_and_who_kills_is_refused() -> None:
    asked: list[tuple[str, ...]] = []

    async def ask(question: Question) -> bytes:
        asked.append(question.molecules)
        if "deadly" in question.molecules:
            raise LostWorkerError("it ended its process")
        if set(question.molecules) == {"bad"}:
            raise InputError("line 1: no molecule")
        rows: dict[str, list[Any]] = {"results": [], "rejected": []}
        for line, text in enumerate(question.molecules, 1):
            rows["rejected" if text == "bad" else "results"].append({"line": line, "text": text})
        return json.dumps(rows).encode()

    def told(*molecules: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(asyncio.run(answered(Question("m", molecules), ask)))
        return found

    whole = told("a", "bad", "c")
    assert asked == [("a", "bad", "c")]
    assert [row["line"] for row in whole["results"]] == [1, 3]
    parts = told("a", "bad", "deadly", "d", "e", "bad")
    assert [(row["line"], row["text"]) for row in parts["results"]] == [
        (1, "a"),
        (4, "d"),
        (5, "e"),
    ]
    assert [(row["line"], row["text"]) for row in parts["rejected"]] == [
        (2, "bad"),
        (3, "deadly"),
        (6, "bad"),
    ]
    with pytest.raises(InputError, match="no molecule can be used; line 1: it ended its process"):
        told("deadly")
