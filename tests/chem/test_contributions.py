"""Atoms by themselves: shares of logP, and fingerprints without them."""

import numpy as np
from rdkit import Chem
from rdkit.Chem.Crippen import MolLogP

from vgib.chem.contributions import circular_counts, crippen_contributions, masked_counts


def test_with_every_hydrogen_the_shares_add_up_to_logp() -> None:
    mol = Chem.AddHs(Chem.MolFromSmiles("CC(=O)Nc1ccc(O)cc1"))
    shares = crippen_contributions(mol)
    assert len(shares) == mol.GetNumAtoms()
    assert np.isclose(shares.sum(), MolLogP(mol))


def test_the_first_row_is_the_molecule_and_the_others_lack_an_atom() -> None:
    rows = masked_counts("CCO", bits=512)
    assert rows.shape == (4, 512) and rows.dtype == np.uint8
    assert (rows[0] == circular_counts("CCO", bits=512)).all()
    assert all((row != rows[0]).any() for row in rows[1:])


def test_atoms_that_are_alike_leave_the_same_when_they_go() -> None:
    rows = masked_counts("CCC")
    assert (rows[1] == rows[3]).all() and (rows[1] != rows[2]).any()


def test_counts_are_counts_and_end_at_255() -> None:
    assert circular_counts("C" * 300).max() == 255
    assert circular_counts("CCCCCC", radius=0).max() == 4
