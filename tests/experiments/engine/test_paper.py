"""The paper's numbers are in the package."""

import pytest

from vgib.experiments.engine.paper import numbers, value
from vgib.experiments.engine.recipe import recipe


@pytest.mark.parametrize("table", ["table1", "table2", "table3", "table4"])
def test_every_table_of_the_paper_is_there(table: str) -> None:
    assert numbers(table)


def test_the_paper_has_every_cell_of_its_own_rows() -> None:
    table = numbers("table4")
    grid = recipe("table4").grid
    for dataset in grid["dataset"]:
        for readout in grid["readout"]:
            for encoder in grid["encoder"]:
                for bottleneck in ("none", "gib", "vgib"):
                    mean, spread = value(table, readout, encoder, bottleneck, dataset) or (0, 0)
                    assert 0.6 < mean < 0.95 and 0 < spread < 0.15


def test_what_the_paper_has_not_is_none() -> None:
    assert value(numbers("table4"), "sum", "gcn", "gsat", "MUTAG") is None
    assert numbers("table9") == {}
