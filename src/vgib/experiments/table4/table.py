"""Table 4 from its records: each bottleneck against the plain backbone, over the same folds."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.cells import Recorded, begun, recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import (
    Folds,
    average_ranks,
    combined_interval,
    corrected_interval,
    plain,
    signed,
    spread,
    verdict,
)
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.metrics import Estimate

Place = tuple[str, str, str]
"""Dataset, readout, encoder: where bottlenecks are compared."""

PUBLISHED = {"vgib-paper": "vgib"}
"""The rows whose name differs from the paper's."""

Results = dict[int, dict[str, Any]]
"""What the folds of a cell gave, by their numbers."""


@dataclass(frozen=True)
class AccuracyCell:
    """One bottleneck at one place: its folds, and how it compares with the control.

    Attributes:
        place: Dataset, readout, encoder.
        bottleneck: The row of the table.
        folds: Number of folds that the recipe asks for.
        results: The recorded results by fold.
        seconds: The processor's seconds of each recorded fold, from loading to trained.
        difference: Paired accuracy less that of the control, over the folds that both have.
        published: The paper's mean and spread, where it has this cell.
    """

    place: Place
    bottleneck: str
    folds: int
    results: Results
    seconds: tuple[float, ...]
    difference: Estimate | None
    published: tuple[float, float] | None

    @property
    def accuracies(self) -> list[float]:
        """Of the recorded folds, in order."""
        return [self.results[fold]["test_accuracy"] for fold in sorted(self.results)]

    @property
    def is_full(self) -> bool:
        """Whether all folds are recorded."""
        return len(self.results) == self.folds

    @property
    def mean(self) -> float:
        """The mean accuracy."""
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
    found = recorded(made, records)
    numbers = paper.numbers(made.name)
    controls = {
        cell.place[:3]: _results(cell) for cell in found if cell.place[3] == str(made.control)
    }
    every = [_cell(cell, controls.get(cell.place[:3], {}), numbers, made.control) for cell in found]
    return begun(every, lambda cell: cell.bottleneck, lambda cell: cell.results)


def _results(cell: Recorded) -> Results:
    return {fold: record["result"] for fold, record in cell.records.items()}


def _cell(
    cell: Recorded, against: Results, numbers: dict[str, Any], control: str | None
) -> AccuracyCell:
    dataset, readout, encoder, name = cell.place
    results = _results(cell)
    return AccuracyCell(
        place=(dataset, readout, encoder),
        bottleneck=name,
        folds=cell.repeats,
        results=results,
        seconds=tuple(record["seconds"]["cpu"] for record in cell.records.values()),
        difference=None if name == control else paired(results, against),
        published=paper.value(numbers, readout, encoder, PUBLISHED.get(name, name), dataset),
    )


def paired(results: Results, against: Results) -> Estimate | None:
    """The gain over the folds that both have."""
    both = sorted(results.keys() & against.keys())
    if not both:
        return None
    gains = [results[f]["test_accuracy"] - against[f]["test_accuracy"] for f in both]
    return corrected_interval(gains, graphs_ratio(results[f] for f in both))


def seen_as(
    found: Sequence[AccuracyCell], control: str, view: Callable[[Results], Results]
) -> list[AccuracyCell]:
    """The cells with other results, compared with the control's; those that have none are empty."""
    against = {cell.place: view(cell.results) for cell in found if cell.bottleneck == control}
    seen = []
    for cell in found:
        results = view(cell.results)
        difference = cell.difference and paired(results, against[cell.place])
        seen.append(replace(cell, results=results, difference=difference))
    return seen


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

    Attributes:
        bottleneck: The row of the table.
        places: At how many places it can be compared.
        gain: The mean paired gain over those places, each with the weight of one.
        wins: Places where it is better at the 5 % level.
        ties: Places where the interval holds zero.
        losses: Places where it is worse at the 5 % level.
        rank: Its average rank among the bottlenecks with the most places, over those places.
        ranked: How many those are.
        kept_share: The mean share of nodes kept.
        collapsed: The share of folds in which the gate keeps all or none.
        published_gain: The paper's gain over the same places, where it has both numbers.
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

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        gain = self.gain and {k: plain(v) for k, v in vars(self.gain).items()}
        rest = {"kept_share": plain(self.kept_share), "collapsed": plain(self.collapsed)}
        return vars(self) | {"gain": gain} | rest


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
        folds = (
            (cell.place, fold, own["test_accuracy"], usual.results[fold])
            for cell, usual in pairs
            for fold, own in cell.results.items()
        )
        gain = None if name == control or not pairs else mean_gain(folds)
        result.append(_summary(name, pairs, gain, rank_of.get(name), len(ranked)))
    return result


def mean_gain(trainings: Iterable[tuple[Place, int, float, dict[str, Any]]]) -> Estimate:
    """The mean gain over trainings: place, fold, accuracy, the control's result there.

    Places of a dataset share their folds and are averaged fold by fold; datasets have nothing in
    common.
    """
    gains: dict[str, dict[int, list[float]]] = {}
    controls: dict[str, list[dict[str, Any]]] = {}
    for (dataset, _, _), fold, accuracy, control in trainings:
        by_fold = gains.setdefault(dataset, {})
        by_fold.setdefault(fold, []).append(accuracy - control["test_accuracy"])
        controls.setdefault(dataset, []).append(control)
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


def draw(made: Recipe, records: Records) -> Drawn:
    """Table 4, and each bottleneck against the control."""
    found = cells(made, records)
    told = [one.to_json() for one in summaries(found, str(made.control))]
    return Drawn(tables(made, records), long_table(found), told)


def tables(made: Recipe, records: Records) -> list[TextTable]:
    """The summary, the gains, the halves of Table 4, paired differences, kept shares and hours."""
    found = cells(made, records)
    control = str(made.control)
    return [
        summary_table(summaries(found, control), control),
        gains_table(found, control),
        view_gains_table(found, control),
        *(accuracy_table(found, readout) for readout in made.grid["readout"]),
        *(difference_table(found, readout, control) for readout in made.grid["readout"]),
        *(kept_table(found, readout, control) for readout in made.grid["readout"]),
        hours_table(found),
    ]


def accuracy_table(found: Sequence[AccuracyCell], readout: str) -> TextTable:
    """One half of Table 4."""
    title = f"Accuracy, {readout} readout: mean ± spread over folds (the paper's mean)"
    return _by_dataset(title, found, readout, AccuracyCell.text)


def difference_table(found: Sequence[AccuracyCell], readout: str, control: str) -> TextTable:
    """Paired differences to the control."""
    title = f"Accuracy less that of {control}, {readout} readout: paired, corrected 95 % interval"
    others = [cell for cell in found if cell.bottleneck != control]
    return _by_dataset(title, others, readout, _difference_text)


def kept_table(found: Sequence[AccuracyCell], readout: str, control: str) -> TextTable:
    """Kept shares and collapses."""
    title = f"Share of nodes kept on test graphs, {readout} readout (folds that keep all, none)"
    others = [cell for cell in found if cell.bottleneck != control]
    return _by_dataset(title, others, readout, _kept_text)


def _datasets(found: Sequence[AccuracyCell]) -> list[str]:
    """The columns of most tables."""
    return list(dict.fromkeys(cell.place[0] for cell in found))


def _difference_text(cell: AccuracyCell) -> str:
    gap = cell.difference
    return "..." if gap is None or gap.n < cell.folds else signed(gap)


def _kept_text(cell: AccuracyCell) -> str:
    if not cell.results:
        return "..."
    kept = f"{cell.kept_share:.2f} ({cell.collapsed['all']}, {cell.collapsed['none']})"
    return kept if cell.is_full else f"{kept} [{len(cell.results)}/{cell.folds}]"


def _by_dataset(
    title: str, found: Sequence[AccuracyCell], readout: str, text: Callable[[AccuracyCell], str]
) -> TextTable:
    """Encoders and bottlenecks down, datasets across."""
    own = (
        ((encoder, cell.bottleneck), dataset, text(cell))
        for cell in found
        for dataset, pooled, encoder in [cell.place]
        if pooled == readout
    )
    return crossed(title, ["encoder", "bottleneck"], own)


def summary_table(found: Sequence[Summary], control: str) -> TextTable:
    """One row for each bottleneck."""
    headers = (
        "bottleneck",
        "cells",
        "gain",
        "the paper's gain",
        "better / tie / worse",
        f"rank in {found[0].ranked} cells",
        "kept",
        "collapsed folds",
    )
    rows: list[tuple[str, ...]] = [
        (
            summary.bottleneck,
            str(summary.places),
            "" if summary.gain is None else signed(summary.gain),
            "" if summary.published_gain is None else f"{summary.published_gain:+.3f}",
            "" if summary.gain is None else summary.verdicts,
            "" if summary.rank is None else f"{summary.rank:.2f}",
            f"{summary.kept_share:.2f}" if summary.places else "",
            f"{summary.collapsed:.0%}" if summary.places and summary.gain is not None else "",
        )
        for summary in found
    ]
    title = f"Each bottleneck against {control}, over all cells whose folds are complete"
    return TextTable(title, headers, rows, name="summary")


def gains_table(found: Sequence[AccuracyCell], control: str) -> TextTable:
    """The gain of each bottleneck on each dataset, over the cells whose folds are complete."""
    datasets = _datasets(found)
    gains = (
        (one.bottleneck, dataset, "..." if one.gain is None else signed(one.gain))
        for dataset in datasets
        for one in summaries([cell for cell in found if cell.place[0] == dataset], control)
        if one.bottleneck != control
    )
    title = f"The gain over {control} on each dataset, mean over encoders and readouts"
    return crossed(title, ["bottleneck"], gains, missing="...", name="gains")


def view_gains_table(found: Sequence[AccuracyCell], control: str) -> TextTable:
    """The gain of the same trainings by what they predict from at test time."""
    views = dict.fromkeys(v for c in found for r in c.results.values() for v in r["views"])
    gains = {
        (summary.bottleneck, view): summary
        for view in views
        for summary in summaries(seen_as(found, control, predicting_from(view)), control)
    }
    scored = [cell for cell in found if any(r["views"] for r in cell.results.values())]
    rows: list[tuple[str, ...]] = [
        (name, view, str(one.places), signed(one.gain), one.verdicts, f"{one.kept_share:.2f}")
        for name in dict.fromkeys(cell.bottleneck for cell in scored)
        for view in views
        if (one := gains[name, view]).gain is not None
    ]
    headers = ("bottleneck", "predicts from", "cells", "gain", "better / tie / worse", "kept")
    title = f"The gain over {control} by what is pooled at test time"
    return TextTable(title, headers, rows, name="views")


def hours_table(found: Sequence[AccuracyCell]) -> TextTable:
    """The processor's hours of all recorded folds, by bottleneck and dataset."""
    datasets = _datasets(found)
    hours: dict[str, dict[str, float]] = {}
    for cell in found:
        of_row = hours.setdefault(cell.bottleneck, dict.fromkeys(datasets, 0.0))
        of_row[cell.place[0]] += sum(cell.seconds) / 3600
    rows = [
        (name, *(f"{each:.2f}" for each in (*of_row.values(), sum(of_row.values()))))
        for name, of_row in hours.items()
    ]
    title = "Processor hours of what is recorded, from loading to trained"
    return TextTable(title, ("bottleneck", *datasets, "all"), rows)


def long_table(found: Sequence[AccuracyCell]) -> TextTable:
    """One row for each cell with all its numbers, for other programs."""
    headers = (
        *("dataset", "readout", "encoder", "bottleneck", "folds", "accuracy", "spread"),
        *("paper_accuracy", "paper_spread", "difference", "low", "high", "kept_share"),
        *("folds_all_kept", "folds_none_kept", "cpu_seconds_per_fold"),
    )
    return TextTable("cells", headers, [_long_row(cell) for cell in found if cell.results])


def _long_row(cell: AccuracyCell) -> tuple[str, ...]:
    gap, seen = cell.difference, cell.published
    numbers = (
        *(cell.mean, spread(cell.accuracies)),
        *(seen if seen is not None else (nan, nan)),
        *((gap.value, gap.low, gap.high) if gap is not None else (nan, nan, nan)),
        cell.kept_share,
    )
    shown = ["" if plain(number) is None else f"{number:.5g}" for number in numbers]
    collapsed = (str(cell.collapsed["all"]), str(cell.collapsed["none"]))
    seconds = f"{np.mean(cell.seconds):.2f}"
    return (*cell.place, cell.bottleneck, str(len(cell.results)), *shown, *collapsed, seconds)
