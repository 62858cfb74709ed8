"""The README says what is so: its examples run, its tables are those of the committed results."""

import doctest
import re
from pathlib import Path

import pytest
from benchmarks import claims
from benchmarks.tables import PAGES, drawn, filled

from vgib.experiments.engine.drawing import files
from vgib.experiments.engine.folders import names
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records

# A process remembers what it has drawn. Groups are begun first, so that no long test is the last.
pytestmark = pytest.mark.xdist_group("readme")

README = Path(__file__).resolve().parents[1] / "README.md"
RESULTS = README.parent / "results"
LONGEST = 180
"""The most lines that a reader is asked for."""


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_are_drawn_from_the_committed_results(page: str) -> None:
    text = (README.parent / page).read_text(encoding="utf-8")
    assert filled(text) == text, "run python -m benchmarks.tables"


RECORDED = [name for name in names() if (RESULTS / recipe(name).folder).is_dir()]


@pytest.mark.parametrize("name", RECORDED)
def test_the_tables_of_results_are_those_of_the_committed_records(name: str) -> None:
    made = recipe(name)
    records = Records(RESULTS / made.folder)
    for file, text in files(made, records, drawn(name)).items():
        committed = (RESULTS / "tables" / file).read_text(encoding="utf-8")
        assert committed == text, f"run vgib report {name} --out results/tables"


@pytest.mark.parametrize("name", RECORDED)
def test_no_column_and_no_table_hides_another_one_of_its_name(name: str) -> None:
    titles = [table.title for table in drawn(name).tables]
    assert len(set(titles)) == len(titles)
    for table in drawn(name).tables:
        assert "table" not in table.headers
        assert len(set(table.headers)) == len(table.headers), table.title


def test_a_claim_without_records_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = claims.Claim("unknown", "...", "0.5", "", "vgib run unknown")
    known = claims.Claim("known", "0.9", "0.5", "", "vgib run known")
    monkeypatch.setattr(claims, "PARTS", (lambda: [missing, known],))
    assert claims.claims().splitlines()[2:] == ["| known | 0.9 | 0.5 | - | `vgib run known` |"]


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_the_examples_give_what_they_show() -> None:
    failures, tried = doctest.testfile(
        str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried >= 8
    assert failures == 0


@pytest.mark.parametrize("name", ["LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt"])
def test_what_it_speaks_of_is_there(name: str) -> None:
    assert (README.parent / name).is_file()


def test_every_file_that_it_links_to_exists() -> None:
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
