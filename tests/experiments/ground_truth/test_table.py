"""The table of known explanations, from invented records."""

from pathlib import Path
from typing import Any

import pytest

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.ground_truth import table as truth


@pytest.fixture
def made() -> Recipe:
    return recipe("ground_truth")


def numbers(auc: float) -> dict[str, Any]:
    chance = {"random_node_auc": 0.5, "random_precision": 0.2}
    return {"node_auc": auc, "edge_auc": auc, "precision": auc} | chance


@pytest.fixture
def records(made: Recipe, tmp_path: Path) -> Records:
    found = Records(tmp_path)
    jobs = made.jobs(
        subset={
            "dataset": ["BA-2Motifs", "attribution/benzene"],
            "method": ["gib", "fidelity-gate-small"],
        }
    )
    for job in jobs:
        own = job.model_dump()
        auc = 0.9 + (own["seed"] - 203) / 100
        best = numbers(0.99) if own["dataset"].startswith("attribution") else None
        record = {
            "key": job.key(),
            "job": job.model_dump(mode="json"),
            "result": numbers(auc) | {"best": best, "model_test_accuracy": 1.0, "graphs": 7},
            "seconds": {},
            "host": {},
            "versions": {},
        }
        found.append(job.cell(), record)
    return found


def test_means_and_spreads_beside_what_was_published(made: Recipe, records: Records) -> None:
    table = truth.measure_table(truth.cells(made, records), "edge_auc")
    rows = {row[0]: dict(zip(table.headers, row, strict=True)) for row in table.rows}
    assert rows["gib"]["BA-2Motifs"] == "0.900 ± 0.016 (0.861)"
    assert rows["fidelity-gate-small"]["BA-2Motifs"] == "0.900 ± 0.016"
    assert rows["ig"]["BA-2Motifs"] == "..."


def test_where_there_are_several_explanations_the_best_matching_counts(
    made: Recipe, records: Records
) -> None:
    table = truth.measure_table(truth.cells(made, records), "node_auc")
    rows = {row[0]: dict(zip(table.headers, row, strict=True)) for row in table.rows}
    assert rows["fidelity-gate-small"]["benzene"] == "0.990 ± 0.000"


def test_all_numbers_are_handed_out(made: Recipe, records: Records) -> None:
    drawn = drawing.draw(made, records)
    assert len(drawn.numbers.rows) == 2 * 5 + 2 * 5 * 2
    assert drawn.summary[0]["seeds"] == 5
    assert ("attribution/benzene", "1.000", "7") in drawn.tables[-1].rows


def test_gains_are_paired_over_seeds_and_marked_beyond_the_interval(
    made: Recipe, records: Records
) -> None:
    for job in made.jobs(subset={"dataset": ["BA-2Motifs"], "method": ["fidelity-gate-anchored"]}):
        auc = 0.95 + (job.model_dump()["seed"] - 203) / 100
        result = numbers(auc) | {"best": None, "model_test_accuracy": 1.0, "graphs": 7}
        empty: dict[str, Any] = {"seconds": {}, "host": {}, "versions": {}}
        own = {"key": job.key(), "job": job.model_dump(mode="json"), "result": result}
        records.append(job.cell(), own | empty)
    table = truth.gains_table(truth.cells(made, records), "node_auc")
    rows = {row[0]: dict(zip(table.headers, row, strict=True)) for row in table.rows}
    assert rows["gib"]["BA-2Motifs"] == "+0.050 [+0.050, +0.050] +"
    assert rows["gib"]["benzene"] == rows["ig"]["BA-2Motifs"] == "..."
    assert "fidelity-gate-anchored" not in rows
