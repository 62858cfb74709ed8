"""Standard forms: what is changed, what is not, and what is said."""

import csv
from importlib.resources import files

import pytest

from vgib.chem.standardize import Standard, Standardized, neutral_smiles, standardize
from vgib.errors import InputError, UnknownNameError


@pytest.mark.parametrize(
    ("smiles", "standard", "done"),
    [
        ("CCO", "CCO", ()),
        ("[Na+].CC(=O)[O-]", "CC(=O)O", ("left out [Na+]", "removed charges")),
        ("CC(=O)O[Na]", "CC(=O)O", ("left out [Na+]", "removed charges")),
        ("C[NH3+].[Cl-]", "CN", ("left out [Cl-]", "removed charges")),
        ("CCN.Cl.Cl.O", "CCN", ("left out Cl, O",)),
        ("CCN.OC(=O)CCC(=O)O", "CCN", ("left out O=C(O)CCC(=O)O",)),
        ("C[N+](C)(C)C.[Br-]", "C[N+](C)(C)C", ("left out [Br-]",)),
        ("[NH3+]CC(=O)[O-]", "NCC(=O)O", ("removed charges",)),
        ("C[N+](=O)[O-]", "C[N+](=O)[O-]", ()),
        ("[2H]C([2H])([2H])O", "CO", ("dropped isotope labels",)),
        ("[13CH3]CO", "CCO", ("dropped isotope labels",)),
        ("CS(C)=O", "CS(C)=O", ()),
        ("C[S+](C)[O-]", "CS(C)=O", ("wrote functional groups in their usual form",)),
        ("C[C@H](N)C(=O)O", "C[C@H](N)C(=O)O", ()),
        ("[Na+].[Cl-]", "[Cl-]", None),
        ("[CH-]1C=CC=C1", "c1cc[cH-]c1", ()),  # with a proton it would be aromatic no more
    ],
)
def test_the_standard_form(smiles: str, standard: str, done: tuple[str, ...] | None) -> None:
    found = standardize(smiles)
    if done is None:
        assert "." not in found.smiles
    else:
        assert found == Standardized(standard, done)


def test_what_is_standard_stays_as_it_is() -> None:
    rows = files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(rows):
        once = standardize(row["smiles"])
        assert standardize(once.smiles) == Standardized(once.smiles), row["name"]


@pytest.mark.parametrize(
    ("smiles", "standard", "kept"),
    [
        ("CC[O-].[Na+]", Standard(salts=False, charges=False), "CC[O-].[Na+]"),
        ("CC[O-]", Standard(charges=False), "CC[O-]"),
        ("[13CH4]", Standard(isotopes=False), "[13CH4]"),
    ],
)
def test_each_step_can_be_switched_off(smiles: str, standard: Standard, kept: str) -> None:
    assert standardize(smiles, standard) == Standardized(kept)


def test_tautomers_become_one_on_request() -> None:
    drawn, same = ("Oc1ccccn1", "O=c1cccc[nH]1")
    assert standardize(drawn).smiles != standardize(same).smiles
    both = [standardize(text, Standard(tautomers=True)) for text in (drawn, same)]
    assert both[0].smiles == both[1].smiles
    assert sum(bool(one.done) for one in both) == 1


def test_the_sentence_says_what_was_done() -> None:
    assert standardize("CCO").sentence == ""
    assert standardize("C[NH3+].[Cl-]").sentence == "Left out [Cl-]; removed charges."


def test_what_no_step_could_change_is_seen_in_the_text() -> None:
    rows = files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    plain = 0
    for row in csv.DictReader(rows):
        if not Standard().may_change(row["smiles"]):
            plain += 1
            assert not standardize(row["smiles"]).done, row["name"]
    assert plain > 200


@pytest.mark.parametrize(
    "smiles", ["C.O", "C[NH3+]", "CC[O-]", "[13CH4]", "CC[Na]", "C[Hg]C", "[2H]C", "C[S+](C)[O-]"]
)
def test_what_a_step_may_change_is_seen_too(smiles: str) -> None:
    assert Standard().may_change(smiles)


def test_a_standard_goes_by_its_name() -> None:
    assert Standard.named("none") is None
    assert Standard.named("usual") == Standard()
    assert Standard.named("tautomers") == Standard(tautomers=True)
    with pytest.raises(UnknownNameError, match="did you mean 'usual'"):
        Standard.named("usal")


@pytest.mark.parametrize("smiles", ["", "c1ccc", "nonsense"])
def test_what_cannot_be_read_is_refused(smiles: str) -> None:
    with pytest.raises(InputError, match="is no SMILES that can be read"):
        standardize(smiles)


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
