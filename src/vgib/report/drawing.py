"""Everything that is drawn from the records of a recipe: texts by the name of their file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vgib.recipes.recipe import Recipe
from vgib.records import Records
from vgib.report import classification
from vgib.report.coverage import of_recipe
from vgib.report.tables import TextTable


@dataclass(frozen=True)
class Drawn:
    """The tables of a recipe, one with all numbers, and the same for machines."""

    tables: list[TextTable]
    numbers: TextTable
    summary: list[dict[str, Any]]


def _classification(made: Recipe, records: Records) -> Drawn:
    found = classification.cells(made, records)
    summaries = classification.summaries(found, str(made.control))
    return Drawn(
        classification.tables(made, records),
        classification.long_table(found),
        [summary.to_json() for summary in summaries],
    )


DRAW: dict[str, Callable[[Recipe, Records], Drawn]] = {"classification": _classification}
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
