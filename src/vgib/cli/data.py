"""Named public datasets: ``vgib data``."""

from typing import Annotated

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import Cache, Json, Mirror

data = typer.Typer(
    help="List, describe and fetch public datasets by their names.", no_args_is_help=True
)


@data.command("list")
def data_list(as_json: Json = False) -> None:
    """List the public datasets that vgib can fetch and read by name."""
    from vgib.data import catalog

    found = [catalog.entry(name) for name in catalog.names()]
    if as_json:
        console.show_json([console.entry_fields(entry) for entry in found])
        return
    Console().print(console.entries_table(found))
    say("Any other TU dataset is called TU:NAME.")


@data.command("info")
def data_info(
    name: Annotated[
        str, typer.Argument(help="The dataset to describe: a name of `vgib data list`, or TU:NAME.")
    ],
    as_json: Json = False,
) -> None:
    """Say what a dataset is, where it comes from and what is known of it."""
    from vgib.data import catalog

    found = console.entry_fields(catalog.entry(name))
    if as_json:
        console.show_json(found)
        return
    Console().print(console.fields_table(found))


@data.command("fetch")
def data_fetch(
    names: Annotated[
        list[str],
        typer.Argument(help="The datasets to fetch: names of `vgib data list`, or TU:NAME."),
    ],
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Download datasets, check them, and print where they are."""
    from vgib.data import catalog

    places = {name: str(catalog.fetch(name, cache=cache, mirror=mirror)) for name in names}
    if as_json:
        console.show_json(places)
    else:
        typer.echo("\n".join(places.values()))
