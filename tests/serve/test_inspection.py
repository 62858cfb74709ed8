"""Everything that a page shows of one molecule."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from tests.serve.support import IMATINIB, PARACETAMOL

from vgib.chem.fragment import fragment
from vgib.errors import InputError
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import ANY, Selection
from vgib.serve.inspection import Inspected, inspect, keep_atoms, quantity, sizes_of
from vgib.serve.limits import TooMuchError
from vgib.serve.shelf import ModelShelf
from vgib.train.loop import predict_parts


def read(shelf: ModelShelf, smiles: str, name: str = "values") -> Inspected:
    return inspect(smiles, shelf.get(name), max_atoms=100)


def test_a_salt_is_read_with_a_note(shelf: ModelShelf) -> None:
    molecule = read(shelf, "CCN.Cl")
    assert molecule.smiles == "CCN"
    assert molecule.note is not None and "largest of 2" in molecule.note


def test_a_molecule_that_is_too_large_is_refused(shelf: ModelShelf) -> None:
    with pytest.raises(TooMuchError, match="has 30 atoms, more than the 20"):
        inspect("C" * 30, shelf.get("values"), max_atoms=20)


def test_the_number_that_is_followed_is_the_prediction(shelf: ModelShelf) -> None:
    values, classes = shelf.get("values"), shelf.get("classes")
    answer = read(shelf, PARACETAMOL).answer
    assert quantity(answer) == ("value", 0)
    assert answer.values.shape == (2, 1, 1)
    expected = values.members()[0].predict([PARACETAMOL])[0]
    assert answer.values[0, 0, 0] == pytest.approx(expected)
    chance = read(shelf, PARACETAMOL, "classes").answer
    followed = quantity(chance)
    assert followed.label == "probability of class 1"
    expected = classes.members()[1].predict_proba([PARACETAMOL])[0, 1]
    assert chance.values[1, 0, followed.column] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("rule", "by"),
    [
        (None, None),
        ("ring_intact", None),
        ("ring_intact", "prediction"),
        ("connected", None),
        ("nodes", None),
    ],
)
def test_sizes_ascend_and_hold_parts_of_their_size(
    shelf: ModelShelf, rule: str | None, by: str | None
) -> None:
    molecule = read(shelf, IMATINIB)
    selection = Selection.of(rule=rule, by=by, n=2)
    sizes = sizes_of(molecule.answer, selection, quantity(molecule.answer))
    assert all(one.atoms < other.atoms for one, other in pairwise(sizes))
    assert sizes[-1].atoms == molecule.atoms
    for size in sizes:
        assert 1 <= len(size.parts) <= 2
        assert all(len(part.atoms) == size.atoms for part in size.parts)
        assert all(0 <= part.score <= 1 for part in size.parts)
        low, middle, high = size.random
        assert low <= middle <= high


def test_the_whole_molecule_as_a_part_is_predicted_like_itself(shelf: ModelShelf) -> None:
    answer = read(shelf, PARACETAMOL).answer
    last = sizes_of(answer, ANY, quantity(answer))[-1]
    whole = float(answer.mean[0, 0])
    assert last.parts[0].value == pytest.approx(whole, abs=1e-6)
    assert last.random == pytest.approx((whole, whole, whole), abs=1e-6)


def test_parts_are_those_that_python_finds(shelf: ModelShelf) -> None:
    model, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    for size in sizes_of(molecule.answer, ANY, quantity(molecule.answer)):
        ratio = size.atoms / molecule.atoms
        ((expected,),) = model.subgraphs([PARACETAMOL], keep_ratio=ratio)
        assert size.parts[0].atoms == expected.nodes
        assert size.parts[0].smiles == expected.smiles


def test_a_part_is_predicted_by_who_has_learned_from_parts(shelf: ModelShelf) -> None:
    model, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    atoms = [3, 4, 5, 6, 7, 8, 9, 10]
    mask = np.isin(np.arange(molecule.atoms), atoms)[None]
    graphs = molecule.answer.graphs
    expected = [
        float(predict_parts(member.network_, graphs, torch.from_numpy(mask[0]))[0, 0])
        for member in model.members()
    ]
    found = molecule.answer.predict_parts(0, mask)
    assert found[:, 0, 0] == pytest.approx(expected, abs=1e-5)


def test_a_model_that_knows_fragments_is_asked_about_them_as_molecules() -> None:
    model = SubgraphRecognizer.load("qed")
    molecule = inspect(PARACETAMOL, model, max_atoms=100)
    atoms = [3, 4, 5, 6, 7, 8, 9, 10]
    mask = np.isin(np.arange(molecule.atoms), atoms)[None]
    capped = fragment(PARACETAMOL, atoms).capped_smiles
    expected = [member.predict([capped])[0] for member in model.members()]
    found = molecule.answer.predict_parts(0, mask)
    assert found[:, 0, 0] == pytest.approx(expected, abs=1e-5)


def test_stability_is_told_for_an_ensemble_alone(shelf: ModelShelf) -> None:
    answer = read(shelf, PARACETAMOL).answer
    both = sizes_of(answer, ANY, quantity(answer), with_stability=True)
    assert all(size.stability is not None and 0 <= size.stability <= 1 for size in both)
    assert both[-1].stability == 1
    one = sizes_of(answer.member(0), ANY, quantity(answer), with_stability=True)
    assert {size.stability for size in one} == {None}


def test_random_parts_have_exactly_the_size_of_the_recognized(
    shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = read(shelf, IMATINIB).answer
    asked: list[Any] = []
    plain = type(answer).predict_parts

    def told(self: Any, graph: int, masks: Any) -> Any:
        asked.append(masks)
        return plain(self, graph, masks)

    monkeypatch.setattr(type(answer), "predict_parts", told)
    for rule in (None, "connected", "nodes"):
        asked.clear()
        sizes = sizes_of(answer, Selection.of(rule=rule), quantity(answer))
        amounts = asked[0][len(sizes) :].sum(1).reshape(len(sizes), -1)
        assert (amounts == np.array([[size.atoms] for size in sizes])).all()


def test_keeping_all_atoms_changes_nothing(shelf: ModelShelf) -> None:
    molecule = read(shelf, PARACETAMOL)
    followed = quantity(molecule.answer)
    kept = keep_atoms(molecule, range(molecule.atoms), followed)
    assert kept.members == pytest.approx(molecule.answer.values[:, 0, 0], abs=1e-6)
    assert kept.smiles == "CC(=O)Nc1ccc(O)cc1"
    assert kept.reason is None


def test_atoms_that_make_no_molecule_are_predicted_with_a_reason(shelf: ModelShelf) -> None:
    molecule = read(shelf, PARACETAMOL)
    kept = keep_atoms(molecule, [0, 8], quantity(molecule.answer))
    assert np.isfinite(kept.value)
    assert kept.reason == "the atoms form 2 separate parts; choose one of them"


def test_a_ring_that_is_cut_is_remarked_upon(shelf: ModelShelf) -> None:
    molecule = read(shelf, PARACETAMOL)
    followed = quantity(molecule.answer)
    whole_ring = keep_atoms(molecule, range(4, 11), followed)
    half_ring = keep_atoms(molecule, [4, 5, 6], followed)
    assert whole_ring.reason is None
    assert half_ring.reason == "a ring or a multiple bond is cut"


def test_an_atom_that_is_not_there_is_refused(shelf: ModelShelf) -> None:
    molecule = read(shelf, "CCO")
    with pytest.raises(InputError, match="there is no atom 7"):
        keep_atoms(molecule, [0, 7], quantity(molecule.answer))


def test_a_molecule_of_one_atom_has_one_size(shelf: ModelShelf) -> None:
    molecule = read(shelf, "C")
    sizes = sizes_of(molecule.answer, ANY, quantity(molecule.answer))
    assert [size.atoms for size in sizes] == [1]
