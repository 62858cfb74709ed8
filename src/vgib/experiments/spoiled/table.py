"""The tables of spoiled training data, from their records."""

from collections.abc import Sequence

from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.known_answers.table import CONTROL, OURS, KnownCell, cells, paired

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


def draw(made: Recipe, records: Records) -> Drawn:
    """One table for each measure: how a method does that learned from spoiled data."""
    found = cells(made, records)
    return Drawn.of_tables([measure_table(found, name) for name in MEASURES])


def measure_table(found: Sequence[KnownCell], name: str) -> TextTable:
    """Sets and ways to spoil them down, methods across, and what the price changes.

    The place of a job has the way in which its data were spoiled where one of the known answers
    has its life.
    """
    methods = list(dict.fromkeys(cell.method for cell in found))
    by_place = {(cell.dataset, cell.life, cell.method): cell for cell in found}
    rows = []
    for dataset, way in dict.fromkeys((cell.dataset, cell.life) for cell in found):
        own = {method: by_place[dataset, way, method] for method in methods}
        rows.append(
            (
                dataset.rpartition("/")[2],
                SPOILED[way],
                *(cell.text(name) for cell in own.values()),
                paired(own[OURS], own[CONTROL], name),
            )
        )
    headers = ("set", "learned from", *methods, f"{OURS} less {CONTROL}, paired over seeds")
    title = f"{MEASURES[name]}, on clean graphs; mean ± spread over seeds"
    return TextTable(title, headers, sorted(rows, key=lambda row: row[0]), name)
