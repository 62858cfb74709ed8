"""The models that ship with the package: ``vgib models``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import Cache, Json, Mirror

models = typer.Typer(help="List the models that ship with the package, or train them anew.")


@models.callback(invoke_without_command=True)
def models_list(context: typer.Context, as_json: Json = False) -> None:
    """List the shipped models and how good they are on molecules that they were not trained on."""
    if context.invoked_subcommand is not None:
        return
    from vgib.model import shipped

    cards = shipped.cards()
    if as_json:
        console.show_json([{"name": name, **card.model_dump()} for name, card in cards.items()])
    else:
        Console().print(console.models_table(cards))


@models.command("train")
def models_train(
    name: Annotated[
        str, typer.Argument(help="The model to train: a name of `vgib models`, or all.")
    ],
    out: Annotated[
        Path, typer.Option(help="The folder in which each model gets a folder of its own.")
    ] = Path("out/models"),
    mirror: Mirror = None,
    cache: Cache = None,
) -> None:
    """Train the shipped models anew; those that are in the folder already are left as they are."""
    from vgib.experiments.shipped.job import train_models

    for folder in train_models(name, out, say=say, mirror=mirror, cache=cache):
        typer.echo(folder)
