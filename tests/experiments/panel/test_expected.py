"""The panel of textbook molecules: written down in full, and judged as said."""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from rdkit import Chem

from vgib.experiments.panel.expected import Expected, PanelGroup, read_panel

PAGE = Path(__file__).resolve().parents[3] / "docs" / "panel.md"
CLASSES = [
    "nitroaromatic",
    "aromatic amine",
    "epoxide",
    "azide",
    "nitrosamine",
    "mustard",
    "aziridine",
    "alkyl halide",
    "hydrazine",
    "acyl halide",
    "azo",
    "polycyclic aromatic",
    "quinone",
    "N-hydroxy",
    "Michael acceptor",
]


def named(name: str) -> Expected:
    return next(entry for entry in read_panel() if entry.name == name)


def test_the_panel_has_the_sizes_that_were_promised() -> None:
    assert Counter(entry.group for entry in read_panel()) == {
        "mutagen": 30,
        "d2": 17,
        "soft spot": 13,
    }
    assert {entry.group for entry in read_panel()} == set(get_args(PanelGroup))
    kinds = Counter(entry.kind for entry in read_panel() if entry.group == "mutagen")
    assert kinds == dict.fromkeys(CLASSES, 2)


EVERY = (*read_panel(), *read_panel(further=True))


def test_no_molecule_stands_twice() -> None:
    names = [entry.name for entry in EVERY]
    smiles = [entry.smiles for entry in EVERY]
    assert len(set(names)) == len(set(smiles)) == len(names)


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
class TestEntry:
    def test_the_smiles_is_canonical_and_one_molecule(self, entry: Expected) -> None:
        assert Chem.MolToSmiles(Chem.MolFromSmiles(entry.smiles)) == entry.smiles
        assert "." not in entry.smiles

    def test_the_part_occurs_and_is_connected(self, entry: Expected) -> None:
        mol = Chem.MolFromSmiles(entry.smiles)
        assert entry.places()
        for place in entry.places():
            assert len(Chem.GetMolFrags(Chem.MolFromSmarts(entry.smarts))) == 1
            assert len(place) <= 0.75 * mol.GetNumAtoms()

    def test_it_says_what_it_rests_on(self, entry: Expected) -> None:
        assert entry.kind and entry.part and "common knowledge" in entry.source

    def test_the_whole_holds_the_part_and_one_atom_less_does_not(self, entry: Expected) -> None:
        everything = set(range(Chem.MolFromSmiles(entry.smiles).GetNumAtoms()))
        assert entry.lies_inside(everything)
        assert not entry.lies_inside(everything - frozenset.union(*entry.places()))
        for place in entry.places():
            assert entry.lies_inside(place)
            assert not any(entry.lies_inside(place - {atom}) for atom in place)


def test_any_place_of_the_part_will_do() -> None:
    entry = named("4,4'-methylenebis(2-chloroaniline)")
    assert len(entry.places()) == 2
    assert all(entry.lies_inside(place) for place in entry.places())


def test_no_part_found_is_a_miss() -> None:
    assert not any(entry.lies_inside(None) or entry.lies_inside(()) for entry in EVERY)


def test_the_page_shows_every_entry() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for entry in read_panel():
        assert f"| {entry.name} | {entry.part} | `{entry.smarts}` |" in text, entry.name
    assert text.count("| `") == len(read_panel())
