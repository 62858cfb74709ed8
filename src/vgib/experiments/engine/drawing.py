"""Everything that is drawn from the records of an experiment: texts by the name of their file."""

from dataclasses import dataclass, field

from vgib.experiments.engine import folders
from vgib.experiments.engine.coverage import of_recipe
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable, csv_text


@dataclass(frozen=True)
class Drawn:
    """What an experiment's ``table.py`` makes of its records.

    Attributes:
        tables: In their order.
        figures: SVG by the name of its file; empty text for one that has nothing to show.
    """

    tables: list[TextTable]
    figures: dict[str, str] = field(default_factory=dict)

    def rows(self) -> list[dict[str, str]]:
        """Every row of every table, for other programs."""
        return [row for table in self.tables for row in table.named_rows()]


def draw(made: Recipe, records: Records) -> Drawn:
    """The tables of a recipe, and its figures that have something to show, from records alone."""
    drawn: Drawn = folders.draw_of(made.drawn_by)(made, records)
    return Drawn(drawn.tables, {name: svg for name, svg in drawn.figures.items() if svg})


def files(made: Recipe, records: Records, drawn: Drawn) -> dict[str, str]:
    """The tables as files: Markdown, LaTeX, and one CSV with the rows of all of them."""
    return {
        f"{made.name}.md": markdown(made, records, drawn),
        f"{made.name}.tex": "\n\n".join(table.latex() for table in drawn.tables) + "\n",
        f"{made.name}.csv": csv_text(drawn.rows()),
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
