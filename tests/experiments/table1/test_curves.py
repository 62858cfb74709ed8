"""The figures of Table 1."""

from collections.abc import Callable
from typing import Any

import pytest

from vgib.experiments.table1.cells import DivergenceCell
from vgib.experiments.table1.curves import gap_bars, size_curves


@pytest.fixture
def cells(invented: Callable[[int], dict[str, Any]]) -> list[DivergenceCell]:
    return [
        DivergenceCell(1, {0: {"result": invented(own)}}, "list", target, method, None)
        for target in ("qed", "hlm")
        for method, own in (("gib", 280), ("vgib-paper-guided", 220), ("mine", 240))
    ]


def test_curves_and_bars_are_drawn_for_every_panel(cells: list[DivergenceCell]) -> None:
    assert size_curves(cells).count('id="axes_') == 2
    assert gap_bars(cells).count('id="axes_') == 1


def test_without_records_there_is_nothing_to_draw() -> None:
    empty = [DivergenceCell(3, {}, "list", "qed", "gib", None)]
    assert size_curves(empty) == gap_bars(empty) == ""
