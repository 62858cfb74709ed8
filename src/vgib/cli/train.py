"""A model from labeled graphs: ``vgib train``."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import (
    Address,
    Bottleneck,
    Cache,
    Classes,
    Data,
    Device,
    Encoder,
    Encoding,
    Engine,
    Json,
    MaxAtoms,
    MaxRecord,
    MaxUnpacked,
    Mirror,
    Preset,
    Settings,
    Structures,
    Targets,
)
from vgib.limits import MAX_ATOMS, PLAIN, FileReading
from vgib.page.html import counted


def train(
    source: Data,
    out: Annotated[
        Path, typer.Option(help="The folder in which the model is saved with its card.")
    ],
    target: Targets = None,
    classes: Classes = False,
    smiles_column: Structures = None,
    encoder: Encoder = None,
    bottleneck: Bottleneck = None,
    preset: Preset = "recommended",
    settings: Settings = None,
    split: Annotated[
        str,
        typer.Option(
            help="How graphs are divided into 85 % training, 5 % validation and 10 % test: "
            "random, scaffold or file-order."
        ),
    ] = "random",
    features: Annotated[
        str,
        typer.Option(
            help="What the network is told of each atom: rich (element, charge, hydrogens, "
            "ring, ...) or element alone."
        ),
    ] = "rich",
    standard: Annotated[
        Literal["none", "usual", "tautomers"],
        typer.Option(
            help="How molecules are made alike, in training and whenever the model is used: usual "
            "(without salts, charges and isotope labels), tautomers (besides, one form of each) "
            "or none (as they are written)."
        ),
    ] = "usual",
    members: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many networks are trained, each from a seed of its own. They answer "
            "together: better than one alone, and with a spread.",
        ),
    ] = 3,
    seed: Annotated[
        int,
        typer.Option(
            help="The seed of the split and of the first member; further members count up from it."
        ),
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file (on Ray a folder) from which an interrupted training goes on."),
    ] = None,
    device: Device = "cpu",
    engine: Engine = "local",
    address: Address = None,
    workers: Annotated[
        int, typer.Option(min=1, help="With --engine ray, how many processes share every batch.")
    ] = 1,
    mirror: Mirror = None,
    cache: Cache = None,
    encoding: Encoding = PLAIN.encoding,
    max_atoms: MaxAtoms = MAX_ATOMS,
    max_record: MaxRecord = PLAIN.max_record,
    max_unpacked: MaxUnpacked = None,
    as_json: Json = False,
) -> None:
    """Train a model, judge it on held-out graphs, and save it with its card."""
    import numpy as np

    from vgib.chem.standardize import Standard
    from vgib.config import assignments
    from vgib.data.files import ensure_writable
    from vgib.data.loading import load_graphs, split_graphs
    from vgib.data.molecules import Molecules
    from vgib.model.forest import beside_forest
    from vgib.model.known import Known
    from vgib.model.recognizer import SubgraphRecognizer

    model = SubgraphRecognizer(
        encoder,
        bottleneck,
        preset=preset,
        features=features,
        standard=standard,
        device=device,
        **{"seed": seed, **assignments(settings or [])},
    )
    ensure_writable(out)
    loaded = load_graphs(
        source,
        target=target,
        target_kind="class" if classes else "value",
        smiles_column=smiles_column,
        features=features,
        cache=cache,
        mirror=mirror,
        progress=True,
        max_atoms=max_atoms,
        how=FileReading(encoding, max_record, max_unpacked),
        standard=Standard.named(standard),
    )
    names = None
    is_molecules = isinstance(loaded, Molecules)
    if isinstance(loaded, Molecules):
        console.report_rejected(loaded)
        names = loaded.class_names
        loaded = loaded.graphs
    if names is not None:
        say(f"column {str(target and target[0])!r} holds classes: {', '.join(names)}")
    parts = split_graphs(loaded, split, seed=seed)
    trained = model.copies(members)
    for number, one in enumerate(trained):
        title = f"member {number + 1} of {members}" if members > 1 else "training"
        with console.epochs_bar(one.planned_epochs(len(parts.train)), title) as on_epoch:
            one.fit(
                loaded[parts.train],
                val=loaded[parts.val],
                on_epoch=on_epoch,
                **_how(engine, address, workers, checkpoint, out, number),
            )
    model = SubgraphRecognizer.together(trained)
    if members > 1:
        model.calibrate(loaded[parts.val])
    model.name_outputs(names, target)
    found = model.evaluate(loaded[parts.test])
    learned = f"{' and '.join(target)}, learned from" if target else f"{model.bottleneck} on"
    classes_there = len(model.card_.classes or ())
    model.card_.headline = {0: "r_squared", 2: "roc_auc"}.get(classes_there, "accuracy")
    if is_molecules:
        rest = np.concatenate([parts.train, parts.val])
        beside = beside_forest(model, loaded[rest], loaded[parts.test], seed=seed)
        found |= beside.metrics
        model.card_.caution = beside.caution
    model.save(out, summary=f"{learned} {source}", metrics=found)
    if is_molecules:
        Known.of(loaded[parts.train], structures=True).save(out)
    if as_json:
        console.show_json({"model": str(out), "metrics": found})
        return
    Console().print(console.estimates_table(found))
    if model.card_.caution:
        say(model.card_.caution)
    say(f"{counted(len(parts.test), 'held-out graph')}; the model is in {out}")


def _how(
    engine: Engine,
    address: str | None,
    workers: int,
    checkpoint: Path | None,
    out: Path,
    member: int,
) -> dict[str, Any]:
    """Who trains, and where the checkpoint is kept; a cluster cannot do without one.

    The first member's has the name that was given, a further one's ends in its number.
    """
    if checkpoint is None and engine != "local":
        checkpoint = out / "training"
    if checkpoint is not None and member:
        checkpoint = checkpoint.with_name(f"{checkpoint.name}-{member}")
    if engine == "local":
        return {"checkpoint": checkpoint}
    from vgib.train.on_ray import RayTraining

    return {"checkpoint": checkpoint, "loop": RayTraining(workers, address)}
