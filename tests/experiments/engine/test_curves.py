"""Figures by matplotlib: the same text for the same numbers."""

from vgib.experiments.engine.curves import COLORS, new_figure, svg
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.figure4.table import STYLE


def test_a_figure_is_the_same_each_time() -> None:
    def drawn() -> str:
        figure, axes = new_figure(1, 1, (2, 2))
        axes[0, 0].plot([0, 1], [1, 0])
        return svg(figure)

    assert drawn() == drawn() and drawn().startswith("<svg") and "<dc:date>" not in drawn()


def test_every_row_that_is_drawn_has_a_look_of_its_own() -> None:
    for looks, name in ((COLORS, "table1"), (STYLE, "figure4")):
        rows = recipe(name).grid["method"]
        assert len({looks[row] for row in rows}) == len(rows), name
