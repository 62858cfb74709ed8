"""A molecule in some hundred bytes: places, bonds and labels, for pages that show thousands."""

from dataclasses import dataclass

from rdkit import Chem, rdBase

from vgib.chem.draw import laid_out
from vgib.chem.mol import Mol, parse

WEDGE, HASH = 4, 5
"""Bond codes beside the orders 1, 2 and 3: towards the reader and away, from the first atom."""

_ORDERS = {Chem.BondType.DOUBLE: 2, Chem.BondType.TRIPLE: 3}
_DIRECTIONS = {Chem.BondDir.BEGINWEDGE: WEDGE, Chem.BondDir.BEGINDASH: HASH}


@dataclass(frozen=True)
class Outline:
    """A drawing to be finished by whoever shows it.

    Attributes:
        places: Two numbers for each atom, flat, in hundredths of a bond's length; down is positive.
        bonds: Three for each bond, flat: its atoms, and its order or :data:`WEDGE`, :data:`HASH`.
        labels: By atom number, what is written there: symbol, hydrogens and charge; carbon has
            none where a corner says it all.
    """

    places: list[int]
    bonds: list[int]
    labels: dict[int, str]


def outline(smiles: str) -> Outline:
    """The drawing of a molecule, its atoms in the order of its SMILES.

    >>> outline("C[NH3+]").labels
    {0: 'CH3', 1: 'NH3+'}
    """
    with rdBase.BlockLogs():
        mol = laid_out(parse(smiles, max_atoms=10**9).mol)
    xyz = mol.GetConformer().GetPositions()
    scale = 100 / _bond_length(mol)
    places = [round(value * scale) for x, y, _ in xyz for value in (x, -y)]
    bonds: list[int] = []
    for bond in mol.GetBonds():
        kind = _DIRECTIONS.get(bond.GetBondDir()) or _ORDERS.get(bond.GetBondType(), 1)
        bonds += [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), kind]
    labels = {atom.GetIdx(): _label(atom) for atom in mol.GetAtoms()}
    return Outline(places, bonds, {number: text for number, text in labels.items() if text})


def _bond_length(mol: Mol) -> float:
    positions = mol.GetConformer().GetPositions()
    ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()]
    lengths = sorted(float(((positions[a] - positions[b]) ** 2).sum() ** 0.5) for a, b in ends)
    return lengths[len(lengths) // 2] if lengths else 1.5


def _label(atom: Mol) -> str:
    number, charge, isotope = atom.GetAtomicNum(), atom.GetFormalCharge(), atom.GetIsotope()
    is_end = atom.GetDegree() <= 1 and atom.GetOwningMol().GetNumAtoms() <= 2
    if number == 6 and not (charge or isotope or is_end or atom.GetDegree() == 0):
        return ""
    hydrogens = atom.GetTotalNumHs()
    count = {0: "", 1: "H"}.get(hydrogens, f"H{hydrogens}")
    sign = "" if not charge else ("+" if charge > 0 else "-")
    amount = str(abs(charge)) if abs(charge) > 1 else ""
    symbol = "*" if number == 0 else atom.GetSymbol()
    return f"{isotope or ''}{symbol}{count}{amount}{sign}"
