"""Patterns and where they occur."""

import pytest

from vgib.chem.mol import parse
from vgib.chem.pattern import matches, pattern
from vgib.errors import InputError


def test_each_place_is_found_once_and_in_the_order_of_the_pattern() -> None:
    assert matches("Nc1ccc(N)cc1", "c[NH2]") == [(1, 0), (4, 5)]
    assert matches("c1ccccc1", "c1ccccc1") == [(0, 1, 2, 3, 4, 5)]


def test_a_molecule_serves_as_well_as_its_smiles() -> None:
    assert matches(parse("CCO").mol, "O") == matches("CCO", "O") == [(2,)]


def test_nothing_is_found_where_nothing_is() -> None:
    assert matches("CCO", "N") == []


@pytest.mark.parametrize("text", ["", "c1cc", "(("])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no SMARTS pattern"):
        matches("CCO", text)


def test_a_pattern_is_read_once() -> None:
    assert pattern("c[NH2]") is pattern("c[NH2]")
