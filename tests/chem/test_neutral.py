"""Molecules from two sources, written alike."""

from vgib.chem.neutral import neutral_smiles


def test_protons_balance_charges_where_they_can() -> None:
    assert neutral_smiles(["CC(=O)[O-]", "CC[NH3+]", "C[n+]1ccccc1"]) == [
        "CC(=O)O",
        "CCN",
        "C[n+]1ccccc1",
    ]


def test_a_nitro_group_stays_as_it_is() -> None:
    assert neutral_smiles(["C[N+](=O)[O-]"]) == ["C[N+](=O)[O-]"]


def test_stereo_marks_go_and_the_writing_becomes_canonical() -> None:
    left, right = neutral_smiles(["C[C@H](O)/C=C/Cl", "Cl\\C=C\\[C@@H](C)O"])
    assert left == right
    assert "@" not in left and "/" not in left
