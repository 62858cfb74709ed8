"""Where a SMARTS pattern occurs in a molecule."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from rdkit import Chem, rdBase

from vgib.chem.mol import Mol, as_mol
from vgib.errors import InputError


def matches(mol_or_smiles: Mol | str, smarts: str) -> list[tuple[int, ...]]:
    """The atoms of each place where a pattern occurs, in the order of the pattern's atoms.

    Places that consist of the same atoms count once.

    >>> matches("Nc1ccc(N)cc1", "c[NH2]")
    [(1, 0), (4, 5)]

    Raises:
        InputError: the text is no SMARTS.
    """
    return [tuple(found) for found in as_mol(mol_or_smiles).GetSubstructMatches(pattern(smarts))]


def occurrences(mols: Sequence[Mol], fragment: str) -> Iterator[tuple[int, list[frozenset[int]]]]:
    """The molecules in which a fragment occurs, by their places, and its atoms there.

    Where the fragment has ``*``, the molecule must go on, with whatever atom.

    >>> mols = [as_mol(smiles) for smiles in ("CCO", "COC", "OCCO")]
    >>> [(place, len(there)) for place, there in occurrences(mols, "*CO")]
    [(0, 1), (2, 2)]
    """
    try:
        mol = as_mol(fragment)
    except InputError:
        return
    how: Any = Chem.AdjustQueryParameters.NoAdjustments()  # Any: the stubs mistype its fields
    how.makeDummiesQueries = True
    query = Chem.AdjustQueryProperties(mol, how)
    inside = [atom.GetIdx() for atom in mol.GetAtoms() if atom.GetAtomicNum()]
    for place, mol in enumerate(mols):
        if found := mol.GetSubstructMatches(query):
            yield place, [frozenset(match[at] for at in inside) for match in found]


@lru_cache(maxsize=1024)
def pattern(smarts: str) -> Mol:
    """The pattern that a SMARTS describes, read once.

    Raises:
        InputError: the text is no SMARTS.
    """
    with rdBase.BlockLogs():
        query = Chem.MolFromSmarts(smarts) if smarts else None
    if query is None:
        raise InputError(f"{smarts!r} is no SMARTS pattern; check its brackets and ring closures")
    return query
