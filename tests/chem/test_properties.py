"""Properties that RDKit computes."""

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.QED import qed as reference

from vgib.chem.properties import qed
from vgib.data.molecules import load_drugs


def test_drug_likeness_is_that_of_rdkit() -> None:
    smiles = load_drugs()["smiles"].tolist()[:20]
    assert qed(smiles) == pytest.approx([reference(MolFromSmiles(text)) for text in smiles])


def test_what_cannot_be_judged_is_nan_in_its_place(capfd: pytest.CaptureFixture[str]) -> None:
    values = qed(["", "CCO", "oops", "C1CC"])
    assert np.isnan(values).tolist() == [True, False, True, True]
    assert capfd.readouterr().err == ""  # RDKit's own complaints are for nobody


def test_no_molecules_have_no_values() -> None:
    assert qed([]).shape == (0,) and qed([]).dtype == np.float64


def test_a_molecule_that_only_the_parser_bears_has_no_drug_likeness() -> None:
    bond_of_any_kind = "CCC(=O)N(c1~ccccc1)C"  # five bonds once its ring is written out
    assert np.isnan(qed([bond_of_any_kind])).all() and qed(["CCO", bond_of_any_kind])[0] > 0
