"""One page of everything."""

from pathlib import Path

from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.overview import overview, picture
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable


def test_the_page_holds_every_table_and_figure_and_loads_nothing(tmp_path: Path) -> None:
    table = TextTable("A <title>", ("a", "b"), [("1", "2")])
    drawn = Drawn([table], {"x.svg": "<svg/>"})
    page = overview([(recipe("table1"), Records(tmp_path), drawn)])
    assert page.count("<section>") == 1 and "A &lt;title&gt;" in page
    assert "cells are complete; `vgib run table1`" in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_papers_tables_come_first(tmp_path: Path) -> None:
    empty = Drawn([])
    names = ("known_answers", "figure1", "table1")
    page = overview([(recipe(name), Records(tmp_path), empty) for name in names])
    places = [page.index(recipe(name).summary.replace("'", "&#x27;")) for name in names]
    assert places == sorted(places, reverse=True)


def test_a_figure_says_what_it_is() -> None:
    assert 'alt="table1_size"' in picture("table1_size.svg", "<svg/>")
