"""Warnings outside the domain: each for its own reason, none for ordinary drugs."""

import csv
from importlib.resources import files

import pytest
from rdkit import Chem

from vgib.chem.domain import LARGE, metals_left_out, outside_domain
from vgib.chem.mol import parse
from vgib.chem.standardize import standardize


@pytest.mark.parametrize(
    ("smiles", "words"),
    [
        ("C[Hg]C", ["contains a metal (Hg)"]),
        ("CC(=O)O[Na]", ["contains a metal (Na)"]),
        ("C[As](C)C", ["contains As, an element"]),
        ("C[At]", ["contains At, an element"]),
        ("O", ["contains no carbon"]),
        ("[CH3]", ["has 1 electron that is not paired"]),
        ("[CH2]", ["has 2 electrons that are not paired"]),
        ("*CC", ["has an attachment point"]),
        ("*CC*", ["has 2 attachment points"]),
        ("NCC(=O)NCC(=O)NCC(=O)NCC(=O)O", ["is a peptide of 4"]),
        ("C[N+](C)(C)C", ["keeps a charge (on N)"]),
        ("CC(=O)[O-]", ["keeps a charge (on O)"]),
        ("C" * (LARGE + 1), [f"has {LARGE + 1} heavy atoms"]),
        ("CCO.CCC", ["consists of 2 separate components"]),
        ("[Fe]", ["contains a metal (Fe)", "contains no carbon"]),
    ],
)
def test_each_oddity_has_its_sentence(smiles: str, words: list[str]) -> None:
    told = outside_domain(Chem.MolFromSmiles(smiles))
    assert len(told) == len(words)
    assert all(sentence.startswith(word) for sentence, word in zip(told, words, strict=True))


@pytest.mark.parametrize(
    "smiles", ["CCO", "C[N+](=O)[O-]", "[O-][n+]1ccccc1", "CN=[N+]=[N-]", "NCC(=O)NCC(=O)O"]
)
def test_ordinary_molecules_raise_no_warning(smiles: str) -> None:
    assert outside_domain(smiles) == []


@pytest.mark.parametrize(
    ("smiles", "told"),
    [
        ("CC[Pt](Cl)(Cl)N", "was read without its metal (Pt)"),
        ("[CH-]1C=CC=C1.[CH-]1C=CC=C1.[Fe+2]", "was read without its metal (Fe)"),
        ("CC(=O)O[Na]", ""),
        ("CC(=O)[O-].[Na+]", ""),
        ("[NH4+].CC(=O)[O-]", ""),
        ("CCO", ""),
    ],
)
def test_a_metal_that_is_no_salt_s_is_missed(smiles: str, told: str) -> None:
    assert metals_left_out(standardize(smiles).sentence).startswith(told)
    assert bool(metals_left_out(standardize(smiles).sentence)) == bool(told)


def test_a_metal_that_stays_is_not_missed() -> None:
    read = parse("C[Hg]c1ccccc1.CCO", mixtures="largest")
    assert read.note is not None and "Hg" in read.note and not metals_left_out(read.note)


def test_a_molecule_larger_than_those_that_were_learned_from_is_told() -> None:
    assert outside_domain("C" * 38, largest=38) == []
    (told,) = outside_domain("C" * 39, largest=38)
    assert told == "has 39 heavy atoms; the model knows molecules of up to 38"
    assert len(outside_domain("C" * (LARGE + 1), largest=10 * LARGE)) == 1


def test_no_known_drug_raises_a_warning() -> None:
    rows = files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    warned = {row["name"] for row in csv.DictReader(rows) if outside_domain(row["smiles"])}
    assert warned == set()


NONMETALS = {
    *("*", "H", "He", "B", "C", "N", "O", "F", "Ne", "Si", "P", "S", "Cl", "Ar"),
    *("Ge", "As", "Se", "Br", "Kr", "Te", "I", "Xe", "At", "Rn"),
}


def test_every_metal_of_the_periodic_table_is_told_and_nothing_else() -> None:
    symbols = [Chem.GetPeriodicTable().GetElementSymbol(number) for number in range(119)]
    told = {s for s in symbols if any("metal" in why for why in outside_domain(f"C.[{s}]"[2:]))}
    assert told == set(symbols) - NONMETALS
