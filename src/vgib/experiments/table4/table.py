"""Table 4 from its records: each bottleneck against the plain backbone, over the same folds."""

from collections.abc import Callable, Sequence

from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import signed
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.experiments.table4.cells import (
    AccuracyCell,
    Summary,
    cells,
    predicting_from,
    seen_as,
    summaries,
)


def draw(made: Recipe, records: Records) -> Drawn:
    """The summary, the gains, the halves of Table 4, paired differences, kept shares and hours."""
    found, control = cells(made, records), str(made.control)
    readouts = made.grid["readout"]
    return Drawn(
        [
            summary_table(summaries(found, control), control),
            gains_table(found, control),
            view_gains_table(found, control),
            *(accuracy_table(found, readout) for readout in readouts),
            *(difference_table(found, readout, control) for readout in readouts),
            *(kept_table(found, readout, control) for readout in readouts),
            hours_table(found),
        ]
    )


def accuracy_table(found: Sequence[AccuracyCell], readout: str) -> TextTable:
    title = f"Accuracy, {readout} readout: mean ± spread over folds (the paper's mean)"
    return _by_dataset(title, found, readout, AccuracyCell.text)


def difference_table(found: Sequence[AccuracyCell], readout: str, control: str) -> TextTable:
    title = f"Accuracy less that of {control}, {readout} readout: paired, corrected 95 % interval"
    others = [cell for cell in found if cell.bottleneck != control]
    return _by_dataset(title, others, readout, _difference_text)


def kept_table(found: Sequence[AccuracyCell], readout: str, control: str) -> TextTable:
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
        for summary in summaries(seen_as(found, predicting_from(view)), control)
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
