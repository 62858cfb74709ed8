"""Divisions of a molecule: connected parts that hold each atom once."""

import csv
from importlib.resources import files

import numpy as np
import pytest

from vgib.chem.divide import DIVISIONS, Division, divide
from vgib.chem.mol import bonds_of, parse
from vgib.errors import UnknownNameError

DRUGS = [
    row["smiles"]
    for row in csv.DictReader(
        files("vgib.data").joinpath("drugs.csv").read_text(encoding="utf-8").splitlines()
    )
]


@pytest.mark.parametrize(
    ("into", "expected"),
    [
        ("atoms", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("parts", [0, 1, 2, 2, 2, 3, 4, 4, 4, 4, 4, 4]),
        ("groups", [0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3]),
        ("rings", [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
        ("brics", [0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]),
    ],
)
def test_each_division_of_one_molecule(into: Division, expected: list[int]) -> None:
    assert divide("CCC(=O)NCc1ccccc1", into).tolist() == expected


def test_two_rings_are_two_parts_though_they_are_bonded() -> None:
    assert divide("c1ccccc1C1CC1", "rings").tolist() == [0] * 6 + [1] * 3


@pytest.mark.parametrize("into", DIVISIONS)
def test_parts_are_connected_and_numbered_by_their_lowest_atom(into: Division) -> None:
    for smiles in DRUGS[::7]:
        mol = parse(smiles).mol
        parts = divide(mol, into)
        first = np.unique(parts, return_index=True)[1]
        assert (np.diff(first) > 0).all() and parts[0] == 0
        for part in set(parts.tolist()):
            inside = set(np.flatnonzero(parts == part).tolist())
            reached = {min(inside)}
            for _ in inside:
                reached |= {b for a, b in bonds_of(mol) if a in reached and b in inside}
                reached |= {a for a, b in bonds_of(mol) if b in reached and a in inside}
            assert reached == inside


@pytest.mark.parametrize("into", DIVISIONS)
def test_a_lone_atom_is_one_part(into: Division) -> None:
    assert divide("C", into).tolist() == [0]


def test_an_unknown_division_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'groups'"):
        divide("C", "group")  # type: ignore[arg-type]
