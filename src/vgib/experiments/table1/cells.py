"""The cells of Table 1: one method on one property, every divergence beside its controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.cells import SeededCell, begun, recorded
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import Array, over_seeds
from vgib.metrics import Estimate

PUBLISHED = {
    "att05": "att05",
    "att07": "att07",
    "gib": "gib",
    "vgib-paper": "vgib",
    "vgib-reference": "vgib",
}
"""The row of the paper that stands beside ours."""

VERSIONS = {
    "list": "trained on the published list",
    "full": "trained on all of ZINC250K",
    "scaffold": "trained on the published list without the scaffolds of the test molecules",
}
SHORT = {
    "list": "trained on the list",
    "full": "trained on ZINC250K",
    "scaffold": "list, new scaffolds",
}
"""The versions, in a title and where there is little room."""

THOUSANDTH = 1e-3
SAME_SHARE = 0.15
"""Seeds whose kept shares differ by more did not do the same thing."""


@dataclass(frozen=True)
class DivergenceCell(SeededCell):
    """One method on one property in one version, over seeds.

    Attributes:
        published: The paper's mean and spread.
        rule: How its whole rings are selected, by scores or ``guided`` by the predictor.
    """

    version: str
    target: str
    method: str
    published: tuple[float, float] | None
    rule: str = "ring_intact"

    def mean(self, part: str, name: str) -> float:
        """A number of a part of the result, averaged over seeds."""
        return float(np.mean([result[part][name] for result in self.results] or [nan]))

    def kept(self, part: str) -> str:
        """The kept share, or the range of it where seeds differ, as when a gate collapses."""
        shares = [result[part]["kept_share"] for result in self.results]
        if max(shares) - min(shares) <= SAME_SHARE:
            return f"{np.mean(shares):.0%}"
        return f"{100 * min(shares):.0f} to {100 * max(shares):.0f}%"

    def spread(self, part: str) -> float:
        """The standard deviation over molecules, as the paper gives it."""
        variances = [result[part]["spread"] ** 2 for result in self.results]
        return float(np.sqrt(np.mean(variances or [nan])))

    def groups(self, part: str, *names: str) -> list[Array]:
        """The numbers of each molecule, ``[molecules, names]`` for each seed."""
        return [known_rows([result[part][name] for name in names]) for result in self.results]

    def difference(self, part: str, control: str = "each_random") -> Estimate:
        """Divergence less that of a control on the same molecules; below zero is better."""
        means = (group.mean(0) for group in self.groups(part, "each", control))
        return over_seeds([own - other for own, other in means])

    def gap_closed(self, part: str) -> Estimate:
        r"""The share of the way from random to the reachable best.

        .. math:: \frac{\bar R - \bar M}{\bar R - \bar B}

        with the mean divergence :math:`\bar M` of the method, :math:`\bar R` of all ring-intact
        parts of its sizes, :math:`\bar B` of the best of them; 0 is chance, 1 the best there is.
        """
        return gap_over_seeds(self.groups(part, "each", "each_random", "each_best"))

    def gap_closed_among(self, other: "DivergenceCell", part: str) -> Estimate:
        """The gap closed among the parts within one atom of the asked size, whatever was taken.

        A guided choice may take one atom more than was asked for; :meth:`gap_closed` then compares
        it with larger parts. ``other`` is a method that takes the nearest size, on the same
        molecules: its controls are those of the asked size.
        """
        groups = [
            known_rows(
                [
                    self.records[seed]["result"][part]["each"],
                    *(other.records[seed]["result"][part][n] for n in ("each_random", "each_best")),
                ]
            )
            for seed in sorted(self.records.keys() & other.records.keys())
        ]
        return gap_over_seeds(groups)

    def gap_closed_at_own_size(self, part: str) -> Estimate | None:
        """The gap closed among parts of exactly as many atoms as were taken; None in old records.

        :meth:`gap_closed` allows the best part one atom more than the method took, which is up to
        two more than a guided choice was offered: no choice then closes the whole gap.
        """
        names = ("each", "each_same_random", "each_same_best")
        if not all(name in result[part] for result in self.results for name in names):
            return None
        return gap_over_seeds(self.groups(part, *names))

    def up_to_half(self) -> int:
        """The place on the curve of the largest size that keeps at most half of the atoms."""
        return max(i for i, share in enumerate(self.curve("kept_share")) if share <= 0.5)

    def curve(self, name: str) -> list[float]:
        """A number of the curve against size, averaged over seeds."""
        table = [[point[name] for point in result["curve"]] for result in self.results]
        return [float(value) for value in np.mean(table, axis=0)]

    def grown_curve(self, name: str) -> list[float]:
        """A number of the curve of parts that are grown at random and cut rings, over seeds."""
        table = [[point[name] for point in result["random_connected"]] for result in self.results]
        return [float(value) for value in np.mean(table, axis=0)]


def known_rows(columns: Sequence[Sequence[int | None]]) -> Array:
    """Thousandths as numbers, ``[molecules, columns]``; molecules that were not judged go."""
    rows: Array = np.array(columns, dtype=float).T * THOUSANDTH
    known: Array = rows[np.isfinite(rows).all(1)]
    return known


def gap_share(own: float, random: float, best: float) -> float:
    """The share of the gap between random and best that is closed; NaN where there is no gap."""
    return (random - own) / (random - best) if random > best else nan


def gap_over_seeds(groups: Sequence[Array]) -> Estimate:
    """The share of the gap in each seed, ``[molecules, (method, random, best)]``, over seeds."""
    return over_seeds([gap_share(*group.mean(0).tolist()) for group in groups if len(group)])


def cells(made: Recipe, records: Records) -> list[DivergenceCell]:
    """Every cell of the recipe with what is recorded of it, by version, property, method."""
    numbers = paper.numbers("table1")
    found = [
        DivergenceCell(
            cell.repeats,
            cell.records,
            *(version, target, method),
            paper.value(numbers, PUBLISHED.get(method, ""), target),
            str(cell.job.model_dump()["rule"]),
        )
        for cell in recorded(made, records)
        for version, target, method in [cell.place]
    ]
    return begun(found, lambda cell: (cell.version, cell.method), lambda cell: cell.records)
