"""The ledger of fragments: counts, means and intervals against a table in memory."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import ttest_ind  # type: ignore[import-untyped]

from vgib.errors import InputError
from vgib.stream.ledger import COLUMNS, Ledger, write_ledger
from vgib.stream.schema import SECOND, results_schema


def results_of(
    parts: list[list[str]], values: list[float], ids: list[str | None] | None = None, start: int = 1
) -> pa.Table:
    schema = results_schema("regression", 1)
    rows = [
        {
            "line": start + number,
            "id": None if ids is None else ids[number],
            "smiles": "C" * (number + 1),
            "prediction": value,
            "subgraphs": [
                {"smiles": text, "atoms": [0], "score": 0.5, "keep_ratio": 0.5} for text in own
            ],
        }
        for number, (own, value) in enumerate(zip(parts, values, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def drawn(seed: int, count: int) -> tuple[list[list[str]], list[float]]:
    rng = np.random.default_rng(seed)
    parts = [[f"*C{number}" for number in set(rng.integers(0, 6, 2))] for _ in range(count)]
    return parts, (1e6 + rng.normal(size=count)).tolist()


def test_counts_means_and_corrected_intervals_are_those_of_welch() -> None:
    parts, values = drawn(0, 200)
    ledger = Ledger()
    for start in range(0, 200, 37):  # in pieces, as it streams
        ledger.add(results_of(parts[start : start + 37], values[start : start + 37], None, start))
    entries = ledger.entries()
    assert ledger.molecules == 200 and len(entries) == 6
    assert [e.count for e in entries] == sorted((e.count for e in entries), reverse=True)
    for entry in entries:
        inside = np.array([entry.fragment in own for own in parts])
        first, second = np.array(values)[inside], np.array(values)[~inside]
        assert entry.count == inside.sum() and entry.share == pytest.approx(inside.mean())
        assert entry.mean_with == pytest.approx(first.mean())
        assert entry.mean_without == pytest.approx(second.mean())
        # Six fragments are compared: all intervals hold at once with 95 %.
        expected = ttest_ind(first, second, equal_var=False).confidence_interval(1 - 0.05 / 6)
        assert (entry.low, entry.high) == pytest.approx(tuple(expected), abs=1e-6)


def test_a_fragment_counts_once_for_a_molecule_and_names_its_first_ones() -> None:
    ledger = Ledger()
    ledger.add(results_of([["*C", "*C"], ["*C"], ["*N"]], [1.0, 3.0, 5.0], ["a", None, "c"]))
    (entry,) = ledger.entries()
    assert (entry.fragment, entry.count, entry.mean_with) == ("*C", 2, 2.0)
    assert entry.lines == (1, 2) and entry.names == ("a", "CC")
    assert entry.mean_without == 5.0 and entry.difference == -3.0
    assert entry.low is None  # too few on either side


def test_what_all_molecules_have_is_compared_with_nothing() -> None:
    ledger = Ledger()
    ledger.add(results_of([["*C"], ["*C"]], [1.0, 3.0]))
    (entry,) = ledger.entries()
    assert entry.share == 1 and entry.mean_without is entry.difference is entry.low is None


def test_another_property_is_read_from_its_column() -> None:
    table = results_of([["*C"], ["*C"], ["*N"]], [1.0, 3.0, 5.0])
    table = table.append_column("activity", pa.array(["2.5", "", "n/a"]))
    ledger = Ledger("activity")
    ledger.add(table)
    assert (ledger.molecules, ledger.skipped) == (1, 2)
    assert ledger.entries(at_least=1)[0].mean_with == 2.5
    with pytest.raises(InputError, match="no column 'actvity'"):
        Ledger("actvity").add(table)
    with pytest.raises(InputError, match="several values"):
        Ledger("scores").add(table)


def test_of_two_classes_the_chance_of_the_second_is_compared() -> None:
    table = results_of([["*C"], ["*C"], ["*N"]], [7, 3, 7])
    table = table.append_column(SECOND, pa.array([0.9, 0.2, 0.6]))
    ledger = Ledger(classes=[3, 7])
    ledger.add(table)
    assert ledger.entries()[0].mean_with == pytest.approx((0.9 + 0.2) / 2)
    several = Ledger(classes=[3, 5, 7])
    several.add(table)
    assert several.molecules == 0 and several.entries() == []


def test_memory_has_a_bound_and_the_common_fragments_survive_it() -> None:
    ledger = Ledger(most=50)
    rng = np.random.default_rng(1)
    for start in range(0, 3000, 30):
        parts = [[f"*R{n}", "*C" if n % 3 == 0 else f"*X{n}"] for n in range(start, start + 30)]
        ledger.add(results_of(parts, rng.random(30).tolist(), None, start))
        assert len(ledger._seen) <= 50 + 60
    entry = ledger.entries()[0]
    assert entry.fragment == "*C" and entry.count <= 1000 <= entry.count + entry.missed


def test_parts_that_are_no_molecule_are_left_out() -> None:
    ledger = Ledger()
    ledger.add(results_of([[""], ["", "*C"]], [1.0, 3.0]))
    assert [entry.fragment for entry in ledger.entries(at_least=1)] == ["*C"]


def test_it_is_written_as_csv(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.add(results_of([["*C"], ["*C"], ["*N"]], [1.0, 3.0, 5.0], ["a b", "c", "d"]))
    write_ledger(tmp_path / "l.csv", ledger.entries())
    (row,) = csv.DictReader((tmp_path / "l.csv").read_text().splitlines())
    assert tuple(row) == COLUMNS
    assert (row["fragment"], row["count"], row["low"]) == ("*C", "2", "")
    assert (row["lines"], row["names"]) == ("1 2", "a_b c")
