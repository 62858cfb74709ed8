"""Table 1 from records: controls, gaps, intervals, what is missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.experiments.invented import file_record

from vgib.experiments.engine import drawing
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import verdict
from vgib.experiments.table1 import table as interpretation
from vgib.experiments.table1.cells import DivergenceCell, cells, gap_share
from vgib.experiments.table1.table import percent
from vgib.metrics import Estimate

MOLECULES = 40
Write = Callable[..., None]
Invented = Callable[[int], dict[str, Any]]


@pytest.fixture
def made() -> Recipe:
    return recipe("table1")


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path / "table1")


@pytest.fixture
def write(made: Recipe, records: Records, invented: Invented) -> Write:
    """Files invented records of a cell, one for each seed."""

    def file(method: str, *owns: int, version: str = "list", target: str = "qed") -> None:
        subset = {"version": version, "property": target, "method": method}
        for job, own in zip(made.jobs(subset=subset), owns, strict=False):
            file_record(records, job, invented(own), {"cpu": 2.0})

    return file


def cell_of(made: Recipe, records: Records, method: str) -> DivergenceCell:
    found = cells(made, records)
    wanted = ("list", "qed", method)
    return next(cell for cell in found if (cell.version, cell.target, cell.method) == wanted)


def test_tables_without_records_are_drawn(made: Recipe, records: Records) -> None:
    drawn = drawing.draw(made, records)
    text = drawing.markdown(made, records, drawn)
    assert "0 of" in text and "nan" not in text
    assert drawn.figures == {}


def test_the_gap_closed_is_the_way_from_random_to_best(
    made: Recipe, records: Records, write: Write
) -> None:
    write("gsat", 230, 220, 210)
    gap = cell_of(made, records, "gsat").gap_closed("half")
    assert gap.value == pytest.approx((300 - 220) / (300 - 200), abs=0.02)
    assert gap.low < gap.value < gap.high
    assert gap.low < 0.72 and gap.high > 0.88  # seeds differ by more than molecules do
    assert gap_share(0.3, 0.3, 0.2) == 0 and gap_share(0.2, 0.3, 0.2) == 1


def test_the_difference_is_paired_and_says_who_wins(
    made: Recipe, records: Records, write: Write
) -> None:
    write("gsat", 220, 220, 220)
    cell = cell_of(made, records, "gsat")
    assert cell.difference("half").value == pytest.approx(-0.08, abs=0.002)
    assert verdict(cell.difference("half")) == "loss"  # below zero: diverges less
    assert cell.difference("paper", "each_connected").value == pytest.approx(-0.09, abs=0.002)


def test_molecules_that_were_not_judged_are_left_out(
    made: Recipe, records: Records, write: Write
) -> None:
    write("gsat", 220)
    record = next(iter(records))
    record["result"]["half"]["each"][0] = None
    (group,) = DivergenceCell(3, {0: record}, "list", "qed", "gsat", None).groups("half", "each")
    assert len(group) == MOLECULES - 1


def test_a_cell_with_missing_seeds_says_so(made: Recipe, records: Records, write: Write) -> None:
    write("vgib-paper", 220)
    write("att05", 320, 320, 320)
    (first, *_) = interpretation.tables(cells(made, records))
    rows = {row[0]: row[1] for row in first.rows}
    assert rows["vgib-paper"] == "0.220 ± 0.10, 50% kept (0.32) [1/3]"
    assert rows["att05"] == "0.320 ± 0.10, 50% kept (0.48)"
    assert "gsat" not in rows  # nobody has run it
    write("gsat", 300, target="hlm")
    assert rows["random connected half"] == "0.290, 50% kept"
    both = {row[0]: row[1:3] for row in interpretation.tables(cells(made, records))[0].rows}
    assert both["gsat"][0] == "..." and both["gsat"][1].startswith("0.300")


def test_seeds_that_did_different_things_are_told_by_their_range() -> None:
    def seed(share: float) -> dict[str, Any]:
        return {"result": {"paper": {"kept_share": share}}}

    alike = DivergenceCell(2, {0: seed(0.5), 1: seed(0.54)}, "list", "qed", "gsat", None)
    apart = DivergenceCell(2, {0: seed(0.05), 1: seed(1.0)}, "list", "qed", "gsat", None)
    assert alike.kept("paper") == "52%" and apart.kept("paper") == "5 to 100%"


def test_everything_is_drawn_from_records(made: Recipe, records: Records, write: Write) -> None:
    for method in ("vgib-paper", "gib"):
        for target in ("qed", "hlm"):
            write(method, 220, 230, 240, target=target)
    drawn = drawing.draw(made, records)
    text = drawing.markdown(made, records, drawn)
    assert "nan" not in text and "0.34" in text
    assert set(drawn.figures) == {"table1_size.svg", "table1_gap.svg"}
    assert all(svg.startswith("<svg") for svg in drawn.figures.values())
    assert drawing.draw(made, records).figures == drawn.figures  # the same each time
    by_rings = [row for row in drawn.rows() if "at half: gap closed [95 %]" in row]
    told = next(row for row in by_rings if row["method"] == "gib")
    assert told["at half: gap closed [95 %]"].startswith("70 %")


def test_a_guided_choice_is_also_compared_with_all_that_was_offered(
    made: Recipe, records: Records, write: Write
) -> None:
    write("vgib-paper", 290, 290, 290)
    write("vgib-paper-guided", 220, 220, 220)
    nearest = cell_of(made, records, "vgib-paper")
    guided = cell_of(made, records, "vgib-paper-guided")
    assert (nearest.rule, guided.rule) == ("ring_intact", "guided")
    assert guided.gap_closed_among(nearest, "half").value == pytest.approx(0.8, abs=0.02)
    first, rings, gap, *_ = interpretation.tables(cells(made, records))
    assert gap.rows[-1][0] == "vgib-paper-guided, one atom more allowed"
    assert gap.rows[-1][1].startswith(("79 %", "80 %")) and gap.rows[-1][2] == "..."
    rows = {row[0]: row[1] for row in first.rows}
    assert rows["vgib-paper-guided"] == "0.220 ± 0.10, 50% kept"  # nothing that the paper has
    rows = {row[0]: row[1] for row in rings.rows}
    assert rows["vgib-paper-guided"] == "0.220 ± 0.10, 50% kept"
    assert rows["random ring-intact"] == "0.300, 50% kept"


def test_parts_that_were_trained_on_are_told_apart(
    made: Recipe, records: Records, write: Write
) -> None:
    write("att05", 320)
    write("none-guided", 220)
    for record in list(records):
        if "none-guided" in record["key"]:
            new = {"each": [280], "each_random": [300], "each_best": [200], "known_share": 0.4}
            record["result"]["new"] = new
            records.forget([record["key"]])
            records.append("list/qed/none-guided", record)
    found = interpretation.tables(cells(made, records))
    (table,) = [one for one in found if one.name == "new list"]
    assert [row[:2] for row in table.rows] == [
        ("none-guided", "40% known; 20 % among the others [1/3]")
    ]


def test_a_guided_choice_is_also_compared_with_parts_of_exactly_its_size(
    made: Recipe, records: Records, write: Write, invented: Invented
) -> None:
    write("vgib-paper", 290, 290, 290)
    write("vgib-paper-guided", 220, 220, 220)
    cell = cell_of(made, records, "vgib-paper-guided")
    assert cell.gap_closed_at_own_size("half") is None  # records from before it was written down
    for result in cell.results:
        each = np.array(result["half"]["each"])
        result["half"] |= {"each_same_random": each + 30, "each_same_best": each - 20}
    same = cell.gap_closed_at_own_size("half")
    assert same is not None and same.value == pytest.approx(0.6)
    rows = {row[0]: row[1:] for row in interpretation.offered_rows([cell], "half")}
    assert rows["vgib-paper-guided, exactly as many atoms"] == ("60 % [60, 60]",)


def test_a_share_is_told_in_per_cent() -> None:
    assert percent(Estimate(0.791, 0.7, 0.88, 900)) == "79 % [70, 88]"
    assert percent(Estimate(float("nan"), 0, 0, 1)) == "..."
