"""What is drawn of an experiment. That it is complete is tested with the committed results."""

from pathlib import Path

import pytest

from vgib.experiments.engine import drawing, folders
from vgib.experiments.engine.recipe import Recipe, recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable


def test_figures_without_a_content_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(made: Recipe, records: Records) -> drawing.Drawn:
        return drawing.Drawn([TextTable("A", ("b",), [("c",)])], {"full": "<svg/>", "empty": ""})

    monkeypatch.setattr(folders, "draw_of", lambda name: draw)
    drawn = drawing.draw(recipe("table1"), Records(tmp_path))
    assert drawn.figures == {"full": "<svg/>"}
    assert drawn.rows() == [{"table": "A", "b": "c"}]
