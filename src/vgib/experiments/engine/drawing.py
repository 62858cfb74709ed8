"""Everything that is drawn from the records of a recipe: texts by the name of their file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vgib.experiments.engine import curves
from vgib.experiments.engine.coverage import of_recipe
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.figure2b import table as noise
from vgib.experiments.figure3 import table as gallery
from vgib.experiments.ground_truth import table as truth
from vgib.experiments.table1 import table as interpretation
from vgib.experiments.table2 import table as dynamics
from vgib.experiments.table3 import table as explanation
from vgib.experiments.table4 import table as classification


@dataclass(frozen=True)
class Drawn:
    """The tables of a recipe, one with all numbers, the same for machines, and figures as SVG."""

    tables: list[TextTable]
    numbers: TextTable
    summary: list[dict[str, Any]]
    figures: dict[str, str] = field(default_factory=dict)


def _classification(made: Recipe, records: Records) -> Drawn:
    found = classification.cells(made, records)
    summaries = classification.summaries(found, str(made.control))
    return Drawn(
        classification.tables(made, records),
        classification.long_table(found),
        [summary.to_json() for summary in summaries],
    )


def _interpretation(made: Recipe, records: Records) -> Drawn:
    found = interpretation.cells(made, records)
    # Changes of one method, which is their control, are too many and too alike for a picture.
    figures = (
        {}
        if made.control
        else {
            f"{made.name}_size.svg": curves.size_curves(found),
            f"{made.name}_gap.svg": curves.gap_bars(found),
        }
    )
    return Drawn(
        interpretation.tables(found),
        interpretation.long_table(found),
        interpretation.summary(found),
        _drawn(figures),
    )


def _dynamics(made: Recipe, records: Records) -> Drawn:
    found = dynamics.courses(made, records)
    tables = [dynamics.time_table(found, made.control)] if made.control else []
    if any(course.traces for course in found):
        tables.append(dynamics.stability_table(found))
    return _of_tables(tables, {f"{made.name}.svg": dynamics.figure(found)})


def _noise(made: Recipe, records: Records) -> Drawn:
    found = noise.disturbances(made, records)
    return _of_tables([noise.table(found)], {f"{made.name}.svg": noise.figure(found)})


def _gallery(made: Recipe, records: Records) -> Drawn:
    found = gallery.shown(made, records)
    return _of_tables(list(gallery.tables(found)), gallery.pictures(found, made.name))


def _explanation(made: Recipe, records: Records) -> Drawn:
    found, ours = explanation.cells(made, records), str(made.control)
    numbers, summary = explanation.long_table(found), explanation.summary(found, ours)
    if made.shares:  # the figure of a table
        figures = _drawn({f"{made.name}.svg": explanation.figure(found)})
        return Drawn(explanation.curve_tables(found), numbers, summary, figures)
    return Drawn(explanation.tables(found, ours), numbers, summary)


def _ground_truth(made: Recipe, records: Records) -> Drawn:
    found = truth.cells(made, records)
    drawn = truth.tables(found)
    return Drawn(drawn, truth.long_table(found), truth.summary(found))


def _of_tables(tables: list[TextTable], figures: dict[str, str]) -> Drawn:
    """A recipe whose tables hold all its numbers."""
    summary = [dict(zip(table.headers, row, strict=True)) for table in tables for row in table.rows]
    return Drawn(tables, tables[0] if tables else TextTable("", ()), summary, _drawn(figures))


def _drawn(figures: dict[str, str]) -> dict[str, str]:
    """Those that have something to show."""
    return {name: svg for name, svg in figures.items() if svg}


DRAW: dict[str, Callable[[Recipe, Records], Drawn]] = {
    "classification": _classification,
    "interpretation": _interpretation,
    "dynamics": _dynamics,
    "noise": _noise,
    "gallery": _gallery,
    "explanation": _explanation,
    "ground_truth": _ground_truth,
}
"""Who draws the records of a task."""


def draw(made: Recipe, records: Records) -> Drawn:
    """The tables of a recipe, from its records alone."""
    return DRAW[made.task](made, records)


def files(made: Recipe, records: Records, drawn: Drawn) -> dict[str, str]:
    """The same as files: Markdown, LaTeX, and all numbers as CSV."""
    return {
        f"{made.name}.md": markdown(made, records, drawn),
        f"{made.name}.tex": "\n\n".join(table.latex() for table in drawn.tables) + "\n",
        f"{made.name}.csv": drawn.numbers.csv(),
    }


def markdown(made: Recipe, records: Records, drawn: Drawn) -> str:
    """The page of a recipe: what it is, how complete, the tables, the command behind them."""
    done = of_recipe(made, records)
    head = [
        f"# {made.summary}",
        "",
        f"{done['full_cells']} of {done['cells']} cells are complete "
        f"({done['records']} of {done['jobs']} records). `vgib run {made.name}` computes the rest.",
    ]
    return "\n\n".join(["\n".join(head), *(table.markdown() for table in drawn.tables)]) + "\n"
