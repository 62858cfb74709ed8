"""A molecule as a handful of connected parts: atoms, blocks, groups, rings or BRICS pieces."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from rdkit.Chem import BRICS

from vgib.chem.blocks import blocks_of, joined_by, pieces_of
from vgib.chem.mol import Ends, Mol, as_mol, bonds_of, encode
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
    if into == "rings":
        return joined_by(_within_or_between_rings(mol), mol.GetNumAtoms())
    if into == "brics":
        return joined_by(_that_brics_keeps(mol), mol.GetNumAtoms())
    arrays = encode([mol], "element")
    blocks = blocks_of(arrays, arrays.codes, arrays.bonds)
    return blocks if into == "parts" else pieces_of(arrays, arrays.codes, blocks)


def _within_or_between_rings(mol: Mol) -> list[Ends]:
    """The bonds of rings, and those of which no atom is in a ring."""
    in_ring = [atom.IsInRing() for atom in mol.GetAtoms()]
    return [
        ends
        for ends, bond in zip(bonds_of(mol), mol.GetBonds(), strict=True)
        if bond.IsInRing() or not any(in_ring[atom] for atom in ends)
    ]


def _that_brics_keeps(mol: Mol) -> list[Ends]:
    """The bonds that the BRICS rules leave uncut."""
    found = BRICS.FindBRICSBonds(mol)  # type: ignore[no-untyped-call]
    cuts = {frozenset(ends) for ends, _ in found}
    return [ends for ends in bonds_of(mol) if frozenset(ends) not in cuts]
