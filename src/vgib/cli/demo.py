"""Everything once, on embedded data: ``vgib demo``."""

from pathlib import Path
from typing import Annotated

import typer

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import Json


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder in which the report with its pictures is written.")
    ] = Path("out/demo"),
    seed: Annotated[
        int, typer.Option(help="The seed of the data, of the training and of the controls.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Train a small model, ask the shipped ones about textbook molecules, and write a report."""
    from vgib.experiments.demo.job import run_demo

    found = run_demo(out, seed=seed, bar=console.epochs_bar, say=say)
    if as_json:
        console.show_json(found.to_json())
    else:
        typer.echo(f"\nOpen {found.report.resolve()}")
