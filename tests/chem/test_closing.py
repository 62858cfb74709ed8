"""Closed atoms: what is left can always be read."""

import csv
from importlib.resources import files

import numpy as np
import pytest
from rdkit import Chem

from vgib.chem.closing import REPLACEMENTS, Replacement, closed_smiles
from vgib.chem.mol import parse
from vgib.errors import UnknownNameError

DRUGS = [
    row["smiles"]
    for row in csv.DictReader(
        files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    )
]


def mask(*bits: int) -> np.ndarray:
    return np.array([bits], dtype=bool)


@pytest.mark.parametrize(
    ("smiles", "opened", "hydrogen", "dummy"),
    [
        ("CCO", mask(1, 1, 1), "CCO", "CCO"),
        ("CCO", mask(1, 1, 0), "CC", "*CC"),
        ("CCO", mask(1, 0, 1), "C.O", "*(C)O"),
        ("CCO", mask(0, 0, 0), "[H][H]", "***"),
        ("C[NH3+]", mask(1, 0), "C", "*C"),
        ("C=O", mask(1, 0), "C", "*=C"),
        ("c1ccccc1", mask(1, 1, 1, 1, 0, 0), "CC=CC", "*1:*:c:c:c:c:1"),
    ],
)
def test_what_is_left(smiles: str, opened: np.ndarray, hydrogen: str, dummy: str) -> None:
    (capped,) = closed_smiles(smiles, opened)
    assert capped == hydrogen
    (starred,) = closed_smiles(smiles, opened, "dummy")
    assert Chem.CanonSmiles(starred) == Chem.CanonSmiles(dummy)


@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_every_drug_without_any_one_atom_can_be_read(replacement: Replacement) -> None:
    for smiles in DRUGS[::5]:
        mol = parse(smiles).mol
        for text in closed_smiles(mol, ~np.eye(mol.GetNumAtoms(), dtype=bool), replacement):
            assert text and Chem.MolFromSmiles(text) is not None, (smiles, text)


def test_a_dummy_keeps_the_number_of_atoms() -> None:
    mol = parse(DRUGS[0]).mol
    for text in closed_smiles(mol, ~np.eye(mol.GetNumAtoms(), dtype=bool), "dummy"):
        assert Chem.MolFromSmiles(text).GetNumAtoms() == mol.GetNumAtoms()


def test_the_molecule_is_left_as_it_was() -> None:
    mol = parse("C[C@H](N)C(=O)O").mol
    before = Chem.MolToSmiles(mol)
    for replacement in REPLACEMENTS:
        closed_smiles(mol, np.zeros((1, 6), dtype=bool), replacement)
    assert Chem.MolToSmiles(mol) == before


def test_an_unknown_replacement_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'dummy'"):
        closed_smiles("C", mask(1), "dumy")  # type: ignore[arg-type]
