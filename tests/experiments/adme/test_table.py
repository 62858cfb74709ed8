"""The tables of models on measured molecules, from invented records."""

from pathlib import Path
from typing import Any

import pytest
from tests.experiments.invented import file_record

from vgib.experiments.adme import table as adme
from vgib.experiments.engine import drawing
from vgib.experiments.engine.cells import recorded
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records

OFF = {"forest": 1.0, "chemprop": 0.5, "vgib": 0.5}


@pytest.fixture
def made() -> Recipe:
    return recipe("adme")


@pytest.fixture
def records(made: Recipe, tmp_path: Path) -> Records:
    """One seed of three methods on the random split; each is off by as much on every molecule."""
    found = Records(tmp_path)
    for job in made.jobs(subset={"seed": [0], "split": ["random"], "method": list(OFF)}):
        method = job.model_dump()["method"]
        measured = [0.0, 1.0, 3.0, 4.0]
        result: dict[str, Any] = dict.fromkeys(adme.PARTS, 0.25)
        result |= {"measured": measured, "predicted": [y + OFF[method] for y in measured]}
        file_record(found, job, result)
    return found


def test_the_recipe_names_what_it_compares(made: Recipe) -> None:
    jobs = [job.model_dump() for job in made.jobs()]
    assert len(jobs) == 3 * 4 * 4 * 2
    assert {job["members"] for job in jobs if job["method"] == "vgib"} == {3}
    assert {(job["kind"], job["members"]) for job in jobs if job["method"] == "chemprop-3"} == {
        ("chemprop", 3)
    }


def test_the_share_of_the_variance_and_its_difference(made: Recipe, records: Records) -> None:
    found = {cell.place: cell.records for cell in recorded(made, records)}
    forest, ours = (found["random", "hlm", method] for method in ("forest", "vgib"))
    # The variance sums to 10, the squared errors to 4 and 1.
    assert adme.explained(forest).value == pytest.approx(0.6)
    assert adme.explained(ours).value == pytest.approx(0.9)
    assert adme.explained(ours, less=forest).value == pytest.approx(0.3)


def test_what_has_no_record_is_left_open(made: Recipe, records: Records) -> None:
    quality, differences, parts = adme.draw(made, records).tables
    assert quality.rows[0] == ("random", "solubility", "0.600 (1)", "0.900 (1)", "0.900 (1)", "...")
    assert quality.rows[4] == ("scaffold", "solubility", *["..."] * 4)
    assert differences.rows[0][2].startswith("+0.300 [") and differences.rows[0][2].endswith("win")
    assert differences.rows[0][3] == "+0.000 [+0.000, +0.000] tie"
    assert parts.rows[0][2:] == ("0.25",) * 3


def test_the_page_and_the_numbers_of_every_job(made: Recipe, records: Records) -> None:
    drawn = drawing.draw(made, records)
    assert "12 of 96 records" in drawing.markdown(made, records, drawn)
    assert len(drawn.rows()) == 3 * 8
