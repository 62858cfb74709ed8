"""The subgraph of each molecule: ``vgib recognize``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.options import (
    Address,
    ByOption,
    Device,
    Encoding,
    Engine,
    Json,
    MaxAtoms,
    MaxRecord,
    MaxUnpacked,
    RuleOption,
    Structures,
    engine_of,
    molecule_source,
    refuse_given,
)
from vgib.cli.recognize_cluster import (
    chunks_bar,
    is_folder,
    recognize_on_cluster,
    report_manifest,
)
from vgib.cli.recognize_graphs import is_for_graphs, recognize_graphs
from vgib.cli.recognize_panel import panels_on
from vgib.errors import shortened
from vgib.limits import MAX_ATOMS, PLAIN, FileReading
from vgib.page.html import counted
from vgib.select.policy import Selection

if TYPE_CHECKING:
    from vgib.stream.engine import Tally


NOT_FOR_FOLDERS = ("ledger", "measured", "pictures", "picture_format", "plain_cells")
"""What is not written where a cluster writes a folder of Parquet parts."""

NOT_FOR_GRAPHS = (
    *("single", "fast", "resume", "engine", "address", "workers", "format"),
    *("smiles_column", "id_column", "carry", "encoding", "max_atoms", "max_record"),
    *NOT_FOR_FOLDERS,
)
"""What there is for molecules alone."""


def recognize(
    context: typer.Context,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SMILES|FILE]...",
            help="The molecules: SMILES, InChI or names of well-known drugs; or one file (.csv, "
            ".tsv, .xlsx, .smi, .sdf, .mol, .parquet, also .gz). Default: standard input.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="The model to ask: a name of `vgib models`, or the folder of a trained model."
        ),
    ] = "mutagenicity",
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file to write: .csv, .parquet, .jsonl, .sdf or .html; may be repeated. "
            "Default: standard output, as panels in a terminal and as CSV when piped."
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option(
            "-n",
            min=0,
            help="How many parts to list at each size; 0 gives atom scores alone and is fastest.",
        ),
    ] = 1,
    keep_ratio: Annotated[
        list[float] | None,
        typer.Option(
            help="The share of the atoms that a part has; may be repeated. Default: the size of a "
            "small part that suffices; of other graphs, the nodes that score at least 0.5."
        ),
    ] = None,
    rule: RuleOption = None,
    by: ByOption = None,
    single: Annotated[
        bool,
        typer.Option(
            "--single",
            help="Ask one network instead of all members: faster, but without spread and "
            "stability.",
        ),
    ] = False,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast",
            help="Give predictions, scores and parts alone, without effects, intervals, alerts and "
            "neighbors: for hundreds of thousands of molecules.",
        ),
    ] = False,
    smiles_column: Structures = None,
    id_column: Annotated[
        str | None,
        typer.Option(help="The column that names the molecules. Default: found by its own name."),
    ] = None,
    carry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column to copy to the results; may be repeated. Default: all columns, on a "
            "cluster none.",
        ),
    ] = None,
    format: Annotated[
        Literal["smi", "csv", "tsv", "sdf", "parquet", "xlsx"] | None,
        typer.Option(help="The format of the input, where its name does not tell it."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="A .csv file to write about fragments that recur: how often each does, and the "
            "mean of a property with and without it."
        ),
    ] = None,
    measured: Annotated[
        str,
        typer.Option(
            "--property",
            metavar="COLUMN",
            help="The column of numbers whose means the ledger compares.",
        ),
    ] = "prediction",
    pictures: Annotated[
        Path | None, typer.Option(help="A folder in which a picture of each molecule is written.")
    ] = None,
    picture_format: Annotated[
        Literal["svg", "png"], typer.Option(help="The format of the files of --pictures.")
    ] = "svg",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a run of the same command that was stopped."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many processes work, on a core each. Default: 1; on Ray, every core."
        ),
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    device: Device = "cpu",
    plain_cells: Annotated[
        bool,
        typer.Option(
            "--plain-cells",
            help="Write text that begins with = + - or @ as it is, without the quote that keeps "
            "spreadsheets from running it.",
        ),
    ] = False,
    encoding: Encoding = PLAIN.encoding,
    max_atoms: MaxAtoms = MAX_ATOMS,
    max_record: MaxRecord = PLAIN.max_record,
    max_unpacked: MaxUnpacked = None,
    as_json: Json = False,
) -> None:
    """Find the part of each molecule that carries a property.

    Each molecule gets a prediction with its spread over the members of the model; a small part
    from which the model still predicts the same, as a fragment with attachment points, or the
    reason why there is none; a score and a signed effect for each atom; and what to know before
    you trust them.

    **Examples**

    - One molecule: `vgib recognize "CC(=O)Oc1ccccc1C(=O)O"`

    - A table to a page with gallery: `vgib recognize drugs.csv --model hlm --out drugs.html`

    - Several files at once: `vgib recognize in.sdf.gz --out a.parquet --out a.sdf --ledger l.csv`

    - Half of the atoms, three choices: `vgib recognize in.smi --keep-ratio 0.5 -n 3 --json`

    - A million molecules, two cores: `vgib recognize big.smi.gz --out big.parquet --workers 2`,
      and when it was stopped, the same with `--resume`

    - Graphs that are not molecules, by a model of such graphs: `vgib recognize MUTAG.zip --model
      mutag --out mutag.html`

    - A folder of files on a cluster, to Parquet parts: `vgib recognize molecules/ --engine ray
      --out recognized`

    Lines that cannot be used are written to OUT.rejected.csv, with the reason.
    """
    from vgib.stream.chunks import SourceReading
    from vgib.stream.run import Writing, recognize_source
    from vgib.stream.work import Recognize
    from vgib.stream.writers import standard_output

    if is_for_graphs(model):
        refuse_given(context, NOT_FOR_GRAPHS, "has no use with a model of graphs")
        recognize_graphs(
            inputs or [],
            model,
            out or [],
            n,
            keep_ratio,
            rule,
            by,
            device,
            max_unpacked=max_unpacked,
            as_json=as_json,
        )
        return
    work = Recognize(
        model,
        Selection.of(keep_ratio or None, rule, by, max(1, n)),
        scores_only=n == 0,
        max_atoms=max_atoms,
        details=n > 0 and not fast,
        single=single,
        device=device,
    )
    work.check()
    outs = tuple(out or ())
    how = FileReading(encoding, max_record, max_unpacked)
    reading = SourceReading(
        smiles_column, id_column, tuple(carry) if carry else None, format, how=how
    )
    if engine == "ray" and is_folder(outs):
        refuse_given(context, NOT_FOR_FOLDERS, "is for files, and --out names a folder")
        with chunks_bar(shown=True) as on_chunk:
            account = recognize_on_cluster(
                molecule_source(inputs or []),
                work,
                outs[0],
                reading,
                resume=resume,
                workers=workers,
                address=address,
                on_chunk=on_chunk,
            )
        report_manifest(account, outs[0], as_json)
        return
    alone = engine == "local" and workers in (None, 1)
    screen = Console()
    is_for_people = screen.is_terminal and not as_json
    printed = (
        panels_on(screen, work.card)
        if is_for_people
        else standard_output(as_json, plain=plain_cells)
    )
    with printed as stream, chunks_bar(shown=bool(outs)) as on_chunk:
        tally = recognize_source(
            molecule_source(inputs or []),
            work,
            Writing(
                outs,
                None if outs else stream,
                pictures,
                picture_format,
                ledger,
                measured,
                plain_cells,
            ),
            reading,
            resume=resume,
            engine=None if alone else engine_of(engine, workers, address),
            on_chunk=on_chunk,
        )
    _report(tally)
    say(f"{counted(tally.recognized, 'molecule')} recognized, {tally.refused:,} refused")
    if outs:
        beside = f"; refused lines in {tally.rejected_file}" if tally.refused else ""
        say(f"wrote {', '.join(map(str, outs))}{beside}")


def _report(tally: "Tally") -> None:
    """The first lines that could not be used, and those of which a part was used."""
    for item in tally.first_refused:
        shown = shortened(item["text"] or item["id"] or "")
        say(f"line {item['line']} ({shown}): {item['reason']}")
    if (more := tally.refused - len(tally.first_refused)) > 0:
        say(f"... and {more} more lines that cannot be used")
    said = set()
    for item in tally.first_notes:
        if item["note"] not in said:
            said.add(item["note"])
            say(f"line {item['line']}{console.and_more(tally.notes[item['note']])}: {item['note']}")
