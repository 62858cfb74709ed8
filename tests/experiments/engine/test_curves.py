"""Figures by matplotlib: the same text for the same numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from vgib.experiments.engine.curves import gap_bars, new_figure, size_curves, svg
from vgib.experiments.table1.table import Cell


@pytest.fixture
def cells(invented: Callable[[int], dict[str, Any]]) -> list[Cell]:
    return [
        Cell("list", target, method, 1, {0: {"result": invented(own)}}, None)
        for target in ("qed", "hlm")
        for method, own in (("gib", 280), ("vgib-recommended", 220), ("mine", 240))
    ]


def test_a_figure_is_the_same_each_time() -> None:
    def drawn() -> str:
        figure, axes = new_figure(1, 1, (2, 2))
        axes[0, 0].plot([0, 1], [1, 0])
        return svg(figure)

    assert drawn() == drawn() and drawn().startswith("<svg") and "<dc:date>" not in drawn()


def test_curves_and_bars_are_drawn_for_every_panel(cells: list[Cell]) -> None:
    assert size_curves(cells).count('id="axes_') == 2
    assert gap_bars(cells).count('id="axes_') == 1


def test_without_records_there_is_nothing_to_draw() -> None:
    empty = [Cell("list", "qed", "gib", 3, {}, None)]
    assert size_curves(empty) == gap_bars(empty) == ""
