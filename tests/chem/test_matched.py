"""Matched pairs and common cores."""

from collections import Counter

from vgib.chem.matched import HYDROGEN, common_cores, matched_pairs
from vgib.chem.mol import as_mol
from vgib.chem.pattern import occurrences


def test_molecules_that_differ_in_one_place_are_pairs() -> None:
    found = matched_pairs(["Fc1ccccc1", "Clc1ccccc1", "CCO", "c1ccccc1"])
    assert [(pair.first, pair.second) for pair in found] == [(0, 1), (0, 3), (1, 3)]
    assert (found[0].before, found[0].after) == ("F[*:1]", "Cl[*:1]")
    assert (found[1].before, found[1].after) == ("F[*:1]", HYDROGEN)


def test_a_pair_is_told_by_its_smallest_change_and_stereo_makes_none() -> None:
    (pair,) = matched_pairs(["CCCCOc1ccccc1F", "CCCCOc1ccccc1Cl"])
    assert (pair.before, pair.after) == ("F[*:1]", "Cl[*:1]")
    assert matched_pairs(["C[C@H](F)c1ccccc1", "C[C@@H](F)c1ccccc1"]) == []
    assert matched_pairs(["CCO", "c1ccc2ccccc2c1"]) == []


def test_a_series_shows_its_core_and_its_substituents() -> None:
    series = [f"{left}c1ccc2nc({right})ccc2c1" for left in ("F", "Cl", "C") for right in ("O", "N")]
    (core,) = common_cores([*series, "CCO", "c1ccccc1"])
    assert core.members == tuple(range(6)) and len(core.groups) == 2
    first, second = (Counter(each) for each in core.groups.values())
    assert sorted(first.values()) in ([2, 2, 2], [3, 3])
    assert len(first) * len(second) == 6
    assert common_cores(series[:4]) == []


def test_a_series_has_a_core_of_nine_atoms_or_more() -> None:
    substituents = ("F", "Cl", "Br", "C", "O", "N")
    (core,) = common_cores([f"{each}c1ccc2c(c1)CCC2" for each in substituents])
    assert core.members == tuple(range(6))
    assert common_cores([f"{each}c1ccc2c(c1)CC2" for each in substituents]) == []


def test_a_fragment_is_found_as_a_substructure() -> None:
    mols = [as_mol(text) for text in ("Oc1ccccc1", "OCc1ccccc1", "O", "CO")]
    found = dict(occurrences(mols, "*O"))
    assert found == {0: [frozenset({0})], 1: [frozenset({0})], 3: [frozenset({1})]}
    assert list(occurrences(mols, "no smiles")) == []
