"""Table 3 from invented records."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.table3 import table as explanation

MOLECULES = 200
RATIOS = [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6]


def bits(flags: Any) -> str:
    return base64.b64encode(np.packbits(flags)).decode()


def result(flip: float, wrong: float) -> dict[str, Any]:
    """So many complements change, so many explanations fail; the first molecules of each."""
    order = np.arange(MOLECULES) / MOLECULES
    without, alone = order >= flip, order >= wrong
    means = {"plus": [flip] * 7, "minus": [wrong] * 7}
    other = {f"{side}_{kind}": values for side, values in means.items() for kind in OTHER}
    right = {
        "whole": bits(np.ones(MOLECULES, bool)),
        "without": [bits(without)] * 7,
        "alone": [bits(alone)] * 7,
    }
    return {
        "molecules": MOLECULES,
        "keep_ratios": RATIOS,
        "accuracy": 0.9,
        "model_test_accuracy": 0.9,
        "composition_accuracy": 0.7,
        **means,
        **other,
        "right": right,
        "judge": means,
        "capped": means,
        "robust": means | {"plus": 0.1, "minus": 0.1},
        "stability": None,
    }


OTHER = ("agreement", "probability")
QUALITY = {"fidelity-gate": (0.6, 0.0), "ig": (0.4, 0.0), "occlusion": (0.8, 0.2)}


@pytest.fixture
def made() -> Recipe:
    return recipe("table3")


@pytest.fixture
def records(made: Recipe, tmp_path: Path) -> Records:
    """Three rows on one network with two seeds."""
    found = Records(tmp_path)
    for job in made.jobs(subset={"property": "qed", "gnn": "gcn-2x16", "seed": [101, 102]}):
        method = job.model_dump()["method"]
        if method in QUALITY:
            seconds = {"fit": 1.0, "explain": 0.1, "per_graph": 0.001, "job": 2.0}
            file_record(found, job, result(*QUALITY[method]), seconds)
    return found


def test_wins_ties_and_losses_are_paired_over_molecules(made: Recipe, records: Records) -> None:
    cells = explanation.cells(made, records)
    found = {(one.method, one.side): one for one in explanation.comparisons(cells, "fidelity-gate")}
    assert found["ig", "plus"].verdicts == {"win": 7}
    assert found["ig", "minus"].verdicts == {"tie": 7}
    assert found["occlusion", "plus"].verdicts == {"loss": 7}
    assert found["occlusion", "minus"].verdicts == {"win": 7}
    (_, ratio, gain), *_ = found["ig", "plus"].gains
    assert ratio == 0.3 and gain.value == pytest.approx(0.2)
    assert ("gib", "plus") not in found  # nobody has run it


def test_the_tables_stand_beside_the_papers(made: Recipe, records: Records) -> None:
    cells = explanation.cells(made, records)
    table = explanation.fidelity_table(cells, "gcn-2x16", "plus")
    rows = {row[0]: row[1] for row in table.rows}
    assert rows["ig"] == "0.400 (0.592) [2/3]"
    # The paper's VGIB is the published form, not a gate that is trained on fidelity.
    assert rows["fidelity-gate"] == "0.600 [2/3]"
    assert "gib" not in rows
    other = {row[0]: row[2] for row in table.rows}
    assert other["ig"] == "..."
    compact = {row[0]: row[1:3] for row in explanation.compact_table(cells).rows}
    assert compact["occlusion"] == ("0.80 / 0.20 [2/3]", "...")


def test_where_another_row_is_better_is_told(made: Recipe, records: Records) -> None:
    compared = explanation.comparisons(explanation.cells(made, records), "fidelity-gate")
    table = explanation.losses_table(compared, "fidelity-gate")
    assert len(table.rows) == 7
    assert {row[0] for row in table.rows} == {"occlusion"}


def test_what_else_was_measured(made: Recipe, records: Records) -> None:
    table = explanation.other_judges_table(explanation.cells(made, records), "gcn-2x16")
    row = dict(zip(table.headers, table.rows[0], strict=True))
    assert row["flipped"] == "40%" and row["ms a molecule"] == "1.00"
    assert "stability" not in row and "F-Fidelity +" not in row  # no record has them
    for record in list(records):
        record["result"] |= {"fine_tuned": {"plus": 0.25, "minus": 0.125}, "self_consistency": 0.5}
        records.forget([record["key"]])
        records.append("qed/gcn-2x16/x", record)
    table = explanation.other_judges_table(explanation.cells(made, records), "gcn-2x16")
    row = dict(zip(table.headers, table.rows[0], strict=True))
    assert (row["F-Fidelity +"], row["F-Fidelity -"]) == ("0.250", "0.125")
    assert row["self-consistency"] == "0.50"


def test_everything_is_drawn_and_the_figure_is_the_same_each_time(
    made: Recipe, records: Records
) -> None:
    drawn = drawing.draw(made, records)
    rows = [row for row in drawn.rows() if "against" in row]
    assert {"Fidelity+", "gain in Fidelity+", "Fidelity-", "gain in Fidelity-"} <= set(rows[0])
    pytest.importorskip("matplotlib")
    figure = recipe("figure4")
    once, again = (drawing.draw(figure, records).figures for _ in range(2))
    assert once["figure4.svg"].startswith("<svg") and once == again


def test_without_records_there_is_nothing_to_show(made: Recipe, tmp_path: Path) -> None:
    empty = Records(tmp_path / "none")
    assert drawing.draw(recipe("figure4"), empty).figures == {}
    assert drawing.draw(recipe("figure4"), empty).rows() == []


def test_rows_are_compared_over_the_seeds_that_both_have(made: Recipe, records: Records) -> None:
    (job,) = made.jobs(subset={"property": "qed", "gnn": "gcn-2x16", "seed": 103, "method": "ig"})
    again = next(iter(records)) | {"key": job.key(), "result": result(0.9, 0.9)}
    records.append(job.cell(), again)
    place = ("qed", "gcn-2x16")
    found = {c.method: c for c in explanation.cells(made, records) if c.place == place}
    assert list(found["ig"].records) == [101, 102, 103]
    assert explanation.gains(found["fidelity-gate"], found["ig"])["plus"][0].n == 2
