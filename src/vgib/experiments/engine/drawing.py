"""Everything that is drawn from the records of an experiment: texts by the name of their file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from vgib.experiments.engine import folders
from vgib.experiments.engine.coverage import of_recipe
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable


@dataclass(frozen=True)
class Drawn:
    """What an experiment's ``table.py`` makes of its records.

    Attributes:
        tables: To be read by people, in their order.
        numbers: All numbers in one table, for other programs.
        summary: The headline numbers, for machines.
        figures: SVG by the name of its file.
    """

    tables: list[TextTable]
    numbers: TextTable
    summary: list[dict[str, Any]]
    figures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_tables(
        cls, tables: Sequence[TextTable], figures: Mapping[str, str] | None = None
    ) -> Self:
        """An experiment whose tables hold all its numbers; figures without a content are left out.

        Numbers are those of the first table; the summary has a line for each row of every table.
        """
        summary = [
            dict(zip(table.headers, row, strict=True)) for table in tables for row in table.rows
        ]
        numbers = tables[0] if tables else TextTable("", ())
        return cls(list(tables), numbers, summary, with_content(figures or {}))


def with_content(figures: Mapping[str, str]) -> dict[str, str]:
    """The figures that have something to show."""
    return {name: svg for name, svg in figures.items() if svg}


def draw(made: Recipe, records: Records) -> Drawn:
    """The tables of a recipe, from its records alone."""
    found: Drawn = folders.draw_of(made.drawn_by)(made, records)
    return found


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
