"""A molecule with some of its atoms closed, as a SMILES that any program can read."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from rdkit import Chem

from vgib.chem.fragment import fragment, make_dummy
from vgib.chem.mol import Mol, as_mol
from vgib.errors import unknown_name

Replacement = Literal["hydrogen", "dummy"]
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)

HYDROGEN = "[H][H]"
"""What is left when every atom is replaced by hydrogen."""


def closed_smiles(
    mol_or_smiles: Mol | str,
    masks: npt.NDArray[np.bool_],
    replacement: Replacement = "hydrogen",
) -> list[str]:
    """The SMILES of a molecule of which only some atoms are open, for each mask.

    >>> import numpy as np
    >>> masks = np.array([[True, True, False], [False, False, False]])
    >>> closed_smiles("CCO", masks)
    ['CC', '[H][H]']
    >>> closed_smiles("CCO", masks, "dummy")
    ['*CC', '***']

    Args:
        masks: ``bool [masks, atoms]``, True where an atom is open.
        replacement: ``"hydrogen"``: closed atoms are removed, and hydrogen takes their place, so
            that what is left is a molecule again (several, with dots, where the open atoms are not
            connected). ``"dummy"``: closed atoms become ``*`` and keep their bonds, which only
            programs that know ``*`` can read.

    Returns:
        A SMILES for each mask; ``""`` where what is left is no molecule.

    Raises:
        UnknownNameError: there is no such replacement.
    """
    if replacement not in REPLACEMENTS:
        raise unknown_name("replacement of atoms", replacement, REPLACEMENTS)
    mol = as_mol(mol_or_smiles)
    if replacement == "dummy":
        return [_with_dummies(mol, np.flatnonzero(~mask).tolist()) for mask in masks]
    neighbors = [[other.GetIdx() for other in atom.GetNeighbors()] for atom in mol.GetAtoms()]
    return [_capped(mol, neighbors, np.flatnonzero(mask).tolist()) for mask in masks]


def _capped(mol: Mol, neighbors: Sequence[Sequence[int]], kept: Sequence[int]) -> str:
    if not kept:
        return HYDROGEN
    found = [fragment(mol, part) for part in _components(neighbors, kept)]
    if not all(part.valid for part in found):
        return ""
    return ".".join(sorted(part.capped_smiles for part in found))


def _components(neighbors: Sequence[Sequence[int]], kept: Sequence[int]) -> list[list[int]]:
    left, parts = set(kept), []
    while left:
        part = [left.pop()]
        for atom in part:
            fresh = left.intersection(neighbors[atom])
            left -= fresh
            part += fresh
        parts.append(part)
    return parts


def _with_dummies(mol: Mol, closed: Sequence[int]) -> str:
    changed = Chem.RWMol(mol)
    for index in closed:
        atom = changed.GetAtomWithIdx(index)
        make_dummy(atom)
        for neighbor in atom.GetNeighbors():
            neighbor.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        for bond in atom.GetBonds():
            bond.SetStereo(Chem.BondStereo.STEREONONE)
            bond.SetBondDir(Chem.BondDir.NONE)
    return str(Chem.MolToSmiles(changed))
