"""The tables of known answers, from their records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vgib.experiments.engine.cells import SeededCell, recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.paper import numbers
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import over_seeds, signed, spread, verdict
from vgib.experiments.engine.tables import TextTable, crossed

OURS = "vgib"
CONTROL = "vgib-beta0"
LIVES = {
    "trained": "trained with the network",
    "posthoc": "on a frozen network",
    "protocol": "by its authors' protocol",
}
MEASURES = {
    "iou": "IoU at own size (1: the part is the explanation)",
    "iou_true": "IoU at true size (the best-scored nodes, as many as the explanation has)",
    "node_auc": "node AUC (0.5: chance)",
    "edge_auc": "edge AUC, over all edges together",
    "size_ratio": "size of the part over that of the explanation (1 is right)",
    "wrongly_marked": "share of nodes marked in graphs without an explanation (0 is right)",
    "accuracy": "accuracy of the prediction",
    "part_accuracy_explained": "accuracy from the part alone, on graphs with an explanation",
}
COMPARED = ("iou", "iou_true", "node_auc")
"""The measures of which differences are drawn."""


@dataclass(frozen=True)
class KnownCell(SeededCell):
    """One method in one of its lives on one set, over seeds."""

    life: str
    dataset: str
    method: str

    def value(self, seed: int, name: str) -> float | None:
        """Of one seed; ``None`` where the set has no such measure."""
        found: float | None = self.records[seed]["result"][name]
        return found

    def values(self, name: str) -> list[float]:
        """Of all seeds that have it, in their order."""
        found = [self.value(seed, name) for seed in sorted(self.records)]
        return [value for value in found if value is not None]

    def text(self, name: str) -> str:
        """``0.994 ± 0.003``, and how many seeds there are while some are missing."""
        values = self.values(name)
        if not values:
            return "..." if not self.records else ""
        shown = f"{np.mean(values):.3f}"
        if len(values) > 1:
            shown += f" ± {spread(values):.3f}"
        return shown if len(self.records) == self.seeds else f"{shown} [{len(values)}/{self.seeds}]"


def cells(made: Recipe, records: Records) -> list[KnownCell]:
    """Every cell of the recipe, in its order, with what is recorded of it."""
    return [KnownCell(cell.repeats, cell.records, *cell.place) for cell in recorded(made, records)]


def draw(made: Recipe, records: Records) -> Drawn:
    """One table for each life and measure, the differences, and the rivals beside their papers."""
    found = cells(made, records)
    tables = []
    for life in ("trained", "posthoc"):
        of_life = [cell for cell in found if cell.life == life]
        tables += [measure_table(of_life, name, life) for name in MEASURES]
    trained = [cell for cell in found if cell.life == "trained"]
    tables += [difference_table(trained, name, CONTROL, of=None) for name in COMPARED]
    tables += [difference_table(trained, name, None, of=OURS) for name in COMPARED]
    return Drawn([*tables, published_table(found)])


def measure_table(found: Sequence[KnownCell], name: str, life: str) -> TextTable:
    """Sets down, methods across; the mean over seeds and the sample standard deviation."""
    title = f"{MEASURES[name]}; {LIVES[life]}; mean ± spread over seeds"
    texts = ((short(cell.dataset), cell.method, cell.text(name)) for cell in found)
    return crossed(title, ["set"], texts, name=f"{life} {name}")


def difference_table(
    found: Sequence[KnownCell], name: str, less: str | None, *, of: str | None
) -> TextTable:
    """Paired differences over seeds with their 95 % t-interval.

    Of every method less ``less``, or of the method ``of`` less every other one.
    """
    fixed = {cell.dataset: cell for cell in found if cell.method == (less or of)}

    def text(cell: KnownCell) -> str:
        pair = (cell, fixed[cell.dataset]) if less else (fixed[cell.dataset], cell)
        return paired(*pair, name)

    others = (cell for cell in found if cell.method != (less or of) and cell.dataset in fixed)
    texts = ((short(cell.dataset), cell.method, text(cell)) for cell in others)
    what = f"each method less {less}" if less else f"{of} less each method"
    title = f"{MEASURES[name].partition(' (')[0]}: {what}, paired over seeds, 95 % interval"
    return crossed(title, ["set"], texts, name=f"{what}: {name}")


def paired(one: KnownCell, other: KnownCell, name: str) -> str:
    """One method less another over the seeds that both have, and whether they are tied."""
    seeds = sorted(one.records.keys() & other.records.keys())
    pairs = [(one.value(seed, name), other.value(seed, name)) for seed in seeds]
    gains = [a - b for a, b in pairs if a is not None and b is not None]
    if len(gains) < 2:
        return "..."
    gain = over_seeds(gains)
    return f"{signed(gain)} tied" if verdict(gain) == "tie" else signed(gain)


def published_table(found: Sequence[KnownCell]) -> TextTable:
    """Edge AUC of the rivals beside what their papers report, and whether they reach it."""
    rows: list[tuple[str, ...]] = []
    for method, sets in numbers("known_answers").items():
        for dataset, (mean, deviation) in sets.items():
            life = "protocol" if dataset == "Mutagenicity" else "trained"
            place = (life, dataset, method)
            cell = next((c for c in found if (c.life, c.dataset, c.method) == place), None)
            values = cell.values("edge_auc") if cell is not None else []
            if cell is None or not values:
                continue
            text = f"{mean / 100:.3f}" + (f" ± {deviation / 100:.3f}" if deviation else "")
            reached = 100 * float(np.mean(values)) >= mean - 2 * (deviation or 0.0)
            rows.append((method, dataset, cell.text("edge_auc"), text, "yes" if reached else "no"))
    headers = ("method", "set", "edge AUC", "published", "reached, up to two deviations")
    return TextTable(
        "Rivals by their authors' protocol beside their published numbers", headers, rows, "Rivals"
    )


def short(dataset: str) -> str:
    """What a table calls a set: its name without that of its collection."""
    return dataset.rpartition("/")[2]
