"""The cells of Table 4: each bottleneck at each place, over the same folds as the plain network."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.cells import begun, recorded
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import (
    Folds,
    average_ranks,
    combined_interval,
    corrected_interval,
    spread,
    verdict,
)
from vgib.metrics import Estimate

Place = tuple[str, str, str]
"""Dataset, readout, encoder: where bottlenecks are compared."""

PUBLISHED = {"vgib-paper": "vgib"}
"""The rows whose name differs from the paper's."""

Results = dict[int, dict[str, Any]]
"""What the folds of a cell gave, by their numbers."""


@dataclass(frozen=True)
class AccuracyCell:
    """One bottleneck at one place, beside the control there.

    Attributes:
        place: Dataset, readout, encoder.
        bottleneck: The row of the table.
        folds: Number of folds that the recipe asks for.
        results: The recorded results by fold.
        control: Those of the control at this place; none for the control itself.
        seconds: The processor's seconds of each recorded fold, from loading to trained.
        published: The paper's mean and spread, where it has this cell.
    """

    place: Place
    bottleneck: str
    folds: int
    results: Results
    control: Results
    seconds: tuple[float, ...]
    published: tuple[float, float] | None

    @cached_property
    def difference(self) -> Estimate | None:
        """Paired accuracy less that of the control, over the folds that both have."""
        both = sorted(self.results.keys() & self.control.keys())
        if not both:
            return None
        gains = [self.results[f]["test_accuracy"] - self.control[f]["test_accuracy"] for f in both]
        return corrected_interval(gains, graphs_ratio(self.results[f] for f in both))

    @property
    def accuracies(self) -> list[float]:
        """Of the recorded folds, in order."""
        return [self.results[fold]["test_accuracy"] for fold in sorted(self.results)]

    @property
    def is_full(self) -> bool:
        return len(self.results) == self.folds

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies)) if self.results else nan

    @property
    def kept_share(self) -> float:
        """The mean share of nodes kept on test graphs."""
        shares = [result["test_kept_share"] for result in self.results.values()]
        return float(np.mean(shares)) if shares else nan

    @property
    def collapsed(self) -> dict[str, int]:
        """In how many folds the gate kept all, and none."""
        count = Counter(result["collapse"] for result in self.results.values())
        return {"all": count["all"], "none": count["none"]}

    def text(self) -> str:
        """``0.766 ± 0.07 (0.76)``: ours, its spread, the paper's; ``...`` when there is none."""
        if not self.results:
            return "..."
        ours = f"{self.mean:.3f} ± {spread(self.accuracies):.2f}"
        if not self.is_full:
            ours += f" [{len(self.results)}/{self.folds}]"
        return ours if self.published is None else f"{ours} ({self.published[0]:.2f})"


def cells(made: Recipe, records: Records) -> list[AccuracyCell]:
    """Every cell of the recipe, in its order, with what is recorded of it."""
    numbers, found = paper.numbers(made.name), recorded(made, records)
    results = {
        cell.place: {fold: record["result"] for fold, record in cell.records.items()}
        for cell in found
    }
    every = [
        AccuracyCell(
            place=(dataset, readout, encoder),
            bottleneck=name,
            folds=cell.repeats,
            results=results[cell.place],
            control={}
            if name == made.control
            else results.get((dataset, readout, encoder, made.control), {}),
            seconds=tuple(record["seconds"]["cpu"] for record in cell.records.values()),
            published=paper.value(numbers, readout, encoder, PUBLISHED.get(name, name), dataset),
        )
        for cell in found
        for dataset, readout, encoder, name in [cell.place]
    ]
    return begun(every, lambda cell: cell.bottleneck, lambda cell: cell.results)


def seen_as(
    found: Sequence[AccuracyCell], view: Callable[[Results], Results]
) -> list[AccuracyCell]:
    """The cells with other results, and so their controls; those that have none are empty."""
    return [replace(c, results=view(c.results), control=view(c.control)) for c in found]


def predicting_from(view: str) -> Callable[[Results], Results]:
    """What the same trainings reach when they predict from another view of the graph."""

    def read(results: Results) -> Results:
        # What has no gate has one view, the whole graph.
        return {
            fold: result | result["views"].get(view, {})
            for fold, result in results.items()
            if view in result["views"] or not result["views"]
        }

    return read


def graphs_ratio(results: Iterable[dict[str, Any]]) -> float:
    """Test graphs for each training graph, over folds."""
    found = list(results)
    tests = sum(int(result["test_graphs"]) for result in found)
    return tests / sum(int(result["train_graphs"]) for result in found)


@dataclass(frozen=True)
class Summary:
    """One bottleneck over all the places where it and the control have all their folds.

    ``rank`` is the average one among the rows with the most places, over the ``ranked`` places
    where all of these are full; ``collapsed`` is the share of folds that keep all nodes or none.
    """

    bottleneck: str
    places: int
    gain: Estimate | None
    wins: int
    ties: int
    losses: int
    rank: float | None
    ranked: int
    kept_share: float
    collapsed: float
    published_gain: float | None

    @property
    def verdicts(self) -> str:
        """``wins / ties / losses``."""
        return f"{self.wins} / {self.ties} / {self.losses}"


def summaries(found: Sequence[AccuracyCell], control: str) -> list[Summary]:
    """One summary for each bottleneck, in the order of the table."""
    full = {(cell.place, cell.bottleneck): cell for cell in found if cell.is_full}
    names = list(dict.fromkeys(cell.bottleneck for cell in found))
    places = list(dict.fromkeys(cell.place for cell in found))
    counts = Counter(name for _, name in full)
    rows = [name for name in names if counts[name] and counts[name] == max(counts.values())]
    ranked = [place for place in places if all((place, name) in full for name in rows)]
    ranks = average_ranks([[full[place, name].mean for name in rows] for place in ranked])
    rank_of = dict(zip(rows, ranks, strict=False))
    result = []
    for name in names:
        pairs = [
            (full[place, name], full[place, control])
            for place in places
            if (place, name) in full and (place, control) in full
        ]
        own = [cell for cell, _ in pairs]
        gain = None if name == control or not own else mean_gain(own)
        result.append(_summary(name, pairs, gain, rank_of.get(name), len(ranked)))
    return result


def mean_gain(found: Sequence[AccuracyCell]) -> Estimate:
    """The mean gain over cells.

    Places of a dataset share their folds and are averaged fold by fold; datasets have nothing in
    common.
    """
    gains: dict[str, dict[int, list[float]]] = {}
    controls: dict[str, list[dict[str, Any]]] = {}
    for cell in found:
        by_fold = gains.setdefault(cell.place[0], {})
        for fold, result in cell.results.items():
            usual = cell.control[fold]
            by_fold.setdefault(fold, []).append(result["test_accuracy"] - usual["test_accuracy"])
            controls.setdefault(cell.place[0], []).append(usual)
    count = sum(map(len, controls.values()))
    return combined_interval(
        [
            Folds(
                [np.mean(fold) for fold in by_fold.values()],
                graphs_ratio(controls[dataset]),
                len(controls[dataset]) / count,
            )
            for dataset, by_fold in gains.items()
        ]
    )


def _summary(
    name: str,
    pairs: Sequence[tuple[AccuracyCell, AccuracyCell]],
    gain: Estimate | None,
    rank: float | None,
    ranked: int,
) -> Summary:
    own = [cell for cell, _ in pairs]
    verdicts = Counter(verdict(cell.difference) for cell in own if cell.difference)
    folds = [result for cell in own for result in cell.results.values()]
    published = [c.published[0] - p.published[0] for c, p in pairs if c.published and p.published]
    return Summary(
        bottleneck=name,
        places=len(pairs),
        gain=gain,
        wins=verdicts["win"],
        ties=verdicts["tie"],
        losses=verdicts["loss"],
        rank=rank,
        ranked=ranked,
        kept_share=float(np.mean([c.kept_share for c in own])) if own else nan,
        collapsed=float(np.mean([r["collapse"] is not None for r in folds])) if folds else nan,
        published_gain=float(np.mean(published)) if published and gain is not None else None,
    )
