"""A molecule as lines and places."""

import math

import pytest

from vgib.chem.sketch import MARGIN, sketch
from vgib.data.molecules import load_drugs
from vgib.errors import InputError

NITRO = "CC(=O)Nc1ccc(O)cc1[N+](=O)[O-]"


def test_every_atom_has_a_place_inside_the_box() -> None:
    drawn = sketch(NITRO)
    left, top, width, height = drawn.box
    assert len(drawn.places) == len(drawn.symbols) == 14
    for x, y in drawn.places:
        assert left + MARGIN - 1 <= x <= left + width - MARGIN + 1
        assert top + MARGIN - 1 <= y <= top + height - MARGIN + 1
    across, down = zip(*drawn.places, strict=True)
    assert width == pytest.approx(max(across) - min(across) + 2 * MARGIN, abs=0.3)
    assert height == pytest.approx(max(down) - min(down) + 2 * MARGIN, abs=0.3)


def test_every_bond_is_drawn_and_belongs_to_its_two_atoms() -> None:
    drawn = sketch(NITRO)
    assert {line.atoms for line in drawn.lines if len(line.atoms) == 2} == set(drawn.bonds)


def test_letters_are_filled_and_belong_to_one_atom_that_is_no_carbon() -> None:
    drawn = sketch(NITRO)
    letters = [line for line in drawn.lines if line.is_filled]
    assert {drawn.symbols[line.atoms[0]] for line in letters} == {"N", "O"}
    assert all(len(line.atoms) == 1 for line in letters)


def test_corners_belong_to_the_atom_where_bonds_meet() -> None:
    drawn = sketch("CCC")
    corners = [line for line in drawn.lines if len(line.atoms) == 1 and not line.is_filled]
    assert {line.atoms for line in corners} == {(1,)}


def test_the_outline_lies_around_the_band_and_both_between_the_atoms() -> None:
    drawn = sketch(NITRO)
    gap = min(math.dist(drawn.places[a], drawn.places[b]) for a, b in drawn.bonds)
    assert 0 < drawn.band < drawn.outline < gap / 2


@pytest.mark.parametrize("smiles", ["C", "[Na+]", "O=C=O", "F[C@](Cl)(Br)I"])
def test_the_smallest_molecules_can_be_drawn(smiles: str) -> None:
    drawn = sketch(smiles)
    assert drawn.box[2] >= 2 * MARGIN
    assert all(path.path.startswith("M") for path in drawn.lines)


def test_all_drugs_can_be_drawn() -> None:
    for smiles in load_drugs()["smiles"].head(60):
        drawn = sketch(smiles)
        assert all(set(line.atoms) <= set(range(len(drawn.places))) for line in drawn.lines)


def test_what_is_no_molecule_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="ring-closure number 1"):
        sketch("C1CC")
