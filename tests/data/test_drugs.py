"""The shipped drugs by name: none of the names is a SMILES."""

import pytest

from vgib.chem.mol import parse
from vgib.data.drugs import structure_of
from vgib.data.molecules import from_smiles, load_drugs
from vgib.errors import InputError


def test_every_drug_goes_by_its_name_and_no_name_is_a_smiles() -> None:
    for row in load_drugs().itertuples():
        assert structure_of(f" {str(row.name).upper()} ") == row.smiles
        with pytest.raises(InputError):
            parse(str(row.name))


@pytest.mark.parametrize("text", ["CCO", "c1ccccc1", "unheardofine", "", "aspirin tablets"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert structure_of(text) == text


def test_names_are_read_where_smiles_are() -> None:
    found = from_smiles(["aspirin", "CC(=O)Oc1ccccc1C(=O)O"])
    assert found.graphs.ids is not None and found.graphs.ids[0] == found.graphs.ids[1]
