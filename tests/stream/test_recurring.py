"""What recurs over all molecules: against values that are known because they were made."""

import csv
from pathlib import Path

import pytest

from vgib.stream.ledger import LedgerEntry, Moments, SeenMolecule, welch, write_ledger
from vgib.stream.recurring import recurring, weightiest, write_beside

RESTS = ["CC", "CCC", "CCCC", "CC(C)C", "C1CC1", "CCOC", "CCCOC", "CC(C)CC"]


def made() -> list[SeenMolecule]:
    """Benzenes with and without a nitro group, which adds one; a rest adds a tenth a place."""
    seen = []
    for place, rest in enumerate(RESTS):
        for step, group in enumerate(("", "[N+](=O)[O-]")):
            smiles = f"{rest}c1ccc({group})cc1" if group else f"{rest}c1ccccc1"
            atoms = smiles.count("C") + smiles.count("c") + smiles.count("O") + smiles.count("N")
            effects = [0.0] * atoms
            if group:  # its atoms come after the rest and four of the ring
                start = len([letter for letter in rest if letter in "CO"]) + 4
                effects[start : start + 3] = [0.5, 0.25, 0.25]
            line = len(seen) + 1
            seen.append(SeenMolecule(line, f"m{line}", smiles, place / 10 + step, tuple(effects)))
    return seen


def test_groups_and_rings_are_counted_wherever_they_are() -> None:
    found = recurring(made(), ["*CC", "*[N+](=O)[O-]", "*c1ccccc1", "*CO"])
    by_name = {entry.called or entry.fragment: entry for entry in found.entries}
    nitro, benzene = by_name["nitro"], by_name["benzene"]
    assert (nitro.kind, nitro.count, nitro.fragment) == ("group", 8, "*[N+](=O)[O-]")
    assert nitro.difference == pytest.approx(1) and nitro.mean_effect == pytest.approx(1)
    assert nitro.low is not None and 0 < nitro.low < 1
    assert (nitro.share, benzene.share) == (0.5, 1)
    assert (nitro.pairs, nitro.pair_difference) == (8, pytest.approx(1))
    assert (benzene.kind, benzene.count, benzene.mean_without) == ("ring", 16, None)
    assert found.matches["nitro"] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert len({entry.fragment for entry in found.entries}) == len(found.entries)
    assert [entry.fragment for entry in found.entries if entry.kind == "part"] == ["*CO"]
    assert by_name["*CO"].count == 4  # as a substructure, in all that have an ether


def test_what_is_sure_and_large_comes_first_and_single_atoms_last() -> None:
    def entry(fragment: str, effect: float | None, low: float, high: float) -> LedgerEntry:
        sides = (4.0, 3.0, (low + high) / 2, low, high)
        return LedgerEntry(fragment, 9, 0.5, 0, *sides, (), (), mean_effect=effect)

    sure = [entry("*c1ccccc1", -0.9, -2, -1), entry("*OCC", None, 0.4, 1), entry("*F", 5.0, 1, 2)]
    unsure = [entry("*C(N)=O", 3.0, -1, 2), entry("*C", 4.0, -1, 2)]
    assert weightiest([*unsure, *sure][::-1]) == [*sure, *unsure]


def test_changes_that_come_again_are_told_with_their_interval(tmp_path: Path) -> None:
    found = recurring(made(), [])
    change = next(one for one in found.changes if one.before == "O=[N+]([O-])[*:1]")
    assert (change.after, change.pairs) == ("[*:1][H]", 8)
    assert change.difference == pytest.approx(-1)
    assert change.low == pytest.approx(-1) and change.high == pytest.approx(-1)
    (path,) = write_beside(tmp_path / "ledger.csv", found)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert path.name == "ledger.pairs.csv" and len(rows) == len(found.changes)
    assert float(rows[0]["difference"]) == pytest.approx(found.changes[0].difference, rel=1e-4)


def test_a_series_has_the_mean_of_each_substituent(tmp_path: Path) -> None:
    series = [
        SeenMolecule(n, f"m{n}", f"{group}c1ccc2nc({end})ccc2c1", value)
        for n, (group, end, value) in enumerate(
            [("F", "O", 1.0), ("F", "N", 2.0), ("Cl", "O", 3.0), ("Cl", "N", 4.0), ("C", "O", 5.0)]
        )
    ]
    found = recurring(series, [])
    fluorine = next(one for one in found.substituents if "F" in one.group)
    assert (fluorine.count, fluorine.mean, fluorine.series) == (2, 1.5, 5)
    assert [path.name for path in write_beside(tmp_path / "l.csv", found)][-1] == "l.cores.csv"


@pytest.mark.hostile
def test_no_name_in_what_is_written_of_it_is_a_formula_of_a_spreadsheet(tmp_path: Path) -> None:
    seen = [one._replace(name=f"=cmd{one.line}") for one in made()]
    found, ledger = recurring(seen, []), tmp_path / "l.csv"

    def names(*, plain: bool) -> list[str]:
        write_ledger(ledger, found.entries, plain=plain)
        paths = [ledger, *write_beside(ledger, found, plain=plain)]
        tables = [csv.DictReader(path.read_text().splitlines()) for path in paths]
        return [row["names"] for table in tables for row in table]

    guarded, plain = names(plain=False), names(plain=True)
    assert guarded and guarded == [f"'{one}" for one in plain]
    assert all(one.startswith("=cmd") for one in plain)


def test_nothing_recurs_among_no_molecules() -> None:
    assert recurring([], []) == ([], {}, [], [])


def test_the_open_ends_of_a_fragment_are_no_atoms_of_it() -> None:
    def entry(fragment: str, effect: float) -> LedgerEntry:
        sides = (4.0, 3.0, 1.0, 0.5, 1.5)
        return LedgerEntry(fragment, 9, 0.5, 0, *sides, (), (), mean_effect=effect)

    three, two = entry("*C(N)=O", 1.0), entry("*C(*)=O", 2.0)
    assert weightiest([two, three]) == [three, two]


def test_what_is_in_all_molecules_or_in_few_widens_no_interval() -> None:
    seen = made()
    nitro = {entry.called: entry for entry in recurring(seen, []).entries}["nitro"]
    sides = Moments(), Moments()
    for one in seen:
        sides["[N+]" not in one.smiles].add(one.value)
    assert (nitro.low, nitro.high) == pytest.approx(welch(*sides, 1))
