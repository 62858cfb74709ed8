"""Everything that a page shows of one molecule."""

from itertools import pairwise

import numpy as np
import pytest
from tests.serve.support import IMATINIB, PARACETAMOL

from vgib.chem.fragment import fragment
from vgib.errors import InputError
from vgib.serve.inspection import (
    AnyRule,
    Molecule,
    keep_atoms,
    predict_parts,
    quantity,
    read_molecule,
    sizes_of,
)
from vgib.serve.limits import TooMuchError
from vgib.serve.shelf import Shelf


def read(shelf: Shelf, smiles: str, name: str = "values") -> Molecule:
    return read_molecule(smiles, shelf.get(name), max_atoms=100)


def test_a_salt_is_read_with_a_note(shelf: Shelf) -> None:
    molecule = read(shelf, "CCN.Cl")
    assert molecule.smiles == "CCN"
    assert molecule.note is not None and "largest of 2" in molecule.note


def test_a_molecule_that_is_too_large_is_refused(shelf: Shelf) -> None:
    with pytest.raises(TooMuchError, match="has 30 atoms, more than the 20"):
        read_molecule("C" * 30, shelf.get("values"), max_atoms=20)


def test_the_number_that_is_followed_is_the_prediction(shelf: Shelf) -> None:
    values, classes = shelf.get("values"), shelf.get("classes")
    molecule = read(shelf, PARACETAMOL)
    followed = quantity(values, molecule.graphs)
    assert followed.label == "value"
    found = followed.values(values, molecule.graphs)
    assert found.shape == (2, 1)
    assert found[0, 0] == pytest.approx(values[0].predict([PARACETAMOL])[0])
    chance = quantity(classes, molecule.graphs)
    assert chance.label == "probability of class 1"
    expected = classes[1].predict_proba([PARACETAMOL])[0, 1]
    assert chance.values(classes, molecule.graphs)[1, 0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rule", [None, "ring_intact", "guided", "connected", "nodes"])
def test_sizes_ascend_and_hold_parts_of_their_size(shelf: Shelf, rule: AnyRule | None) -> None:
    models, molecule = shelf.get("values"), read(shelf, IMATINIB)
    scores = models[0].scores(molecule.graphs)
    followed = quantity(models, molecule.graphs)
    sizes = sizes_of(models, molecule, scores, n=2, rule=rule, followed=followed)
    assert all(one.atoms < other.atoms for one, other in pairwise(sizes))
    assert sizes[-1].atoms == molecule.atoms
    for size in sizes:
        assert 1 <= len(size.parts) <= 2
        assert all(len(part.atoms) == size.atoms for part in size.parts)
        assert all(0 <= part.score <= 1 for part in size.parts)
        low, middle, high = size.random
        assert low <= middle <= high


def test_the_whole_molecule_as_a_part_is_predicted_like_itself(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    scores = models[0].scores(molecule.graphs)
    followed = quantity(models, molecule.graphs)
    last = sizes_of(models, molecule, scores, followed=followed)[-1]
    whole = followed.values(models, molecule.graphs).mean()
    assert last.parts[0].value == pytest.approx(whole, abs=1e-6)
    assert last.random == pytest.approx((whole, whole, whole), abs=1e-6)


def test_parts_are_those_that_python_finds(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    scores = models[0].scores(molecule.graphs)
    followed = quantity(models, molecule.graphs)
    sizes = sizes_of(models, molecule, scores, followed=followed)
    for size in sizes:
        ratio = size.atoms / molecule.atoms
        ((expected,),) = models[0].subgraphs([PARACETAMOL], keep_ratio=ratio)
        assert size.parts[0].atoms == expected.nodes
        assert size.parts[0].smiles == expected.smiles


def test_a_part_is_predicted_as_its_capped_fragment_is(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    followed = quantity(models, molecule.graphs)
    atoms = [3, 4, 5, 6, 7, 8, 9, 10]
    mask = np.isin(np.arange(molecule.atoms), atoms)[None]
    capped = fragment(PARACETAMOL, atoms).capped_smiles
    expected = [model.predict([capped])[0] for model in models]
    found = predict_parts(models, molecule.graphs, mask, followed)
    assert found[:, 0] == pytest.approx(expected, abs=1e-5)


def test_stability_is_told_for_an_ensemble_alone(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    scores = models[0].scores(molecule.graphs)
    followed = quantity(models, molecule.graphs)
    both = sizes_of(models, molecule, scores, followed=followed, with_stability=True)
    assert all(size.stability is not None and 0 <= size.stability <= 1 for size in both)
    assert both[-1].stability == 1
    one = sizes_of(models[:1], molecule, scores, followed=followed, with_stability=True)
    assert {size.stability for size in one} == {None}


def test_keeping_all_atoms_changes_nothing(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    followed = quantity(models, molecule.graphs)
    kept = keep_atoms(models, molecule, range(molecule.atoms), followed)
    assert kept.members == pytest.approx(followed.values(models, molecule.graphs)[:, 0], abs=1e-6)
    assert kept.smiles == "CC(=O)Nc1ccc(O)cc1"
    assert kept.reason is None


def test_atoms_that_make_no_molecule_are_predicted_with_a_reason(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    kept = keep_atoms(models, molecule, [0, 8], quantity(models, molecule.graphs))
    assert np.isfinite(kept.value)
    assert kept.reason == "the atoms form 2 separate parts; choose one of them"


def test_a_ring_that_is_cut_is_remarked_upon(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, PARACETAMOL)
    followed = quantity(models, molecule.graphs)
    whole_ring = keep_atoms(models, molecule, range(4, 11), followed)
    half_ring = keep_atoms(models, molecule, [4, 5, 6], followed)
    assert whole_ring.reason is None
    assert half_ring.reason == "a ring or a multiple bond is cut"


def test_an_atom_that_is_not_there_is_refused(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, "CCO")
    with pytest.raises(InputError, match="there is no atom 7"):
        keep_atoms(models, molecule, [0, 7], quantity(models, molecule.graphs))


def test_a_molecule_of_one_atom_has_one_size(shelf: Shelf) -> None:
    models, molecule = shelf.get("values"), read(shelf, "C")
    sizes = sizes_of(models, molecule, [0.3], followed=quantity(models, molecule.graphs))
    assert [size.atoms for size in sizes] == [1]
