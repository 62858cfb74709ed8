"""Ring systems of molecules, the usual ones by name."""

from dataclasses import dataclass
from functools import cache

from rdkit import Chem

from vgib.chem.groups import united
from vgib.chem.mol import Mol, as_mol
from vgib.chem.tables import table_rows


@dataclass(frozen=True)
class RingSystem:
    """Rings that share atoms, with what is doubly bonded to them.

    Attributes:
        name: What a chemist calls it; its SMILES where it has no usual name.
        atoms: Its atoms, ascending.
    """

    name: str
    atoms: tuple[int, ...]


def ring_systems(mol_or_smiles: Mol | str) -> list[RingSystem]:
    """The ring systems of a molecule, by their first atom; where hydrogen sits makes no difference.

    >>> [ring.name for ring in ring_systems("O=C(NC1CCCCC1)c1ccc2n(C)ccc2c1")]
    ['cyclohexane', 'indole']
    """
    mol = as_mol(mol_or_smiles)
    found = []
    for atoms in _systems(mol):
        written = _written(mol, atoms)
        found.append(RingSystem(_names().get(written, written), tuple(sorted(atoms))))
    return sorted(found, key=lambda ring: ring.atoms)


def _systems(mol: Mol) -> list[set[int]]:
    systems = united(mol.GetRingInfo().AtomRings())
    for system in systems:
        for atom in list(system):
            for bond in mol.GetAtomWithIdx(atom).GetBonds():
                if bond.GetBondType() == Chem.BondType.DOUBLE and not bond.IsInRing():
                    system.add(bond.GetOtherAtomIdx(atom))
    return systems


def _written(mol: Mol, atoms: set[int]) -> str:
    """A SMILES of these atoms without hydrogens and charges, so that substituents do not matter."""
    symbols = [
        atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
        for atom in mol.GetAtoms()
    ]
    return str(Chem.MolFragmentToSmiles(mol, sorted(atoms), atomSymbols=symbols))


@cache
def _names() -> dict[str, str]:
    mols = {name: as_mol(smiles) for name, smiles in table_rows("rings.tsv")}
    return {_written(mol, set(range(mol.GetNumAtoms()))): name for name, mol in mols.items()}
