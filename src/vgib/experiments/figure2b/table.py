"""Figure 2(b) from its records: noise in the found half against noise in the other half."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vgib.experiments.engine.cells import SeededCell, recorded
from vgib.experiments.engine.curves import add_legend, new_figure, svg
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import over_seeds, signed
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.table1.cells import SHORT
from vgib.metrics import Estimate

PLACES = {"found": "#b5543c", "random": "#8c8c8c", "others": "#3b6ea8"}
LABELS = {
    "found": "noise in the found half",
    "random": "in a random half",
    "others": "in the other half",
}


@dataclass(frozen=True)
class Disturbance(SeededCell):
    """One method on one property in one version, over seeds."""

    version: str
    target: str
    method: str

    def means(self, name: str) -> list[float]:
        """The mean change of the predictions by noise in one place, by seed."""
        return [float(np.mean(result["each"][name])) / 1000 for result in self.results]

    def change(self, name: str) -> Estimate:
        """The mean change of the prediction by noise in one place."""
        return over_seeds(self.means(name))

    def gain(self) -> Estimate:
        """Noise in the found nodes less noise in the others, on the same molecules."""
        return over_seeds(np.subtract(self.means("found"), self.means("others")))


def disturbances(made: Recipe, records: Records) -> list[Disturbance]:
    """Every cell of the recipe with what is recorded of it."""
    found = recorded(made, records)
    return [Disturbance(cell.repeats, cell.records, *cell.place) for cell in found]


def draw(made: Recipe, records: Records) -> Drawn:
    """Figure 2(b) and its numbers."""
    found = disturbances(made, records)
    return Drawn([table(found)], {f"{made.name}.svg": figure(found)})


def table(found: Sequence[Disturbance]) -> TextTable:
    """The change of the prediction by noise in each place."""
    rows: list[tuple[str, ...]] = [
        (
            one.target,
            SHORT[one.version],
            one.method,
            *(f"{one.change(name).value:.4f}" for name in PLACES),
            signed(one.gain()),
        )
        if one.records
        else (one.target, SHORT[one.version], one.method, "...", "", "", "")
        for one in found
    ]
    title = (
        "Mean absolute change of the prediction when the best-scored half of the nodes, a random "
        "half, or the worst-scored half is replaced by noise"
    )
    headers = ("property", "version", "method", *PLACES, "found less others [95 %]")
    return TextTable(title, headers, rows, name="noise")


def figure(found: Sequence[Disturbance]) -> str:
    """The same numbers as bars."""
    recorded = [one for one in found if one.records]
    if not recorded:
        return ""
    targets = list(dict.fromkeys(one.target for one in recorded))
    versions = list(dict.fromkeys(one.version for one in recorded))
    figure, axes = new_figure(
        len(versions), len(targets), (4.6 * len(targets), 2.3 * len(versions) + 0.4)
    )
    for row, version in enumerate(versions):
        for column, target in enumerate(targets):
            own = [one for one in recorded if (one.version, one.target) == (version, target)]
            _bars(axes[row, column], own)
            axes[row, column].set_title(f"{target.upper()}, {SHORT[version]}", fontsize=9)
            axes[row, 0].set_ylabel("change of the prediction")
    add_legend(figure, axes, 3)
    return svg(figure)


def _bars(panel: Any, own: Sequence[Disturbance]) -> None:
    for number, (place, color) in enumerate(PLACES.items()):
        for x, one in enumerate(own):
            bar = one.change(place)
            at = x + 0.27 * (number - 1)
            label = LABELS[place] if x == 0 else None
            panel.bar(at, bar.value, width=0.25, color=color, label=label)
            panel.plot([at, at], [bar.low, bar.high], color="#222222", linewidth=1)
    names = [one.method.replace("-population", "\npopulation ").replace(" -", " ") for one in own]
    panel.set_xticks(range(len(own)), names, fontsize=7)
