"""Table 4 from its records: each bottleneck against the plain backbone, over the same folds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

import numpy as np

from vgib.recipes.jobs import ClassificationJob
from vgib.recipes.recipe import Recipe
from vgib.records import Record, Records
from vgib.report import paper
from vgib.report.statistics import (
    Difference,
    average_ranks,
    corrected_interval,
    plain,
    spread,
)
from vgib.report.tables import TextTable

Place = tuple[str, str, str]
"""Dataset, readout, encoder: where bottlenecks are compared."""


@dataclass(frozen=True)
class Cell:
    """One bottleneck at one place: its folds, and how it compares with the control.

    Attributes:
        place: Dataset, readout, encoder.
        bottleneck: The row of the table.
        folds: Number of folds that the recipe asks for.
        results: The recorded results by fold.
        seconds: The processor's seconds for the training of each recorded fold.
        difference: Paired accuracy less that of the control, over the folds that both have.
        published: The paper's mean and spread, where it has this cell.
    """

    place: Place
    bottleneck: str
    folds: int
    results: dict[int, dict[str, Any]]
    seconds: tuple[float, ...]
    difference: Difference | None
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


def cells(made: Recipe, records: Records) -> list[Cell]:
    """Every cell of the recipe, in its order, with what is recorded of it."""
    done = records.by_key()
    found: dict[tuple[Place, str], dict[int, Record]] = {}
    jobs = [job for job in made.jobs() if isinstance(job, ClassificationJob)]
    for job in jobs:
        place = (job.dataset, job.readout, job.encoder)
        folds = found.setdefault((place, job.bottleneck), {})
        if (record := done.get(job.key())) is not None:
            folds[job.fold] = record
    wanted = len({job.fold for job in jobs})
    numbers = paper.numbers(made.name)
    return [
        _cell(place, name, wanted, recorded, found.get((place, str(made.control)), {}), numbers)
        for (place, name), recorded in found.items()
    ]


def _cell(
    place: Place,
    name: str,
    folds: int,
    recorded: dict[int, Record],
    control: dict[int, Record],
    numbers: dict[str, Any],
) -> Cell:
    dataset, readout, encoder = place
    results = {fold: record["result"] for fold, record in sorted(recorded.items())}
    against = {fold: record["result"] for fold, record in control.items()}
    both = sorted(results.keys() & against.keys())
    difference = None
    if both and recorded is not control:
        gains = [results[f]["test_accuracy"] - against[f]["test_accuracy"] for f in both]
        difference = corrected_interval(gains, graphs_ratio(results[f] for f in both))
    return Cell(
        place=place,
        bottleneck=name,
        folds=folds,
        results=results,
        seconds=tuple(
            # Early records have no processor time.
            record["seconds"].get("cpu", record["seconds"]["training"])
            for record in recorded.values()
        ),
        difference=difference,
        published=paper.value(numbers, readout, encoder, name, dataset),
    )


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
        gain: The mean paired gain over those places; the interval is over folds.
        wins: Places where it is better at the 5 % level.
        ties: Places where the interval holds zero.
        losses: Places where it is worse at the 5 % level.
        rank: Its average rank, over the places where every bottleneck has all folds.
        kept_share: The mean share of nodes kept.
        collapsed: The share of folds in which the gate keeps all or none.
        published_gain: The paper's gain over the same places, where it has both numbers.
    """

    bottleneck: str
    places: int
    gain: Difference | None
    wins: int
    ties: int
    losses: int
    rank: float | None
    kept_share: float
    collapsed: float
    published_gain: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        gain = self.gain and {k: plain(v) for k, v in vars(self.gain).items()}
        rest = {"kept_share": plain(self.kept_share), "collapsed": plain(self.collapsed)}
        return vars(self) | {"gain": gain} | rest


def summaries(found: Sequence[Cell], control: str) -> list[Summary]:
    """One summary for each bottleneck, in the order of the table."""
    full = {(cell.place, cell.bottleneck): cell for cell in found if cell.is_full}
    names = list(dict.fromkeys(cell.bottleneck for cell in found))
    places = list(dict.fromkeys(cell.place for cell in found))
    ranked = [place for place in places if all((place, name) in full for name in names)]
    ranks = average_ranks([[full[place, name].mean for name in names] for place in ranked])
    result = []
    for number, name in enumerate(names):
        pairs = [
            (full[place, name], full[place, control])
            for place in places
            if (place, name) in full and (place, control) in full
        ]
        rank = ranks[number] if ranks else None
        result.append(_summary(name, pairs, rank, is_control=name == control))
    return result


def _summary(
    name: str, pairs: Sequence[tuple[Cell, Cell]], rank: float | None, *, is_control: bool
) -> Summary:
    own = [cell for cell, _ in pairs]
    verdicts = Counter(cell.difference.verdict for cell in own if cell.difference)
    folds = [result for cell in own for result in cell.results.values()]
    gain = None
    if pairs and not is_control:
        # One gain for each fold, the mean over places: the interval is then over folds alone.
        gains = np.mean([np.subtract(c.accuracies, p.accuracies) for c, p in pairs], axis=0)
        gain = corrected_interval(gains, graphs_ratio(folds))
    published = [c.published[0] - p.published[0] for c, p in pairs if c.published and p.published]
    return Summary(
        bottleneck=name,
        places=len(pairs),
        gain=gain,
        wins=verdicts["win"],
        ties=verdicts["tie"],
        losses=verdicts["loss"],
        rank=rank,
        kept_share=float(np.mean([c.kept_share for c in own])) if own else nan,
        collapsed=float(np.mean([r["collapse"] is not None for r in folds])) if folds else nan,
        published_gain=float(np.mean(published)) if published and not is_control else None,
    )


def tables(made: Recipe, records: Records) -> list[TextTable]:
    """The summary, the halves of Table 4, the paired differences and the kept shares."""
    found = cells(made, records)
    control = str(made.control)
    return [
        summary_table(summaries(found, control), control),
        gains_table(found, control),
        *(accuracy_table(found, readout) for readout in made.grid["readout"]),
        *(difference_table(found, readout, control) for readout in made.grid["readout"]),
        *(kept_table(found, readout, control) for readout in made.grid["readout"]),
    ]


def accuracy_table(found: Sequence[Cell], readout: str) -> TextTable:
    """One half of Table 4."""
    title = f"Accuracy, {readout} readout: mean ± spread over folds (the paper's mean)"
    return _by_dataset(title, found, readout, Cell.text)


def difference_table(found: Sequence[Cell], readout: str, control: str) -> TextTable:
    """Paired differences to the control."""
    title = f"Accuracy less that of {control}, {readout} readout: paired, corrected 95 % interval"
    others = [cell for cell in found if cell.bottleneck != control]
    return _by_dataset(title, others, readout, _difference_text)


def kept_table(found: Sequence[Cell], readout: str, control: str) -> TextTable:
    """Kept shares and collapses."""
    title = f"Share of nodes kept on test graphs, {readout} readout (folds that keep all, none)"
    others = [cell for cell in found if cell.bottleneck != control]
    return _by_dataset(title, others, readout, _kept_text)


def _difference_text(cell: Cell) -> str:
    return "..." if cell.difference is None or not cell.is_full else str(cell.difference)


def _kept_text(cell: Cell) -> str:
    if not cell.results:
        return "..."
    return f"{cell.kept_share:.2f} ({cell.collapsed['all']}, {cell.collapsed['none']})"


def _by_dataset(title: str, found: Sequence[Cell], readout: str, text: Any) -> TextTable:
    """Encoders and bottlenecks down, datasets across."""
    datasets = list(dict.fromkeys(cell.place[0] for cell in found))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in found:
        dataset, pooled, encoder = cell.place
        if pooled == readout:
            rows.setdefault((encoder, cell.bottleneck), {})[dataset] = text(cell)
    filled = [(*row, *(texts.get(name, "") for name in datasets)) for row, texts in rows.items()]
    return TextTable(title, ("encoder", "bottleneck", *datasets), filled)


def summary_table(found: Sequence[Summary], control: str) -> TextTable:
    """One row for each bottleneck."""
    headers = (
        "bottleneck",
        "cells",
        "gain",
        "the paper's gain",
        "better / tie / worse",
        "rank",
        "kept",
        "collapsed folds",
    )
    rows: list[tuple[str, ...]] = [
        (
            summary.bottleneck,
            str(summary.places),
            "" if summary.gain is None else str(summary.gain),
            "" if summary.published_gain is None else f"{summary.published_gain:+.3f}",
            "" if summary.gain is None else f"{summary.wins} / {summary.ties} / {summary.losses}",
            "" if summary.rank is None else f"{summary.rank:.2f}",
            f"{summary.kept_share:.2f}" if summary.places else "",
            f"{summary.collapsed:.0%}" if summary.places and summary.gain is not None else "",
        )
        for summary in found
    ]
    title = f"Each bottleneck against {control}, over all cells whose folds are complete"
    return TextTable(title, headers, rows)


def gains_table(found: Sequence[Cell], control: str) -> TextTable:
    """The gain of each bottleneck on each dataset, over the cells whose folds are complete."""
    datasets = list(dict.fromkeys(cell.place[0] for cell in found))
    gains = {
        (summary.bottleneck, dataset): "..." if summary.gain is None else str(summary.gain)
        for dataset in datasets
        for summary in summaries([cell for cell in found if cell.place[0] == dataset], control)
    }
    names = dict.fromkeys(cell.bottleneck for cell in found if cell.bottleneck != control)
    rows = [(name, *(gains.get((name, dataset), "...") for dataset in datasets)) for name in names]
    title = f"The gain over {control} on each dataset, mean over encoders and readouts"
    return TextTable(title, ("bottleneck", *datasets), rows)


def views_table(found: Sequence[Cell], part: Literal["val", "test"]) -> TextTable:
    """What each bottleneck reaches by what it predicts from, on the folds that judge or validate.

    A mean over all places and folds that every row has, so that rows can be compared, and the mean
    of each dataset where there are several; a bottleneck without any record has no row.
    """
    names = list(dict.fromkeys(cell.bottleneck for cell in found if cell.results))
    by_name = {
        name: {
            (c.place, fold): c.results[fold]
            for c in found
            if c.bottleneck == name
            for fold in c.results
        }
        for name in names
    }
    shared = sorted(set.intersection(*map(set, by_name.values()))) if by_name else []
    dataset_of = np.array([place[0] for place, _ in shared])
    datasets = list(dict.fromkeys(dataset_of.tolist()))
    apart = datasets if len(datasets) > 1 else []
    rows: list[tuple[str, ...]] = []
    for name in names:
        results = [by_name[name][where] for where in shared]
        views = {
            view: [result["views"].get(view) for result in results]
            for view in (results[0]["views"] if results else {})
        }
        for view, judged in (views or {"": results}).items():
            if judged and all(judged):
                accuracy = np.array([each[f"{part}_accuracy"] for each in judged])
                means = [accuracy[dataset_of == dataset].mean() for dataset in apart]
                kept = np.mean([each[f"{part}_kept_share"] for each in judged])
                numbers = [f"{mean:.3f}" for mean in (*means, accuracy.mean())]
                rows.append((name, view, *numbers, f"{kept:.2f}"))
    title = f"Accuracy and kept share, mean over {len(shared)} trainings"
    return TextTable(title, ("bottleneck", "predicts from", *apart, "accuracy", "kept"), rows)


def long_table(found: Sequence[Cell]) -> TextTable:
    """One row for each cell with all its numbers, for other programs."""
    headers = (
        *("dataset", "readout", "encoder", "bottleneck", "folds", "accuracy", "spread"),
        *("paper_accuracy", "paper_spread", "difference", "low", "high", "kept_share"),
        *("folds_all_kept", "folds_none_kept", "cpu_seconds_per_fold"),
    )
    return TextTable("cells", headers, [_long_row(cell) for cell in found if cell.results])


def _long_row(cell: Cell) -> tuple[str, ...]:
    gap, seen = cell.difference, cell.published
    numbers = (
        *(cell.mean, spread(cell.accuracies)),
        *(seen if seen is not None else (nan, nan)),
        *((gap.mean, gap.low, gap.high) if gap is not None else (nan, nan, nan)),
        cell.kept_share,
    )
    shown = ["" if plain(number) is None else f"{number:.5g}" for number in numbers]
    collapsed = (str(cell.collapsed["all"]), str(cell.collapsed["none"]))
    seconds = f"{np.mean(cell.seconds):.2f}"
    return (*cell.place, cell.bottleneck, str(len(cell.results)), *shown, *collapsed, seconds)
