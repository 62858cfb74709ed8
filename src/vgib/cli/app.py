"""All verbs, and how a command ends: 0 is success, 1 a failure that is explained, 2 a misuse."""

import errno
import gc
import logging
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer
from rich.logging import RichHandler

from vgib import __version__
from vgib.cli import console
from vgib.cli.data import data
from vgib.cli.demo import demo
from vgib.cli.evaluate import evaluate
from vgib.cli.explain import explain
from vgib.cli.models import models
from vgib.cli.oracles import oracles
from vgib.cli.recognize import recognize
from vgib.cli.report import report
from vgib.cli.run import run
from vgib.cli.serve import serve
from vgib.cli.train import train
from vgib.errors import UnknownNameError, VgibError

app = typer.Typer(
    help="Find in each graph the compressed subgraph that carries its property.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (train, recognize, explain, evaluate, run, report, demo, serve):
    app.command()(verb)
app.add_typer(data, name="data")
app.add_typer(oracles, name="oracles")
app.add_typer(models, name="models")


def main() -> None:
    """Runs the command."""
    # Imports make many objects and no garbage: looking for it less often saves a tenth of a start.
    gc.set_threshold(50_000)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except VgibError as error:
        console.say(f"error: {error}")
        sys.exit(2 if isinstance(error, UnknownNameError) else 1)
    except OSError as error:
        if error.filename is not None:
            raise
        # Standard output is full or closed; Python would try again to write it, and complain.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:  # who closes a pipe has seen enough
            console.say(f"error: cannot write standard output: {error.strerror or error}")
        sys.exit(1)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vgib {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version of vgib and stop.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Tell each step of the work on stderr, not only warnings."
        ),
    ] = False,
) -> None:
    """Take the options that come before the verb."""
    level = logging.INFO if verbose else logging.WARNING
    handler = RichHandler(console=console.talk, show_time=False, show_path=False)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler], force=True)
