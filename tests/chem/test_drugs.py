"""Names of drugs: none is a SMILES, and only a slip of the hand is taken for one."""

import pytest

from vgib.chem.drugs import drug_structures, nearest_drug, structure_of
from vgib.chem.mol import parse
from vgib.data.molecules import from_smiles, load_drugs
from vgib.errors import InputError


def test_there_are_217_drugs() -> None:
    assert len(drug_structures()) == 217
    assert drug_structures()["caffeine"] == "Cn1c(=O)c2c(ncn2C)n(C)c1=O"


@pytest.mark.parametrize(
    ("word", "near"),
    [("Olanzapin", "olanzapine"), ("haloperidole", "haloperidol"), ("melphalan", None), ("", None)],
)
def test_only_a_name_that_is_nearly_the_word_is_suggested(word: str, near: str | None) -> None:
    assert nearest_drug(word) == near


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
