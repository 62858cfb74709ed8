"""Molecules from graphs with every hydrogen spelt out."""

import pytest
from rdkit import Chem

from vgib.chem.assemble import assemble
from vgib.data.molecules import load_drugs

DRUGS = load_drugs()["smiles"].tolist()


def taken_apart(smiles: str) -> tuple[list[str], list[tuple[int, int, int]]]:
    mol = Chem.AddHs(Chem.MolFromSmiles(smiles))
    Chem.Kekulize(mol, clearAromaticFlags=True)
    bonds = [
        (b.GetBeginAtomIdx(), b.GetEndAtomIdx(), int(b.GetBondTypeAsDouble()))
        for b in mol.GetBonds()
    ]
    return [atom.GetSymbol() for atom in mol.GetAtoms()], bonds


def assembled(elements: list[str], bonds: list[tuple[int, int, int]]) -> str:
    found = assemble(elements, bonds)
    assert found is not None
    return found.smiles


def flat(smiles: str) -> str:
    mol = Chem.MolFromSmiles(smiles)
    Chem.RemoveStereochemistry(mol)
    return str(Chem.MolToSmiles(mol))


def test_drugs_are_put_together_again() -> None:
    simple = [smiles for smiles in DRUGS if "[" not in flat(smiles)]
    assert len(simple) > 150
    for smiles in simple:
        assert flat(assembled(*taken_apart(smiles))) == flat(smiles)


@pytest.mark.parametrize(
    "smiles",
    [
        *["O=[N+]([O-])c1ccccc1", "C[N+](C)(C)CCO", "CC(=O)[O-].[Na+]", "[Cl-].C[NH3+]"],
        *["[Ca+2].[O-]C", "FC(Cl)(Br)I", "[F-].[K+]", "[Br-].[Li+]", "[I-].[Na+]"],
    ],
)
def test_charges_are_read_off_the_bonds(smiles: str) -> None:
    assert flat(assembled(*taken_apart(smiles))) == flat(smiles)


def test_five_bonds_of_a_nitrogen_are_written_as_charges() -> None:
    nitro = [(0, 1, 1), (1, 2, 2), (1, 3, 2), (0, 4, 1), (0, 5, 1), (0, 6, 1)]
    assert assembled(["C", "N", "O", "O", "H", "H", "H"], nitro) == "C[N+](=O)[O-]"


def test_each_atom_of_the_smiles_is_one_that_was_given() -> None:
    for smiles in DRUGS[:30]:
        elements, bonds = taken_apart(smiles)
        found = assemble(elements, bonds)
        assert found is not None
        again = Chem.MolFromSmiles(found.smiles)
        assert [elements[n] for n in found.atoms] == [a.GetSymbol() for a in again.GetAtoms()]
        joined = {frozenset(bond[:2]) for bond in bonds}
        for bond in again.GetBonds():
            ends = (found.atoms[bond.GetBeginAtomIdx()], found.atoms[bond.GetEndAtomIdx()])
            assert frozenset(ends) in joined


def test_what_lacks_hydrogens_is_no_molecule() -> None:
    assert assemble(["C", "C"], [(0, 1, 1)]) is None
    assert assemble(["F", "F", "F"], [(0, 1, 2), (1, 2, 2)]) is None
