"""The service and the page: ``vgib serve``."""

from pathlib import Path
from typing import Annotated

import typer

from vgib.cli.console import say
from vgib.cli.options import Cache


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model", help="The folder of a model of yours that is offered too; may be repeated."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen at; another than the default lets other machines in."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 for any that is free.")
    ] = 8642,
    fetch_editor: Annotated[
        bool,
        typer.Option(
            "--fetch-editor",
            help="Fetch the drawing editor of the page with npm, if it is not there yet.",
        ),
    ] = False,
    open_page: Annotated[
        bool,
        typer.Option("--open", help="Open the page in your browser as soon as the service runs."),
    ] = False,
    shipped: Annotated[
        bool, typer.Option(help="Whether the models that ship with the package are offered.")
    ] = True,
    max_atoms: Annotated[
        int, typer.Option(min=1, help="The most heavy atoms of a molecule that is taken.")
    ] = 250,
    max_rows: Annotated[
        int, typer.Option(min=1, help="The most rows that an uploaded table may have.")
    ] = 10_000,
    cache: Cache = None,
) -> None:
    """Serve the models over HTTP, and a page to use them from, to this machine alone."""
    say("Loading the models; the address of the page follows in some seconds.")
    from vgib.errors import DownloadError
    from vgib.serve import editor
    from vgib.serve.limits import Limits
    from vgib.serve.server import run

    if fetch_editor:
        try:
            editor.fetch_editor(cache)
        except DownloadError as error:
            say(f"no drawing editor: {error}")
    run(
        models or [],
        host=host,
        port=port,
        limits=Limits(atoms=max_atoms, rows=max_rows),
        editor=editor.editor_folder(cache) if editor.is_fetched(cache) else None,
        shipped=shipped,
        open_page=open_page,
        say=say,
    )
