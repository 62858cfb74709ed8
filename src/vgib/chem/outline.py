"""A molecule in some hundred bytes: places, bonds and labels, for pages that show thousands."""

from dataclasses import dataclass

from rdkit import Chem, rdBase

from vgib.chem.draw import laid_out, usual_length
from vgib.chem.mol import Mol, bonds_of, parse

WEDGE, HASH = 4, 5
"""Bond codes beside the orders 1, 2 and 3: towards the reader and away, from the first atom."""

LENGTH = 1.5
"""The length of a bond in RDKit's layouts, for a molecule that has none."""

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
    flat = [(x, y) for x, y, _ in mol.GetConformer().GetPositions()]
    scale = 100 / (usual_length(flat, bonds_of(mol)) or LENGTH)
    places = [round(value * scale) for x, y in flat for value in (x, -y)]
    bonds: list[int] = []
    for (begin, end), bond in zip(bonds_of(mol), mol.GetBonds(), strict=True):
        kind = _DIRECTIONS.get(bond.GetBondDir()) or _ORDERS.get(bond.GetBondType(), 1)
        bonds += [begin, end, kind]
    labels = {atom.GetIdx(): _label(atom) for atom in mol.GetAtoms()}
    return Outline(places, bonds, {number: text for number, text in labels.items() if text})


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
