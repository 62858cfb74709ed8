"""The tables of activity cliffs, from invented records."""

from pathlib import Path
from typing import Any

import pytest
from tests.experiments.invented import file_record

from vgib.experiments.cliffs import table as cliffs
from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records


@pytest.fixture
def made() -> Recipe:
    return recipe("cliffs")


@pytest.fixture
def records(made: Recipe, tmp_path: Path) -> Records:
    """All targets of the forest with two seeds, and four of Crippen; pairs differ by target."""
    found = Records(tmp_path)
    targets = made.grid["target"]
    for job in made.jobs():
        own: dict[str, Any] = job.model_dump()
        place = targets.index(own["target"])
        if own["method"].startswith("vgib"):
            continue
        if own["seed"] > 1 or (own["method"] == "crippen" and place > 3):
            continue
        share = 0.7 + 0.1 * own["seed"] if own["method"] == "forest" else 0.5
        pairs = {"test": 10 * (place % 3), "touching": 100}
        result: dict[str, Any] = {"rmse": None, "cliff_rmse": None}
        if own["method"] == "forest":
            result = {"rmse": 0.6 + own["seed"] / 10, "cliff_rmse": 0.8}
        for name, count in pairs.items():
            result |= {f"pairs_{name}": count, f"right_{name}": share * count}
            result[f"direction_{name}"] = share if count else None
        file_record(found, job, result)
    return found


def test_crippen_has_one_seed_and_the_forest_three(made: Recipe) -> None:
    jobs = [job.model_dump() for job in made.jobs()]
    assert len(jobs) == 80 + 4 * 60
    assert {job["seed"] for job in jobs if job["method"] == "crippen"} == {0}


def test_pairs_of_all_targets_are_pooled(made: Recipe, records: Records) -> None:
    forest, crippen, *_ = cliffs.rows(made, records)
    told = forest.direction("test")
    assert told.value == pytest.approx(0.75) and told.n == 13
    assert forest.mean("rmse") == pytest.approx(0.65) and crippen.mean("rmse") is None
    assert cliffs.direction_table([forest, crippen]).rows == [
        ("forest", "0.750 [0.750, 0.750]", "0.750 [0.750, 0.750]", "0.650", "0.800", "40/60"),
        ("crippen", "0.500 [0.500, 0.500]", "0.500 [0.500, 0.500]", "", "", "4/20"),
    ]


def test_differences_are_on_the_targets_that_both_have(made: Recipe, records: Records) -> None:
    found = cliffs.rows(made, records)[:2]
    gain = found[1].direction("touching", less=found[0])
    assert gain.value == pytest.approx(-0.25) and gain.n == 4
    assert cliffs.difference_table(found).rows == [
        ("crippen", *["-0.250 [-0.250, -0.250] loss"] * 2)
    ]


def test_a_table_can_be_drawn_of_nothing(made: Recipe, tmp_path: Path) -> None:
    drawn = cliffs.draw(made, Records(tmp_path))
    assert drawn.tables[0].rows[0] == ("forest", "...", "...", "...", "...", "0/60")
    assert drawn.tables[1].rows == []


def test_the_page_and_the_numbers_of_every_job(made: Recipe, records: Records) -> None:
    drawn = drawing.draw(made, records)
    assert "`vgib run cliffs` computes the rest" in drawing.markdown(made, records, drawn)
    assert len(drawn.rows()) == sum(len(table.rows) for table in drawn.tables)
    assert drawn.rows()[0]["method"] == "forest"
