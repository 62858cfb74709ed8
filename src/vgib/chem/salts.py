"""Counter-ions and solvents: what a drug is shipped with, and what no one means to ask about."""

from functools import cache
from typing import Any

from rdkit.Chem.MolStandardize import rdMolStandardize

from vgib.chem.tables import table_text


def without_counter_ions(mixture: Any) -> Any:  # RDKit ships no types
    """A mixture without counter-ions and solvents, or unchanged if nothing organic would be left.

    >>> from rdkit import Chem
    >>> salt = Chem.MolFromSmiles("CCCN.OC(=O)CC(O)(CC(=O)O)C(=O)O")
    >>> Chem.MolToSmiles(without_counter_ions(salt))
    'CCCN'
    """
    kept = mixture
    for remover in _removers():
        kept = remover.remove(kept)
    is_organic = any(atom.GetAtomicNum() == 6 for atom in kept.GetAtoms())
    return kept if is_organic else mixture


@cache
def _removers() -> tuple[rdMolStandardize.FragmentRemover, ...]:
    """RDKit's list first, so that of a counter-ion and a solvent the counter-ion stays.

    A list that would leave nothing removes nothing: a counter-ion alone is still read.
    """
    common = rdMolStandardize.FragmentRemover("", leave_last=True, skip_if_all_match=True)
    more = rdMolStandardize.FragmentRemoverFromData(
        table_text("counter_ions.tsv"), leave_last=True, skip_if_all_match=True
    )
    return common, more
