"""Molecules in some hundred bytes."""

import json
import math

import pytest

from vgib.chem.mol import parse
from vgib.chem.outline import HASH, WEDGE, outline
from vgib.data.molecules import load_drugs


@pytest.mark.parametrize("smiles", load_drugs()["smiles"].head(30))
def test_an_outline_has_every_atom_and_bond_at_its_place(smiles: str) -> None:
    mol, drawn = parse(smiles).mol, outline(smiles)
    assert len(drawn.places) == 2 * mol.GetNumAtoms() and len(drawn.bonds) == 3 * mol.GetNumBonds()
    places = list(zip(drawn.places[::2], drawn.places[1::2], strict=True))
    ends = list(zip(drawn.bonds[::3], drawn.bonds[1::3], strict=True))
    lengths = sorted(math.dist(places[a], places[b]) for a, b in ends)
    assert lengths[len(lengths) // 2] == pytest.approx(100, abs=2)
    pairs = {frozenset((b.GetBeginAtomIdx(), b.GetEndAtomIdx())) for b in mol.GetBonds()}
    assert {frozenset(pair) for pair in ends} == pairs
    for atom in mol.GetAtoms():
        if atom.GetSymbol() != "C":
            assert atom.GetSymbol() in drawn.labels[atom.GetIdx()]
    assert len(json.dumps(vars(drawn), separators=(",", ":"))) < 30 * (mol.GetNumAtoms() + 5)


def test_orders_labels_and_wedges_are_told() -> None:
    acid = outline("CC(=O)[O-]")
    assert sorted(acid.bonds[2::3]) == [1, 1, 2] and acid.labels == {2: "O", 3: "O-"}
    assert outline("C#N").bonds[2] == 3
    assert {*outline("C[C@H](N)O").bonds[2::3]} & {WEDGE, HASH}
    assert outline("*C[13CH3]").labels == {0: "*", 2: "13CH3"}
    assert outline("[Fe+2]").labels == {0: "Fe2+"} and outline("C").labels == {0: "CH4"}
    assert outline("CC").labels == {0: "CH3", 1: "CH3"} and outline("CCC").labels == {}
    assert set(outline("c1ccccc1").bonds[2::3]) == {1, 2}  # kekulized
