"""How good a model or a method is: ``vgib evaluate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import (
    Bottleneck,
    Cache,
    Classes,
    Data,
    Encoder,
    Encoding,
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

if TYPE_CHECKING:
    from vgib.data.packed import PackedGraphs
    from vgib.model.recognizer import SubgraphRecognizer


def evaluate(
    source: Data,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A trained model to judge as it is; without it, new models are trained and "
            "judged fold by fold."
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=3, help="How many folds the cross-validation has; each is the test set once."
        ),
    ] = 10,
    target: Targets = None,
    classes: Classes = False,
    smiles_column: Structures = None,
    encoder: Encoder = None,
    bottleneck: Bottleneck = None,
    preset: Preset = "recommended",
    settings: Settings = None,
    seed: Annotated[
        int, typer.Option(help="The seed of the training; the folds are the same for every seed.")
    ] = 0,
    mirror: Mirror = None,
    cache: Cache = None,
    encoding: Encoding = PLAIN.encoding,
    max_atoms: MaxAtoms = MAX_ATOMS,
    max_record: MaxRecord = PLAIN.max_record,
    max_unpacked: MaxUnpacked = None,
    as_json: Json = False,
) -> None:
    """Judge a trained model on labeled graphs, or a method by k-fold cross-validation."""
    from vgib.chem.standardize import Standard
    from vgib.config import assignments
    from vgib.data.loading import load_graphs
    from vgib.data.molecules import Molecules
    from vgib.experiments.engine.folds import summarize
    from vgib.model.kfold import cross_validate
    from vgib.model.labels import as_called
    from vgib.model.recognizer import SubgraphRecognizer

    if model is not None:
        judged = SubgraphRecognizer.load(model)
    else:
        options = {"seed": seed, **assignments(settings or [])}
        judged = SubgraphRecognizer(encoder, bottleneck, preset=preset, **options)
    graphs = load_graphs(
        source,
        target=target,
        target_kind="class" if classes else "value",
        smiles_column=smiles_column,
        features=judged.features,
        cache=cache,
        mirror=mirror,
        progress=True,
        max_atoms=max_atoms,
        how=FileReading(encoding, max_record, max_unpacked),
        standard=Standard.named(judged.standard),
    )
    if isinstance(graphs, Molecules):
        console.report_rejected(graphs)
        packed = as_called(graphs, judged.card_.words) if model is not None else graphs.graphs
    else:
        packed = graphs
    if model is not None:
        found: dict[str, Any] = {"metrics": judged.evaluate(packed)}
        found |= _apart_from_training(judged, packed)
    else:
        parts = cross_validate(
            judged, packed, folds, on_fold=lambda f: say(f"fold {f['fold'] + 1} of {folds} done")
        )
        found = {"metrics": summarize(parts), "folds": parts}
    if as_json:
        console.show_json(found)
    else:
        Console().print(console.estimates_table(found["metrics"]))
        if unseen := found.get("unseen"):
            say("the same on the molecules that were not learned from:")
            Console().print(console.estimates_table(unseen))


def _apart_from_training(model: "SubgraphRecognizer", graphs: "PackedGraphs") -> dict[str, Any]:
    """How many molecules the model was trained on, which is said, and its quality on the others."""
    if model.known_ is None or graphs.ids is None:
        return {}
    seen = model.known_.seen(graphs.ids)
    if not seen.any():
        return {"seen": 0}
    say(
        f"{int(seen.sum()):,} of these {len(seen):,} molecules were learned from: on them a model "
        "looks better than it is on new ones"
    )
    rest = graphs[~seen]
    return {"seen": int(seen.sum()), "unseen": model.evaluate(rest) if len(rest) > 1 else None}
