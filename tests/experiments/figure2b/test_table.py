"""Figure 2(b) from records."""

from pathlib import Path

import pytest
from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.figure2b import table as noise


def records_of(folder: Path) -> Records:
    records = Records(folder)
    subset = {"version": "list", "property": "qed", "method": "vgib-paper"}
    for job in recipe("figure2b").jobs(subset=subset):
        each = {"found": [40, 50, 60], "others": [10, 20, 30], "random": [30, 30, 30]}
        file_record(records, job, {"each": each}, {"cpu": 1.0})
    return records


def test_the_found_half_is_compared_with_the_others_on_the_same_molecules(tmp_path: Path) -> None:
    found = noise.disturbances(recipe("figure2b"), records_of(tmp_path))
    one = next(one for one in found if one.records)
    assert one.change("found").value == pytest.approx(0.05)
    gain = one.gain()
    assert (gain.value, gain.low, gain.high) == pytest.approx((0.03, 0.03, 0.03))


def test_the_table_and_the_bars_are_drawn(tmp_path: Path) -> None:
    drawn = drawing.draw(recipe("figure2b"), records_of(tmp_path))
    first = drawn.tables[0].rows[0]
    assert first == (
        *("qed", "trained on the list", "vgib-paper", "0.0500", "0.0300", "0.0200"),
        "+0.030 [+0.030, +0.030]",
    )
    assert "figure2b.svg" in drawn.figures


def test_without_records_there_is_nothing_to_draw(tmp_path: Path) -> None:
    drawn = drawing.draw(recipe("figure2b"), Records(tmp_path))
    assert drawn.figures == {} and drawn.tables[0].rows[0][3] == "..."
