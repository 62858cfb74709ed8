"""The tables of known answers, from invented records."""

from pathlib import Path
from typing import Any

import pytest
from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.known_answers import table as known


@pytest.fixture
def made() -> Recipe:
    return recipe("known_answers")


@pytest.fixture
def records(made: Recipe, tmp_path: Path) -> Records:
    found = Records(tmp_path)
    jobs = made.jobs(
        subset={
            "dataset": ["BA-2Motifs-published", "Mutagenicity"],
            "life": ["trained", "protocol"],
        }
    )
    for job in jobs:
        own: dict[str, Any] = job.model_dump()
        if own["method"] not in ("vgib", "vgib-beta0", "gsat") or own["seed"] > 4:
            continue
        level = {"vgib": 0.9, "vgib-beta0": 0.2, "gsat": 0.9}[own["method"]]
        result = dict.fromkeys(known.MEASURES, level + own["seed"] / 100)
        if own["method"] == "gsat":
            result = dict.fromkeys(known.MEASURES, 0.93 - own["seed"] / 100)
            result["edge_auc"] = 0.985
        result |= {"kept": 0.2, "share": 0.3, "accuracy_explained": 1.0, "part_accuracy": 1.0}
        result["wrongly_marked"] = None
        file_record(found, job, result)
    return found


def test_ten_seeds_on_ba2motifs_five_elsewhere_and_few_methods_on_spmotif(made: Recipe) -> None:
    jobs = [job.model_dump() for job in made.jobs()]
    assert {j["seed"] for j in jobs if j["dataset"] == "BA-2Motifs"} == set(range(10))
    assert {j["seed"] for j in jobs if j["dataset"] == "Mutagenicity"} == set(range(5))
    on_spmotif = {j["method"] for j in jobs if j["dataset"] == "SPMotif-0.9"}
    assert on_spmotif == {"vgib", "vgib-beta0", "gsat", "gmt-sam", "none"}
    assert {j["life"] for j in jobs if j["method"] == "gradcam"} == {"posthoc"}
    protocol = {(j["dataset"], j["method"]) for j in jobs if j["life"] == "protocol"}
    assert protocol == {("Mutagenicity", "gsat"), ("Mutagenicity", "gmt-sam")}


def test_means_and_spreads_with_what_is_missing(made: Recipe, records: Records) -> None:
    found = [cell for cell in known.cells(made, records) if cell.life == "trained"]
    table = known.measure_table(found, "iou", "trained")
    rows = {row[0]: dict(zip(table.headers, row, strict=True)) for row in table.rows}
    assert rows["Mutagenicity"]["vgib"] == "0.920 ± 0.016"
    assert rows["BA-2Motifs-published"]["vgib"] == "0.920 ± 0.016 [5/10]"
    assert rows["Mutagenicity"]["gib"] == "..."
    assert rows["SPMotif-0.5"]["gib"] == ""


def test_a_difference_whose_interval_holds_zero_is_tied(made: Recipe, records: Records) -> None:
    found = [cell for cell in known.cells(made, records) if cell.life == "trained"]
    gains = known.difference_table(found, "iou", known.CONTROL, of=None)
    rows = {row[0]: dict(zip(gains.headers, row, strict=True)) for row in gains.rows}
    assert rows["Mutagenicity"]["vgib"] == "+0.700 [+0.700, +0.700]"
    ours = known.difference_table(found, "iou", None, of=known.OURS)
    rows = {row[0]: dict(zip(ours.headers, row, strict=True)) for row in ours.rows}
    assert rows["Mutagenicity"]["vgib-beta0"].startswith("+0.700")
    assert rows["Mutagenicity"]["gsat"].endswith("tied")
    assert rows["Mutagenicity"]["gib"] == "..."


def test_rivals_stand_beside_their_published_numbers(made: Recipe, records: Records) -> None:
    table = known.published_table(known.cells(made, records))
    assert table.rows == [
        ("gsat", "BA-2Motifs-published", "0.985 ± 0.000 [5/10]", "0.989 ± 0.005", "yes"),
        ("gsat", "Mutagenicity", "0.985 ± 0.000", "0.994 ± 0.010", "yes"),
    ]


def test_the_page_and_the_numbers_of_every_seed(made: Recipe, records: Records) -> None:
    drawn = drawing.draw(made, records)
    text = drawing.markdown(made, records, drawn)
    assert "`vgib run known_answers` computes the rest" in text
    assert any(row["vgib"] == "0.920 ± 0.016" for row in drawn.rows() if "vgib" in row)
