"""A molecule as a handful of connected parts: atoms, blocks, groups, rings or BRICS pieces."""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from rdkit.Chem import BRICS

from vgib.chem.blocks import indivisible_blocks
from vgib.chem.mol import Mol, as_mol
from vgib.errors import unknown_name

Division = Literal["atoms", "parts", "groups", "rings", "brics"]
DIVISIONS: tuple[Division, ...] = get_args(Division)


def divide(mol_or_smiles: Mol | str, into: Division) -> npt.NDArray[np.int64]:
    """The part of each atom, ``int64 [atoms]``, numbered from 0 by their lowest atom.

    Every part is connected, and every atom is in one.

    >>> divide("CCC(=O)Nc1ccccc1", "groups").tolist()
    [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2]

    Args:
        into: ``"atoms"``: each by itself. ``"parts"``: ring systems, functional groups and multiple
            bonds, which no cut divides, and each other atom by itself. ``"groups"``: the same, but
            carbon atoms that are joined and in none of them are one part. ``"rings"``: ring
            systems, and what is left between them. ``"brics"``: what the BRICS rules cut, bonds
            that a synthesis would make (Degen et al., ChemMedChem 3 (2008) 1503).

    Raises:
        UnknownNameError: there is no such division.
    """
    mol = as_mol(mol_or_smiles)
    if into not in DIVISIONS:
        raise unknown_name("division of molecules", into, DIVISIONS)
    if into == "atoms":
        return np.arange(mol.GetNumAtoms(), dtype=np.int64)
    if into == "brics":
        found = BRICS.FindBRICSBonds(mol)  # type: ignore[no-untyped-call]
        cuts = {frozenset(ends) for ends, _ in found}
        return _joined(mol, (ends for ends in bonds(mol) if frozenset(ends) not in cuts))
    if into == "rings":
        in_ring = [atom.IsInRing() for atom in mol.GetAtoms()]
        firm = {frozenset(ends) for ends in _ring_bonds(mol)}
        return _joined(
            mol,
            (
                (a, b)
                for a, b in bonds(mol)
                if frozenset((a, b)) in firm or not (in_ring[a] or in_ring[b])
            ),
        )
    blocks = indivisible_blocks(mol)
    if into == "parts":
        return blocks
    alone = np.bincount(blocks)[blocks] == 1
    plain = [alone[atom.GetIdx()] and atom.GetAtomicNum() == 6 for atom in mol.GetAtoms()]
    return _joined(
        mol, ((a, b) for a, b in bonds(mol) if blocks[a] == blocks[b] or (plain[a] and plain[b]))
    )


def bonds(mol: Mol) -> list[tuple[int, int]]:
    """The two atoms of each bond."""
    return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]


def _ring_bonds(mol: Mol) -> list[tuple[int, int]]:
    return [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds() if bond.IsInRing()
    ]


def _joined(mol: Mol, pairs: Iterable[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """The parts that are left when only these bonds hold atoms together."""
    root = list(range(mol.GetNumAtoms()))

    def find(atom: int) -> int:
        while root[atom] != atom:
            root[atom] = root[root[atom]]
            atom = root[atom]
        return atom

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        root[high] = low
    tops = [find(atom) for atom in range(len(root))]
    number = {top: place for place, top in enumerate(sorted(set(tops)))}
    return np.array([number[top] for top in tops], dtype=np.int64)
