"""Table 2 and Figure 1 from records."""

from pathlib import Path
from typing import Any

from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.table2 import table as dynamics


def written(name: str, folder: Path, seconds: dict[str, list[float]], **more: Any) -> Records:
    records = Records(folder)
    for method, times in seconds.items():
        jobs = recipe(name).jobs(subset={"version": "list", "method": method})
        for job, cpu in zip(jobs, times, strict=False):
            file_record(records, job, {"steps": 40} | more, {"cpu": cpu})
    return records


def test_times_stand_beside_the_papers_with_their_ratios(tmp_path: Path) -> None:
    records = written("table2", tmp_path, {"att05": [4.0, 5.0, 6.0], "gib": [50.0]})
    table = dynamics.time_table(dynamics.courses(recipe("table2"), records), "att05")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["att05"] == ("5.0 ± 1.0", "1.00", "142.0", "1.00")
    assert rows["gib"] == ("50.0 [1/3]", "10.00", "1712.9", "12.06")
    assert rows["gsat"] == ("...", "...", "", "")


def test_the_terms_are_drawn_and_what_is_negative_is_counted(tmp_path: Path) -> None:
    trace = [
        {"step": 10 * n, "prediction": 1 / n, "compression": 1 - 0.5 * n} for n in (1, 2, 3, 4)
    ]
    more = {"trace": trace, "negative_steps": 10, "lowest_compression": -1.0}
    records = written("figure1", tmp_path, {"gib": [50.0], "vgib-paper": [9.0]}, **more)
    drawn = drawing.draw(recipe("figure1"), records)
    (table,) = drawn.tables
    row = next(row for row in table.rows if row[0] == "gib")
    assert row[2:6] == ("1 of 3", "40", "25.0%", "-1.000")
    assert drawn.figures["figure1.svg"].count('id="axes_') == 4


def test_without_records_there_is_nothing_to_draw(tmp_path: Path) -> None:
    drawn = drawing.draw(recipe("figure1"), Records(tmp_path))
    assert drawn.figures == {} and drawn.tables == []
