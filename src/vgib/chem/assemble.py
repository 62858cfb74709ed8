"""Molecules from labeled graphs that spell out every hydrogen, as the TU collection has them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rdkit import Chem, rdBase

_ORDERS = (Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE)
# Bonds of the neutral atom: with every hydrogen there, one more or less is a charge.
_BONDS = {"N": 3, "O": 2, "F": 1, "Cl": 1, "Br": 1, "I": 1, "Na": 1, "K": 1, "Li": 1, "Ca": 2}
_NUMBER = "number"
_METALS = {"Na", "K", "Li", "Ca"}


class Assembled(NamedTuple):
    """A SMILES, and which of the given atoms each of its atoms is."""

    smiles: str
    atoms: tuple[int, ...]


def assemble(elements: Sequence[str], bonds: Iterable[tuple[int, int, int]]) -> Assembled | None:
    """The molecule that is given by its atoms, hydrogens included, and its bonds.

    Charges are not given, so they are read off the number of bonds: a nitrogen with four is
    positive, an oxygen with one negative, a sodium without any a cation. ``None`` for what is no
    molecule, or lacks hydrogens.

    >>> assemble(["C", "N", "O", "O", "H", "H", "H"],
    ...          [(0, 1, 1), (1, 2, 2), (1, 3, 1), (0, 4, 1), (0, 5, 1), (0, 6, 1)])
    Assembled(smiles='C[N+](=O)[O-]', atoms=(0, 1, 2, 3))

    Args:
        elements: Symbols.
        bonds: Two atom numbers and the order, 1, 2 or 3, each bond once.
    """
    mol = Chem.RWMol()
    for number, symbol in enumerate(elements):
        atom = Chem.Atom(symbol)
        atom.SetNoImplicit(True)
        atom.SetIntProp(_NUMBER, number)
        mol.AddAtom(atom)
    for first, second, order in bonds:
        mol.AddBond(first, second, _ORDERS[order - 1])
    for atom in mol.GetAtoms():
        atom.SetFormalCharge(_charge(atom))
    try:
        with rdBase.BlockLogs():
            plain = Chem.RemoveHs(mol)
    except (Chem.MolSanitizeException, ValueError):
        return None
    if any(atom.GetNumRadicalElectrons() for atom in plain.GetAtoms()):
        return None
    smiles = str(Chem.MolToSmiles(plain))
    written = map(int, plain.GetProp("_smilesAtomOutputOrder").strip("[],").split(","))
    return Assembled(
        smiles, tuple(plain.GetAtomWithIdx(index).GetIntProp(_NUMBER) for index in written)
    )


def _charge(atom: Chem.Atom) -> int:
    symbol = atom.GetSymbol()
    if symbol not in _BONDS:
        return 0
    surplus = sum(int(bond.GetBondTypeAsDouble()) for bond in atom.GetBonds()) - _BONDS[symbol]
    if symbol in _METALS:
        return -surplus
    # Five bonds of a nitrogen are a way of writing, which RDKit puts right.
    return 0 if symbol == "N" and surplus == 2 else min(surplus, 1)
