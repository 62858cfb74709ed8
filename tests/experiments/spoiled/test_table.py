"""The table of what is left of methods that learned from spoiled data, from invented records."""

from pathlib import Path

from tests.experiments.invented import file_record

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.spoiled import table


def test_the_table_has_a_row_for_each_set_and_way_with_the_paired_difference(
    tmp_path: Path,
) -> None:
    made, records = recipe("spoiled"), Records(tmp_path)
    level = {"vgib": 0.9, "vgib-beta0": 0.6, "none": 0.5}
    for job in made.jobs(subset={"dataset": ["Mutagenicity"], "spoiled": ["wrong-40"]}):
        told = job.model_dump(mode="json")
        value = level[told["method"]] + told["seed"] / 100
        result = dict.fromkeys(table.MEASURES, value)
        file_record(records, job, result)
    drawn = table.draw(made, records)
    assert len(drawn.tables) == len(table.MEASURES)
    rows = {row[:2]: row[2:] for row in drawn.tables[0].rows}
    assert len(rows) == 8
    assert rows["Mutagenicity", "40 % of the labels wrong"] == (
        "0.920 ± 0.016",
        "0.620 ± 0.016",
        "0.520 ± 0.016",
        "+0.300 [+0.300, +0.300]",
    )
    assert rows["benzene", "2 % of the graphs"] == ("...", "...", "...", "...")
