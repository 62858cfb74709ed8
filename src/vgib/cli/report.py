"""Tables and figures from records: ``vgib report``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from vgib.cli import console
from vgib.cli.options import Json


def report(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[RECIPE]",
            help="An experiment, all, or coverage (which records exist and which are out of date).",
        ),
    ] = "all",
    results: Annotated[
        Path, typer.Option(help="The folder in which `vgib run` left its records.")
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for tables as .md, .tex and .csv files; for `all`, with an index.html."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="The folder for figures as .svg files. Default: the folder of --out."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw tables and figures from the records, beside the paper's; or list what is missing."""
    from vgib.data.files import write_text
    from vgib.experiments.engine import coverage, drawing, overview
    from vgib.experiments.engine.folders import names
    from vgib.experiments.engine.recipe import recipe
    from vgib.experiments.engine.records import Records

    if name == "coverage":
        found = coverage.coverage(results)
        if as_json:
            console.show_json(found)
        else:
            Console().print(_coverage_table(found))
        return
    shown = []
    for chosen in [name] if name != "all" else names():
        made = recipe(chosen)
        records = Records(results / made.folder)
        drawn = drawing.draw(made, records)
        shown.append((made, records, drawn))
        if out is not None:
            for file, text in drawing.files(made, records, drawn).items():
                write_text(out / file, text)
        if (folder := figures or out) is not None:
            for file, text in drawn.figures.items():
                write_text(folder / file, text)
        if as_json:
            console.show_json({made.name: drawn.rows()})
        else:
            typer.echo(drawing.markdown(made, records, drawn))
    if out is not None and name == "all":
        write_text(out / "index.html", overview.overview(shown))


def _coverage_table(found: dict[str, dict[str, int]]) -> Table:
    """What is computed of each recipe; records that are out of date or of unknown code."""
    columns = ("recipe", "full cells", "records", "out of date", "unknown code")
    table = Table(*columns, box=None, header_style="bold")
    for name, row in found.items():
        table.add_row(
            name,
            f"{row['full_cells']} of {row['cells']}",
            f"{row['records']} of {row['jobs']}",
            str(row["out_of_date"]),
            str(row["unknown"]),
        )
    return table
