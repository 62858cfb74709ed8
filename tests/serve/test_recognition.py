"""The requests of one moment as one table."""

import pytest
from tests.serve.support import IMATINIB, PARACETAMOL

from vgib.errors import InputError
from vgib.select.policy import Selection
from vgib.serve.recognition import Question, Reply, reply
from vgib.serve.shelf import ModelShelf


def plain(found: Reply | Exception) -> Reply:
    assert isinstance(found, dict), found
    return found


def test_each_question_gets_its_own_molecules_back(shelf: ModelShelf) -> None:
    questions = [
        Question("values", (PARACETAMOL, "CCO")),
        Question("classes", ("CCN",)),
        Question("values", (IMATINIB,)),
        Question("values", ("CCC",), Selection((0.5, 1.0), n=2)),
    ]
    found = [plain(one) for one in reply(shelf, questions)]
    told = [[row["smiles"] for row in one["results"]] for one in found]
    assert told == [list(question.molecules) for question in questions]
    assert [row["line"] for row in found[0]["results"]] == [1, 2]
    assert "probability" in found[1]["results"][0]
    assert "probability" not in found[0]["results"][0]


def test_together_is_the_same_as_one_by_one(shelf: ModelShelf) -> None:
    questions = [Question("values", (smiles,)) for smiles in (PARACETAMOL, IMATINIB, "CCO")]
    together = [plain(one)["results"][0] for one in reply(shelf, questions)]
    for question, row in zip(questions, together, strict=True):
        (alone,) = plain(reply(shelf, [question])[0])["results"]
        assert row["prediction"] == pytest.approx(alone["prediction"], abs=1e-6)
        assert row["scores"] == pytest.approx(alone["scores"], abs=2e-4)
        assert [part["atoms"] for part in row["subgraphs"]] == [
            part["atoms"] for part in alone["subgraphs"]
        ]


def test_a_bad_molecule_is_told_with_its_line_and_spoils_nothing(shelf: ModelShelf) -> None:
    questions = [Question("values", ("CCO", "C1CC")), Question("values", ("CCC",))]
    first, second = (plain(one) for one in reply(shelf, questions))
    assert [(row["line"], row["text"]) for row in first["rejected"]] == [(2, "C1CC")]
    assert "ring-closure number 1" in first["rejected"][0]["reason"]
    assert len(second["results"]) == 1
    assert second["rejected"] == []


def test_lines_are_counted_from_one_in_each_question(shelf: ModelShelf) -> None:
    asked = ("CCO", "no smiles", PARACETAMOL)
    for found in reply(shelf, [Question("values", asked)] * 3):
        assert isinstance(found, dict)
        assert [row["line"] for row in found["results"]] == [1, 3]
        assert [row["line"] for row in found["rejected"]] == [2]


def test_a_question_without_a_usable_molecule_is_refused_as_python_does(shelf: ModelShelf) -> None:
    (found,) = reply(shelf, [Question("values", ("C1CC",))])
    with pytest.raises(InputError) as python:
        shelf.get("values").recognize(["C1CC"])
    assert isinstance(found, InputError)
    assert str(found) == str(python.value)


def test_a_molecule_that_is_too_large_is_refused(shelf: ModelShelf) -> None:
    (found,) = reply(shelf, [Question("values", ("C" * 30,), max_atoms=20)])
    assert "30 heavy atoms, more than the limit of 20" in str(found)
