"""Where a SMARTS pattern occurs in a molecule."""

from functools import lru_cache

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
