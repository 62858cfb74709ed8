"""Counter-ions: which are known, in which forms, and when they stay."""

import pytest
from rdkit import Chem, rdBase

from vgib.chem.salts import without_counter_ions
from vgib.chem.tables import table_rows

DRUG = "CC#CN"  # smaller than nearly every counter-ion
KNOWN = dict(table_rows("counter_ions.tsv"))


def left(*components: str) -> str:
    with rdBase.BlockLogs():
        mixture = Chem.MolFromSmiles(".".join(components))
        kept = Chem.MolToSmiles(without_counter_ions(mixture))
    return str(kept)


@pytest.mark.parametrize("smiles", KNOWN.values(), ids=list(KNOWN))
def test_each_known_counter_ion_is_left_out_and_stays_where_it_is_alone(smiles):
    assert left(DRUG, smiles) == DRUG
    assert left(smiles) == Chem.CanonSmiles(smiles)
    assert left("[Na+]", smiles) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize(
    "smiles",
    [
        "CS(=O)(=O)[O-]",
        "[O-]C(=O)C(F)(F)F",
        "[O-]C(=O)/C=C/C(=O)O",
        "[O-]C(=O)[C@H](O)[C@@H](O)C(=O)O",
        "[NH3+]CCCC[C@H]([NH3+])C(=O)[O-]",
        "CS(C)=O",
        "O",
    ],
)
def test_protons_stereo_marks_and_solvents_make_no_difference(smiles):
    assert left(DRUG, smiles) == DRUG


def test_what_is_a_drug_as_often_as_a_counter_ion_is_not_left_out():
    salicylate, choline = "O=C([O-])c1ccccc1O", "C[N+](C)(C)CCO"
    assert left(salicylate, choline) == salicylate


def test_without_carbon_elsewhere_the_counter_ion_stays():
    assert left("NN", "OC(=O)CCC(=O)O") == "NN.O=C(O)CCC(=O)O"
