"""Properties of molecules: ``vgib oracles``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import Cache, Json, Mirror, molecule_source

oracles = typer.Typer(
    help="List, ask and train the oracles, which give molecules a number.", no_args_is_help=True
)


@oracles.command("list")
def oracles_list(as_json: Json = False) -> None:
    """List the oracles and how good they are on molecules that they were not trained on."""
    from vgib.oracles import registry

    cards = [registry.get(name).card for name in registry.names()]
    if as_json:
        console.show_json([card.model_dump() for card in cards])
        return
    Console().print(console.oracles_table(cards))


@oracles.command("score")
def oracles_score(
    name: Annotated[str, typer.Argument(help="The oracle to ask: a name of `vgib oracles list`.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SMILES|FILE]...",
            help="The molecules: SMILES, or a file (.smi, .csv, .gz too). Default: standard input.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give each molecule its value, or an empty one where the oracle cannot judge it."""
    from vgib.data.headers import structure_column
    from vgib.data.records import open_table
    from vgib.oracles import registry

    oracle = registry.get(name)
    with open_table(molecule_source(inputs or [])) as table:
        column, records = structure_column(table, None)
        smiles = [record.fields.get(column, "").strip() for record in records]
    values = oracle(smiles).tolist()
    rows = [
        {"smiles": text, name: value if value == value else None}
        for text, value in zip(smiles, values, strict=True)
    ]
    if as_json:
        console.show_json(rows)
    else:
        console.write_rows(rows)
    say(f"{name} in {oracle.card.unit}; {sum(row[name] is None for row in rows)} not judged")


@oracles.command("train")
def oracles_train(
    name: Annotated[
        str,
        typer.Argument(help="The oracle to train: a learned one of `vgib oracles list`, or all."),
    ],
    out: Annotated[
        Path, typer.Option(help="The folder in which the files of the oracles are written.")
    ] = Path("out/oracles"),
    seed: Annotated[
        int,
        typer.Option(help="The seed by which molecules are held out and the oracle is trained."),
    ] = 0,
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Train the learned oracles anew and judge them on held-out molecules."""
    from vgib.oracles.training import train_oracles

    cards = train_oracles(name, out, mirror=mirror, cache=cache, seed=seed, say=say)
    if as_json:
        console.show_json([card.model_dump() for card in cards])
        return
    Console().print(console.oracles_table(cards))
