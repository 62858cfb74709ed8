"""What is known of an atom after bonds of it were cut; the codes themselves are in test_mol."""

import numpy as np
import pytest

from vgib.chem.mol import as_mol
from vgib.chem.vocabulary import RICH, capped_codes, read_atom


@pytest.mark.parametrize(
    ("smiles", "atom", "cuts", "is_lone", "capped"),
    [
        ("CC(C)C", 1, 0, False, "CC(C)C"),
        ("CC(C)C", 1, 1, False, "CCC"),
        ("CC(C)C", 1, 2, False, "CC"),
        ("CC(C)C", 1, 3, False, "C"),
        ("CNC(C)=O", 1, 1, True, "NC"),  # planar because of what was cut off
        ("CN(C)c1ccccc1", 1, 1, False, "CNc1ccccc1"),
    ],
)
def test_a_cut_bond_is_a_bond_to_hydrogen(
    smiles: str, atom: int, cuts: int, is_lone: bool, capped: str
) -> None:
    codes = np.array([read_atom(as_mol(smiles).GetAtomWithIdx(atom), RICH)])
    found = capped_codes(codes, np.array([cuts]), np.array([is_lone]), RICH)
    alike = [read_atom(other, RICH) for other in as_mol(capped).GetAtoms()]
    assert tuple(found[0].tolist()) in alike
    assert (found == codes).all() == (cuts == 0)
