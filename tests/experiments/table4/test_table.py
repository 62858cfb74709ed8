"""Table 4 from records: cells, paired differences, summaries."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vgib.experiments.engine import coverage, drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import FIELDS, Records
from vgib.experiments.engine.statistics import corrected_interval, signed, verdict
from vgib.experiments.table4 import table as classification

PLAIN = [0.70, 0.72, 0.68, 0.75, 0.71, 0.73, 0.69, 0.70, 0.74, 0.72]
BETTER = [accuracy + gain for accuracy, gain in zip(PLAIN, [0.05, 0.06] * 5, strict=True)]
MIXED = [accuracy + gain for accuracy, gain in zip(PLAIN, [0.05, -0.06] * 5, strict=True)]


@pytest.fixture
def made() -> Recipe:
    return recipe("table4")


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "table4")


Write = Callable[..., None]


@pytest.fixture
def write(made: Recipe, records: Records) -> Write:
    """Files invented records of a cell."""

    def file(
        bottleneck: str,
        accuracies: list[float],
        encoder: str = "gcn",
        dataset: str = "MUTAG",
        into: Records = records,
        seconds: float = 2.0,
        **more: Any,
    ) -> None:
        subset = {"dataset": dataset, "readout": "sum"}
        jobs = made.jobs(subset=subset | {"encoder": encoder, "bottleneck": bottleneck})
        for job, accuracy in zip(jobs, accuracies, strict=False):
            result = {
                "test_accuracy": accuracy,
                "test_kept_share": 0.5,
                "collapse": None,
                "views": {},
                "train_graphs": 80,
                "test_graphs": 10,
            }
            told = {"key": job.key(), "result": result | more, "seconds": {"cpu": seconds}}
            into.append(job.cell(), dict.fromkeys(FIELDS) | told)

    return file


def cell_of(
    made: Recipe, records: Records, name: str, encoder: str = "gcn"
) -> classification.AccuracyCell:
    wanted = (("MUTAG", "sum", encoder), name)
    found = classification.cells(made, records)
    return next(cell for cell in found if (cell.place, cell.bottleneck) == wanted)


def test_a_table_without_records_is_drawn(made: Recipe, records: Records) -> None:
    assert len(classification.cells(made, records)) == 360
    text = drawing.markdown(made, records, drawing.draw(made, records))
    assert "0 of 360 cells are complete (0 of 3600 records)" in text
    assert "`vgib run table4`" in text and "nan" not in text


def test_a_cell_has_mean_spread_and_the_papers_number(
    made: Recipe, records: Records, write: Write
) -> None:
    write("vgib-paper", PLAIN)
    cell = cell_of(made, records, "vgib-paper")
    assert cell.is_full and cell.mean == pytest.approx(0.714)
    assert cell.published == (0.79, 0.09)
    assert cell.text() == "0.714 ± 0.02 (0.79)"


def test_a_row_that_the_paper_has_not_stands_alone(
    made: Recipe, records: Records, write: Write
) -> None:
    write("vgib-paper-tuned", PLAIN)
    assert cell_of(made, records, "vgib-paper-tuned").text() == "0.714 ± 0.02"


def test_missing_folds_are_told(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN[:4])
    cell = cell_of(made, records, "none")
    assert not cell.is_full and "[4/10]" in cell.text()
    assert coverage.of_recipe(made, records) == {
        "cells": 360,
        "full_cells": 0,
        "jobs": 3600,
        "records": 4,
    }


def test_differences_are_paired_by_fold(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN)
    write("vgib-paper", BETTER)
    difference = cell_of(made, records, "vgib-paper").difference
    assert difference == corrected_interval(np.subtract(BETTER, PLAIN), 1 / 8)
    assert difference is not None and verdict(difference) == "win"
    assert cell_of(made, records, "none").difference is None


def test_a_summary_counts_and_ranks(made: Recipe, records: Records, write: Write) -> None:
    for encoder in ("gcn", "gin"):
        write("none", PLAIN, encoder)
        write("gib", [accuracy - 0.1 for accuracy in PLAIN], encoder, collapse="none")
        write("vgib-paper", BETTER, encoder)
        write("vgib-paper-budget", MIXED, encoder)
    write("vgib-paper-tuned", MIXED, "gcn")
    found = classification.summaries(classification.cells(made, records), "none")
    by_name = {summary.bottleneck: summary for summary in found}
    # Rows that nobody has run are in no table.
    assert [s.bottleneck for s in found] == [
        "none",
        "gib",
        "vgib-paper",
        "vgib-paper-budget",
        "vgib-paper-tuned",
    ]
    vgib, gib, tuned = by_name["vgib-paper"], by_name["gib"], by_name["vgib-paper-tuned"]
    assert (vgib.wins, vgib.ties, vgib.losses, vgib.places) == (2, 0, 0, 2)
    assert (gib.wins, gib.ties, gib.losses) == (0, 0, 2)
    assert by_name["vgib-paper-budget"].ties == 2 and tuned.places == 1
    assert vgib.gain is not None and vgib.gain.value == pytest.approx(0.055)
    assert vgib.published_gain == pytest.approx((0.79 - 0.76 + 0.86 - 0.83) / 2)
    assert gib.collapsed == 1.0 and vgib.collapsed == 0.0
    # Only GCN has the tuned row, which has no rank among rows that both encoders have.
    assert vgib.rank == 1.0 and gib.rank == 4.0 and tuned.rank is None
    assert {summary.ranked for summary in found} == {2}
    assert by_name["none"].gain is None and by_name["none"].rank == 2.0


def test_the_gain_over_cells_is_averaged_fold_by_fold(
    made: Recipe, records: Records, write: Write
) -> None:
    for encoder, accuracies in (("gcn", BETTER), ("gin", MIXED)):
        write("none", PLAIN, encoder)
        write("vgib-paper", accuracies, encoder)
    summary = next(
        s
        for s in classification.summaries(classification.cells(made, records), "none")
        if s.bottleneck == "vgib-paper"
    )
    gains = (np.subtract(BETTER, PLAIN) + np.subtract(MIXED, PLAIN)) / 2
    assert summary.gain is not None
    assert summary.gain.low == pytest.approx(corrected_interval(gains, 1 / 8).low)


def test_datasets_are_averaged_whatever_the_numbers_of_their_folds(
    made: Recipe, records: Records, write: Write
) -> None:
    """Fold 3 of one dataset and fold 3 of another have nothing in common."""
    intervals = []
    for shift in (0, 1):
        here = Records(records.folder.parent / f"shifted{shift}")
        for dataset, gains in (("MUTAG", BETTER), ("DD", MIXED)):
            turn = shift if dataset == "DD" else 0
            for name, accuracies in (("none", PLAIN), ("vgib-paper", gains)):
                turned = accuracies[turn:] + accuracies[:turn]
                write(name, turned, dataset=dataset, into=here)
        found = classification.summaries(classification.cells(made, here), "none")
        intervals.append(next(s.gain for s in found if s.bottleneck == "vgib-paper"))
    one, other = intervals
    assert one is not None and other is not None
    assert (one.value, one.low) == pytest.approx((other.value, other.low))


def test_gains_are_told_for_each_dataset(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN)
    write("gib", PLAIN[:3])
    write("vgib-paper", BETTER)
    table = classification.gains_table(classification.cells(made, records), "none")
    assert table.headers[:2] == ("bottleneck", "MUTAG")
    by_name = {row[0]: row[1:] for row in table.rows}
    whole = classification.summaries(classification.cells(made, records), "none")
    assert by_name["vgib-paper"][0] == signed(whole[2].gain)
    assert set(by_name["vgib-paper"][1:]) == set(by_name["gib"]) == {"..."}
    assert "none" not in by_name


def test_gains_are_told_by_what_is_pooled(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN)
    views = {
        "clean": {"test_accuracy": 0.75, "test_kept_share": 1.0},
        "subgraph": {"test_accuracy": 0.65, "test_kept_share": 0.3},
    }
    write("vgib-paper", BETTER, views=views)
    write("vgib-paper-tuned", MIXED)
    table = classification.view_gains_table(classification.cells(made, records), "none")
    assert [row[:3] for row in table.rows] == [
        ("vgib-paper", "clean", "1"),
        ("vgib-paper", "subgraph", "1"),
    ]
    clean = corrected_interval(np.subtract(0.75, PLAIN), 1 / 8)
    assert table.rows[0][3:] == (signed(clean), "1 / 0 / 0", "1.00")
    assert table.rows[1][3].startswith("-0.064") and table.rows[1][4:] == ("0 / 0 / 1", "0.30")


def test_the_hours_of_every_fold_are_added_up(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN, seconds=360.0)
    write("none", PLAIN[:5], dataset="DD", seconds=720.0)
    rows = classification.hours_table(classification.cells(made, records)).rows
    assert rows[0] == ("none", "1.00", "0.00", "0.00", "1.00", "0.00", "0.00", "2.00")


def test_a_gap_to_a_control_that_lacks_folds_is_not_shown(
    made: Recipe, records: Records, write: Write
) -> None:
    write("none", PLAIN[:9])
    write("vgib-paper", BETTER)
    write("gib", BETTER[:3])
    found = classification.cells(made, records)
    gaps = classification.difference_table(found, "sum", "none").rows
    assert {row[1]: row[2] for row in gaps[:2]} == {"gib": "...", "vgib-paper": "..."}
    kept = classification.kept_table(found, "sum", "none").rows
    assert {row[1]: row[2] for row in kept[:2]} == {
        "gib": "0.50 (0, 0) [3/10]",
        "vgib-paper": "0.50 (0, 0)",
    }


def test_records_of_other_settings_do_not_count(made: Recipe, records: Records) -> None:
    job = made.jobs({"epochs": 3})[0]
    records.append(job.cell(), dict.fromkeys(FIELDS) | {"key": job.key()})
    assert coverage.of_recipe(made, records)["records"] == 0


def test_the_files_hold_every_cell(made: Recipe, records: Records, write: Write) -> None:
    write("none", PLAIN)
    write("vgib-paper", BETTER)
    drawn = drawing.draw(made, records)
    files = drawing.files(made, records, drawn)
    assert set(files) == {"table4.md", "table4.tex", "table4.csv"}
    rows = list(csv.DictReader(io.StringIO(files["table4.csv"])))
    assert len(rows) == sum(len(table.rows) for table in drawn.tables)
    half = next(table for table in drawn.tables if table.title.startswith("Accuracy, sum"))
    own = [row for row in rows if row["table"] == half.title]
    assert [tuple(row[name] for name in half.headers) for row in own] == half.rows
    assert "2 of 360 cells" in files["table4.md"]
    assert "0.714 ± 0.02 (0.76)" in files["table4.md"]
    assert files["table4.tex"].count(r"\begin{table}") == len(drawn.tables) == 10


def test_every_recipe_has_its_coverage(tmp_path: Path) -> None:
    found = coverage.coverage(tmp_path)
    assert found["table4"]["cells"] == 360 and found["table4"]["full_cells"] == 0
    assert found["figure4"]["jobs"] == found["table3"]["jobs"]
