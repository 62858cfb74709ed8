"""Functional groups: each finds what it should, spares its look-alikes, and is cut by nothing."""

import csv
from importlib.resources import files

import pytest
from tests.chem.test_blocks import slow_blocks

from vgib.chem.blocks import blocks_of, indivisible_blocks
from vgib.chem.groups import GROUPS, FunctionalGroup, functional_groups
from vgib.chem.mol import encode, parse

DRUGS = {
    row["name"]: row["smiles"]
    for row in csv.DictReader(
        files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    )
}

# A molecule, its groups, and a look-alike that must not have the first of them.
EXAMPLES = [
    ("O=[N+]([O-])c1ccccc1", [("nitro", 3)], "ON=Cc1ccccc1"),
    ("CCO[N+](=O)[O-]", [("nitrate ester", 4)], "CC[N+](=O)[O-]"),
    ("CN(C)[N+](=O)[O-]", [("nitramine", 4)], "CN(C)N=O"),
    ("O=Nc1ccccc1", [("nitroso", 2)], "O=[N+]([O-])c1ccccc1"),
    ("CN(C)N=O", [("nitrosamine", 3)], "CN(C)C=O"),
    ("O=NN1CCCCC1", [("nitrosamine", 3)], "O=CN1CCCCC1"),
    ("CCCCON=O", [("nitrite ester", 3)], "CCCCN=O"),
    ("[O-][n+]1ccccc1", [("N-oxide", 2)], "Oc1ccccn1"),
    ("C[N+](C)(C)[O-]", [("N-oxide", 2)], "C[N+](C)(C)C"),
    ("CC(C)=NO", [("oxime", 3)], "CC(C)=N"),
    ("ONc1ccccc1", [("hydroxylamine", 2)], "Nc1ccccc1O"),
    ("CC(=O)NO", [("hydroxamic acid", 4)], "CC(=O)NCO"),
    ("[N-]=[N+]=Nc1ccccc1", [("azide", 3)], "c1ccc2[nH]nnc2c1"),
    ("[N-]=[N+]=CC(=O)OCC", [("diazo", 3), ("ester", 3)], "CCOC(=O)CN=[N+]=[N-]"),
    ("N#[N+]c1ccccc1", [("diazonium", 2)], "N#Cc1ccccc1"),
    ("c1ccc(N=Nc2ccccc2)cc1", [("azo", 2)], "c1ccc2nnccc2c1"),
    ("CN(C)N=Nc1ccccc1", [("triazene", 3)], "c1ccc2[nH]nnc2c1"),
    ("NNc1ccccc1", [("hydrazine", 2)], "NCNc1ccccc1"),
    ("NN1CCCCC1", [("hydrazine", 2)], "NCN1CCCCC1"),
    ("CC(C)=NNC", [("hydrazone", 3)], "CC(C)=NCNC"),
    ("CC(C)=NN=C(C)C", [("azine", 4)], "CC(C)=NCC"),
    ("NNC(=O)c1ccncc1", [("hydrazide", 4)], "NCC(=O)c1ccncc1"),
    ("OC(=O)c1ccccc1", [("carboxyl", 3)], "O=Cc1ccccc1O"),
    ("[O-]C(=O)c1ccccc1", [("carboxyl", 3)], "O=C(CO)c1ccccc1"),
    ("COC(=O)c1ccccc1", [("ester", 3)], "COCC(=O)c1ccccc1"),
    ("CSC(=O)C", [("thioacid or thioester", 3)], "CSCC(=O)C"),
    ("CCOC(=S)c1ccccc1", [("thionoester", 3)], "CCOC(=O)c1ccccc1"),
    ("O=C(Cl)c1ccccc1", [("acyl halide", 3)], "O=C(CCl)c1ccccc1"),
    ("COC(=O)OC", [("carbonate", 4)], "COCC(=O)OC"),
    ("CC(=O)OC(C)=O", [("anhydride", 5)], "CC(=O)OCC(C)=O"),
    ("CC(=O)Nc1ccccc1", [("amide", 3)], "CC(=O)CNc1ccccc1"),
    ("CC(=S)NC", [("thioamide", 3)], "CC(=O)NC"),
    ("CC(=O)NC(C)=O", [("imide", 5)], "CC(=O)NCC(C)=O"),
    ("CCOC(=O)NC", [("carbamate", 4)], "CCOC(=O)CNC"),
    ("CNC(=O)NC", [("urea", 4)], "CNCC(=O)NC"),
    ("CNC(=S)NC", [("thiourea", 4)], "CNC(=O)NC"),
    ("N#Cc1ccccc1", [("nitrile", 2)], "[C-]#[N+]c1ccccc1"),
    ("CCCCl", [("alkyl halide", 2)], "Clc1ccccc1"),
    ("CN(CCCl)CCCl", [("mustard", 7)], "CN(CCCCl)CCCCl"),
    ("CSCCBr", [("mustard", 4)], "CSCCCBr"),
    ("CC=CC(C)=O", [("conjugated carbonyl", 4)], "C=CCC(C)=O"),
    ("C=CC(=O)NC", [("conjugated carbonyl", 4), ("amide", 3)], "C=CCC(=O)NC"),
    ("CN(C)C#N", [("cyanamide", 3)], "CN(C)CC#N"),
    ("CSC#N", [("cyanate or thiocyanate", 3)], "CSCC#N"),
    ("O=C=Nc1ccccc1", [("isocyanate", 3)], "O=C=Cc1ccccc1"),
    ("S=C=Nc1ccccc1", [("isothiocyanate", 3)], "N#CSc1ccccc1"),
    ("[C-]#[N+]c1ccccc1", [("isonitrile", 2)], "N#Cc1ccccc1"),
    ("CN=C=NC", [("carbodiimide", 3)], "CN=CNC"),
    ("N=C(N)c1ccccc1", [("amidine", 3)], "NC(=O)c1ccccc1"),
    ("NC(N)=NCC", [("guanidine", 4)], "NC(=O)NCC"),
    ("CSC(=N)N", [("amidine", 3), ("imidate or isothiourea", 3)], "CSC(=O)C"),
    ("COC(C)=NC", [("imidate or isothiourea", 3)], "COCC=NC"),
    ("FC(F)(F)c1ccccc1", [("trihalomethyl", 4)], "FC(F)c1ccccc1"),
    ("F[C-](F)(F)->[Cu]", [("trihalomethyl", 4)], "FC(F)[Cu]"),
    ("CC(C)(C)c1ccccc1", [("tert-butyl", 4)], "CCC(C)(C)c1ccccc1"),
    ("CS(C)=O", [("sulfoxide", 2)], "CS(C)(=O)=O"),
    ("C[S+](C)[O-]", [("sulfoxide", 2)], "CSCO"),
    ("CS(C)(=O)=O", [("sulfonyl", 3)], "CS(C)=O"),
    ("NS(=O)(=O)c1ccccc1", [("sulfonamide", 4)], "NCS(=O)(=O)c1ccccc1"),
    ("CS(=O)N(C)C", [("sulfinamide", 3)], "CS(=O)CN(C)C"),
    ("OS(=O)c1ccccc1", [("sulfinic acid or ester", 3)], "OS(=O)(=O)c1ccccc1"),
    ("OS(=O)(=O)c1ccccc1", [("sulfonic acid or ester", 4)], "OCS(=O)(=O)c1ccccc1"),
    ("COS(=O)(=O)OC", [("sulfate", 5)], "COCS(=O)(=O)OC"),
    ("CS(=O)(=O)Cl", [("sulfonyl halide", 4)], "CS(=O)(=O)CCl"),
    ("CSSC", [("disulfide", 2)], "CSCSC"),
    ("CP(C)(C)=O", [("phosphoryl", 2)], "CP(C)C"),
    ("COP(=O)(O)O", [("phosphate or phosphonate", 5)], "COS(=O)(=O)O"),
    ("CP(=O)(O)O", [("phosphate or phosphonate", 4)], "CP(C)(C)=O"),
    ("CN(C)P(=O)(C)C", [("phosphoramide", 3)], "CN(C)CP(=O)(C)C"),
    ("CP(C)Cl", [("phosphorus halide", 2)], "CP(C)CCl"),
    ("COP(C)C", [("phosphite", 2)], "COCP(C)C"),
    ("OB(O)c1ccccc1", [("boronic acid or ester", 3)], "OCc1ccccc1"),
    ("CCOOCC", [("peroxide", 2)], "CCOCOCC"),
    ("c1ccc(C2CO2)cc1", [("epoxide", 3)], "c1ccc(C2CCO2)cc1"),
    ("CN1CC1", [("aziridine", 3)], "CN1CCC1"),
    ("O=Cc1ccccc1", [("aldehyde", 2)], "CC(=O)c1ccccc1"),
    ("O=C1C=CC(=O)c2ccccc21", [("quinone", 8)], "O=C1C=CCc2ccccc21"),
    ("CCN=NO", [("diazo hydroxide or ether", 3)], "CCN=NC"),
]


@pytest.mark.parametrize(("smiles", "groups", "like"), EXAMPLES, ids=lambda value: str(value))
def test_a_group_is_found_and_its_look_alike_is_not(
    smiles: str, groups: list[tuple[str, int]], like: str
) -> None:
    found = functional_groups(smiles)
    assert sorted((group.name, len(group.atoms)) for group in found) == sorted(groups)
    assert groups[0][0] not in {group.name for group in functional_groups(like)}


def test_every_name_of_the_table_has_an_example() -> None:
    assert {row.name for row in GROUPS} == {name for _, found, _ in EXAMPLES for name, _ in found}


@pytest.mark.parametrize(("smiles", "groups", "like"), EXAMPLES, ids=lambda value: str(value))
def test_a_whole_group_is_one_block(smiles: str, groups: list[tuple[str, int]], like: str) -> None:
    blocks = indivisible_blocks(smiles)
    for group in functional_groups(smiles):
        assert group.whole and len(set(blocks[list(group.atoms)])) == 1


@pytest.mark.parametrize("smiles", ["c1ccccc1", "CCCC", "OCC1CCCCC1", "CCN(CC)CC", "[Na+]", "C"])
def test_plain_molecules_have_none(smiles: str) -> None:
    assert functional_groups(smiles) == []


def test_the_groups_of_a_drug() -> None:
    assert functional_groups(DRUGS["celecoxib"]) == [
        FunctionalGroup("trihalomethyl", (8, 9, 10, 11)),
        FunctionalGroup("sulfonamide", (18, 19, 20, 21)),
    ]
    named = {group.name for group in functional_groups(DRUGS["glipizide"])}
    assert named == {"amide", "sulfonamide", "urea"}


def test_groups_of_one_name_that_share_atoms_are_one() -> None:
    (phosphate,) = functional_groups("COP(=O)(OC)OC")
    assert phosphate == FunctionalGroup("phosphate or phosphonate", (1, 2, 3, 4, 6))


def test_a_ring_is_not_swallowed_by_the_group_of_its_nitrogen() -> None:
    smiles = "CC(=O)N1CCCCC1"
    (amide,) = functional_groups(smiles)
    assert amide == FunctionalGroup("amide", (1, 2, 3), whole=False)
    assert indivisible_blocks(smiles).tolist() == [0, 1, 1, *[2] * 6]


def test_a_whole_group_counts_inside_a_larger_one_that_may_be_cut() -> None:
    smiles = "CNC(=O)N1CCCCC1"
    assert [(g.name, g.atoms, g.whole) for g in functional_groups(smiles)] == [
        ("amide", (1, 2, 3), True),
        ("urea", (1, 2, 3, 4), False),
    ]
    assert indivisible_blocks(smiles).tolist() == [*[0, 1, 1, 1], *[2] * 6]


def test_packed_arrays_and_molecules_give_the_same_blocks() -> None:
    smiles = [*DRUGS.values(), *(s for row in EXAMPLES for s in (row[0], row[2]))]
    mols = [parse(text).mol for text in smiles]
    arrays = encode(mols, "element")
    expected = [block for mol in mols for block in slow_blocks(mol)]
    assert blocks_of(arrays, arrays.codes, arrays.bonds).tolist() == expected
