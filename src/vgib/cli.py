"""The command line: parse, call the library, print. Results on stdout, talk on stderr."""

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler

from vgib import __version__, console
from vgib.console import say
from vgib.data.records import SUFFIXES
from vgib.errors import InputError, UnknownNameError, VgibError

app = typer.Typer(
    help="Find in each graph the compressed subgraph that carries its property.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(help="Named public datasets: list, describe, fetch.", no_args_is_help=True)
app.add_typer(data, name="data")
oracles = typer.Typer(help="Properties of molecules: list, score, train.", no_args_is_help=True)
app.add_typer(oracles, name="oracles")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Mirror = Annotated[
    Path | None,
    typer.Option(
        help="A folder that holds the public files, checked against its SHA256SUMS.",
        envvar="VGIB_MIRROR",
    ),
]
Cache = Annotated[Path | None, typer.Option(help="Where downloads are kept.", envvar="VGIB_CACHE")]


def main() -> None:
    """Runs the command; 0 is success, 1 a failure that is explained, 2 a misuse."""
    try:
        app()
    except VgibError as error:
        say(f"error: {error}")
        sys.exit(2 if isinstance(error, UnknownNameError) else 1)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vgib {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is going on.")] = False,
) -> None:
    """Settings of every command."""
    level = logging.INFO if verbose else logging.WARNING
    handler = RichHandler(console=console.talk, show_time=False, show_path=False)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler], force=True)


@data.command("list")
def data_list(as_json: Json = False) -> None:
    """List the datasets of the catalog."""
    from vgib.data import catalog

    found = [catalog.entry(name) for name in catalog.names()]
    if as_json:
        console.show_json([console.entry_fields(entry) for entry in found])
        return
    Console().print(console.entries_table(found))
    say("Any other TU dataset is called TU:NAME.")


@data.command("info")
def data_info(
    name: Annotated[str, typer.Argument(help="A name of `vgib data list`, or TU:NAME.")],
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
    names: Annotated[list[str], typer.Argument(help="Names of `vgib data list`, or TU:NAME.")],
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
    name: Annotated[str, typer.Argument(help="A name of `vgib oracles list`.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SMILES|FILE]...",
            help="SMILES, or one file (.smi, .csv, also .gz); standard input when none.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give each molecule its value; an empty one where the oracle cannot judge."""
    from vgib.data.headers import structure_column
    from vgib.data.records import open_table
    from vgib.oracles import registry

    oracle = registry.get(name)
    with open_table(_molecule_source(inputs or [])) as table:
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
    name: Annotated[str, typer.Argument(help="A learned oracle of `vgib oracles list`, or all.")],
    out: Annotated[Path, typer.Option(help="The folder to write its files to.")] = Path(
        "out/oracles"
    ),
    seed: Annotated[int, typer.Option(help="Seed of the held-out part and of the training.")] = 0,
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


@app.command()
def train(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A table of molecules (.csv, .smi, .sdf), a TU zip or folder, or a catalog name.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to save the model in.")],
    target: Annotated[str | None, typer.Option(help="The column to learn.")] = None,
    classes: Annotated[
        bool, typer.Option("--classes", help="The column holds classes (0, 1, ...), not values.")
    ] = False,
    smiles_column: Annotated[
        str | None, typer.Option(help="The column of structures; found when not given.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="gcn, gat, sage or gin.")] = "gcn",
    bottleneck: Annotated[str, typer.Option(help="vgib, gib, gsat, attention or none.")] = "vgib",
    preset: Annotated[
        str, typer.Option(help="recommended, paper or reference: the settings not given.")
    ] = "recommended",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any one setting, such as epochs=50."),
    ] = None,
    split: Annotated[str, typer.Option(help="random, scaffold or file-order: 85/5/10.")] = "random",
    features: Annotated[str, typer.Option(help="Atom features: rich or element.")] = "rich",
    seed: Annotated[int, typer.Option(help="Seed of the split and of the training.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file to go on from after an interruption.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Train a model, judge it on held-out graphs, and save it with its card."""
    from vgib.data.files import ensure_writable
    from vgib.data.loading import load_graphs, split_graphs
    from vgib.data.molecules import Molecules
    from vgib.estimator import SubgraphRecognizer

    model = SubgraphRecognizer(
        encoder,
        bottleneck,
        preset=preset,
        features=features,
        device=device,
        **{"seed": seed, **_assignments(settings or [])},
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
    )
    if isinstance(loaded, Molecules):
        console.report_rejected(loaded)
        loaded = loaded.graphs
    parts = split_graphs(loaded, split, seed=seed)
    with console.epochs_bar(model.settings().training.epochs) as on_epoch:
        model.fit(
            loaded[parts.train], val=loaded[parts.val], checkpoint=checkpoint, on_epoch=on_epoch
        )
    found = model.evaluate(loaded[parts.test])
    model.save(out, summary=f"{bottleneck} on {source}", metrics=found)
    if as_json:
        console.show_json({"model": str(out), "metrics": found})
        return
    Console().print(console.estimates_table(found))
    say(f"{len(parts.test)} held-out graphs; the model is in {out}")


@app.command()
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
        _molecule_source(inputs or []),
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


@app.command()
def evaluate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A table of molecules (.csv, .smi, .sdf), a TU zip or folder, or a catalog name.",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="A trained model to judge as it is; else new ones, by fold.")
    ] = None,
    folds: Annotated[int, typer.Option(min=3, help="Test folds of a cross-validation.")] = 10,
    target: Annotated[str | None, typer.Option(help="The column to learn.")] = None,
    classes: Annotated[
        bool, typer.Option("--classes", help="The column holds classes (0, 1, ...), not values.")
    ] = False,
    encoder: Annotated[str, typer.Option(help="gcn, gat, sage or gin.")] = "gcn",
    bottleneck: Annotated[str, typer.Option(help="vgib, gib, gsat, attention or none.")] = "vgib",
    preset: Annotated[
        str, typer.Option(help="recommended, paper or reference: the settings not given.")
    ] = "recommended",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any one setting, such as epochs=50."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the training; folds are always the same.")] = 0,
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Judge a trained model on labelled graphs, or a method by k-fold cross-validation."""
    from vgib.data.loading import load_graphs
    from vgib.estimator import SubgraphRecognizer, as_packed
    from vgib.report.folds import summarise
    from vgib.tasks.kfold import cross_validate

    if model is not None:
        judged = SubgraphRecognizer.load(model)
    else:
        options = {"seed": seed, **_assignments(settings or [])}
        judged = SubgraphRecognizer(encoder, bottleneck, preset=preset, **options)
    graphs = load_graphs(
        source,
        target=target,
        target_kind="class" if classes else "value",
        features=judged.features,
        cache=cache,
        mirror=mirror,
        progress=True,
    )
    packed = as_packed(graphs, judged.features)
    if model is not None:
        found: dict[str, Any] = {"metrics": judged.evaluate(packed)}
    else:
        parts = cross_validate(
            judged, packed, folds, on_fold=lambda f: say(f"fold {f['fold'] + 1} of {folds} done")
        )
        found = {"metrics": summarise(parts), "folds": parts}
    if as_json:
        console.show_json(found)
    else:
        Console().print(console.estimates_table(found["metrics"]))


@app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="RECIPE", help="table4, ..., or a .toml file.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Other values, such as epochs=5."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes at once, a core each.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder of records.")] = Path("results"),
    subset: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=A,B", help="Only these cells, such as dataset=MUTAG,DD."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is to do.")] = False,
    mirror: Mirror = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run the jobs of an experiment that have no record yet; stop and go on as you like."""
    from vgib.live import Board, counts, shown
    from vgib.parallel import LocalProcesses
    from vgib.recipes.recipe import assignments, recipe
    from vgib.records import Records

    made = recipe(name)
    jobs = made.jobs(assignments(settings or []), assignments(subset or []))
    records = Records(out / made.name)
    board = Board(made, jobs, records.by_key(), workers)
    if not dry_run:
        from vgib.tasks.runner import run_recipe

        outcomes = run_recipe(
            made, jobs, records, LocalProcesses(workers), mirror=mirror, cache=cache
        )
        with closing(outcomes), shown(board, console.talk) as tell:
            for outcome in outcomes:
                tell(outcome.job, outcome.result)
                if outcome.error is not None:
                    say(f"{outcome.job.key()} failed: {outcome.error}")
    if as_json:
        console.show_json(counts(board))
    else:
        Console().print(board.table())
    if board.failed:
        raise typer.Exit(1)


@app.command()
def report(
    name: Annotated[
        str, typer.Argument(metavar="[RECIPE]", help="A recipe, `all` or `coverage`.")
    ] = "all",
    results: Annotated[Path, typer.Option(help="The folder of records.")] = Path("results"),
    out: Annotated[
        Path | None, typer.Option(help="Where to write .md, .tex and .csv files.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw the tables from the records, beside the paper's numbers; or say what is complete."""
    from vgib.data.files import write_text
    from vgib.recipes import recipe as recipes
    from vgib.records import Records
    from vgib.report import coverage, drawing

    if name == "coverage":
        found = coverage.coverage(results)
        if as_json:
            console.show_json(found)
        else:
            Console().print(console.fields_table(found))
        return
    for chosen in [name] if name != "all" else recipes.names():
        made = recipes.recipe(chosen)
        records = Records(results / made.name)
        drawn = drawing.draw(made, records)
        if out is not None:
            for file, text in drawing.files(made, records, drawn).items():
                write_text(out / file, text)
        if as_json:
            console.show_json({made.name: drawn.summary})
        else:
            typer.echo(drawing.markdown(made, records, drawn))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write the report to.")] = Path(
        "out/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    as_json: Json = False,
) -> None:
    """Train two small models on embedded data and write a report with pictures."""
    from vgib.demo import run_demo

    found = run_demo(out, seed=seed, bar=console.epochs_bar, say=say)
    if as_json:
        console.show_json(found.to_json())
    else:
        typer.echo(f"\nOpen {found.report.resolve()}")


def _molecule_source(inputs: list[str]) -> Path | Iterable[str]:
    """One file, or SMILES as lines; standard input when there is nothing."""
    if not inputs:
        if sys.stdin.isatty():
            raise typer.BadParameter("give SMILES or a file, or pipe SMILES into standard input")
        return _lines(sys.stdin.buffer)
    paths = [Path(item) for item in inputs if _is_there(Path(item))]
    if paths and len(inputs) > 1:
        raise typer.BadParameter("give one file, or SMILES, not both")
    if not paths and len(inputs) == 1 and Path(inputs[0]).suffix in {*SUFFIXES, ".gz"}:
        raise InputError(f"there is no file {inputs[0]!r}")
    return paths[0] if paths else inputs


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a long SMILES is too long for a file name
        return False


def _lines(stream: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise InputError(
                f"standard input, line {number}: not UTF-8 text; name a file to have it unpacked"
            ) from None


def _assignments(settings: list[str]) -> dict[str, Any]:
    """``["epochs=5", "readout=mean"]`` to ``{"epochs": 5, "readout": "mean"}``."""
    found = {}
    for item in settings:
        key, equals, value = item.partition("=")
        if not equals:
            raise typer.BadParameter(f"--set wants KEY=VALUE, such as epochs=50; got {item!r}")
        try:
            found[key] = json.loads(value.lower() if value in ("True", "False") else value)
        except json.JSONDecodeError:
            found[key] = value
    return found
