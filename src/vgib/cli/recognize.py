"""The subgraph of each molecule: ``vgib recognize``."""

from pathlib import Path
from typing import Annotated

import typer

from vgib import console
from vgib.cli.options import Json, molecule_source
from vgib.console import say
from vgib.errors import InputError


def recognize(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SMILES|FILE]...",
            help="SMILES, or one file (.smi, .csv, .sdf, also .gz); standard input when none.",
        ),
    ] = None,
    model: Annotated[Path, typer.Option(help="The folder of a trained model.")] = Path("model"),
    n: Annotated[int, typer.Option("-n", min=1, help="Subgraphs at each size.")] = 1,
    keep_ratio: Annotated[
        list[float] | None,
        typer.Option(help="Share of the atoms to keep; may be repeated. Default: score >= 0.5."),
    ] = None,
    rule: Annotated[
        str | None, typer.Option(help="ring_intact, guided, connected, largest_part or nodes.")
    ] = None,
    smiles_column: Annotated[
        str | None, typer.Option(help="The column of structures; found when not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .jsonl file to write; else standard output.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    as_json: Json = False,
) -> None:
    """Find the subgraph that carries the property, in each molecule."""
    from vgib.data.molecules import iter_molecules
    from vgib.estimator import SubgraphRecognizer

    found = SubgraphRecognizer.load(model, device=device)
    if found.card_.features is None:
        raise InputError(f"{model} was not trained on molecules; use it from Python")
    chunks = iter_molecules(
        molecule_source(inputs or []),
        smiles_column=smiles_column,
        features=found.card_.features,
    )
    done = refused = 0
    with console.recognition_output(out, as_json) as write:
        for chunk in chunks:
            console.report_rejected(chunk)
            refused += len(chunk.rejected)
            if len(chunk):
                done += len(chunk)
                write(chunk, found.recognize(chunk.graphs, n, keep_ratio=keep_ratio, rule=rule))  # type: ignore[arg-type]
        if not done:
            raise InputError(f"none of the {refused} molecules can be used")
    say(f"{done} molecules recognised, {refused} refused")
