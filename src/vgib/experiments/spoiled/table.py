"""The tables of spoiled training data, from their records."""

from collections.abc import Sequence

from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.experiments.known_answers.table import CONTROL, OURS, KnownCell, cells, paired, short

MEASURES = {
    "accuracy": "Accuracy of the prediction",
    "part_accuracy": "Accuracy from the part alone",
    "node_auc": "Node AUC (0.5: chance)",
    "iou": "IoU at own size (1: the part is the explanation)",
}
SPOILED = {
    "wrong-20": "20 % of the labels wrong",
    "wrong-40": "40 % of the labels wrong",
    "few-10": "10 % of the graphs",
    "few-2": "2 % of the graphs",
}

GAIN = f"{OURS} less {CONTROL}, paired over seeds"


def draw(made: Recipe, records: Records) -> Drawn:
    """One table for each measure: how a method does that learned from spoiled data."""
    found = cells(made, records)
    return Drawn([measure_table(found, name) for name in MEASURES])


def measure_table(found: Sequence[KnownCell], name: str) -> TextTable:
    """Sets and ways to spoil them down, methods across, and what the price changes."""
    control = {_row(cell): cell for cell in found if cell.method == CONTROL}
    texts = [(_row(cell), cell.method, cell.text(name)) for cell in found]
    for cell in found:
        if cell.method == OURS:
            texts.append((_row(cell), GAIN, paired(cell, control[_row(cell)], name)))
    title = f"{MEASURES[name]}, on clean graphs; mean ± spread over seeds"
    return crossed(
        title, ["set", "learned from"], sorted(texts, key=lambda each: each[0][0]), name=name
    )


def _row(cell: KnownCell) -> tuple[str, str]:
    """The set, and how it was spoiled, which stands where a known answer has its life."""
    return short(cell.dataset), SPOILED[cell.life]
