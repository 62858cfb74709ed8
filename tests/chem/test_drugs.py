"""Names of drugs: a slip of the hand is recognized, another drug is not suggested."""

import pytest

from vgib.chem.drugs import drug_structures, nearest_drug


def test_there_are_217_drugs() -> None:
    assert len(drug_structures()) == 217
    assert drug_structures()["caffeine"] == "Cn1c(=O)c2c(ncn2C)n(C)c1=O"


@pytest.mark.parametrize(
    ("word", "near"),
    [("Olanzapin", "olanzapine"), ("haloperidole", "haloperidol"), ("melphalan", None), ("", None)],
)
def test_only_a_name_that_is_nearly_the_word_is_suggested(word: str, near: str | None) -> None:
    assert nearest_drug(word) == near
