"""What a trained model looks at: ``vgib explain``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vgib.cli import console
from vgib.cli.console import say
from vgib.cli.explain_function import explain_by_function
from vgib.cli.options import (
    Address,
    ByOption,
    Cache,
    Data,
    Encoding,
    Engine,
    Json,
    MaxAtoms,
    MaxRecord,
    MaxUnpacked,
    Mirror,
    RuleOption,
    Structures,
    refuse_given,
)
from vgib.cli.recognize_cluster import chunks_bar, recognize_on_cluster, report_manifest
from vgib.config import DEFAULT_EXPLAINER
from vgib.limits import MAX_ATOMS, PLAIN, FileReading
from vgib.page.html import counted
from vgib.select.policy import Selection

FOR_MODELS = ("model", "method", "keep_ratio", "rule", "by", "fit_on", "target", "pictures")
"""Options that mean nothing for a function of a user's own."""

FOR_FUNCTIONS = ("close", "effects")
"""Options that mean nothing without such a function."""

FOR_CLUSTERS = ("address", "workers", "resume")
"""Options that mean nothing without a cluster."""

NOT_FOR_CLUSTERS = ("target", "limit", "pictures", "mirror", "cache")
"""Options that mean nothing on a cluster."""


def explain(
    context: typer.Context,
    source: Data,
    model: Annotated[
        str,
        typer.Option(
            help="The model to explain: a name of `vgib models`, or the folder of a trained model."
        ),
    ] = "",
    *,
    out: Annotated[
        Path,
        typer.Option(
            help="The folder in which scores, subgraphs, fidelities and the page are written."
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            help="The method that explains: vgib, vgib-counts, vgib-paper, fidelity-gate, "
            "fidelity-each, gib, gsat, gmt-sam, attention, gnnexplainer, pgexplainer, graphmask, "
            "ig, gradcam, occlusion, subgraphx; or a control: vgib-beta0, random, random-connected."
        ),
    ] = DEFAULT_EXPLAINER,
    keep_ratio: Annotated[
        float,
        typer.Option(
            help="The share of a graph's nodes that are chosen as its explanation and drawn."
        ),
    ] = 0.5,
    rule: RuleOption = None,
    by: ByOption = None,
    fit_on: Annotated[
        str | None,
        typer.Option(
            help="The graphs from which a method that is fitted learns. Default: those it explains."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The column of true classes, by which fidelity is measured against the truth too."
        ),
    ] = None,
    smiles_column: Structures = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Explain only the first so many graphs, or lines of a table."),
    ] = None,
    pictures: Annotated[
        int, typer.Option(min=0, help="How many graphs are drawn on the page.")
    ] = 60,
    seed: Annotated[
        int,
        typer.Option(
            help="The seed of a method that learns or samples, and of the random controls."
        ),
    ] = 0,
    engine: Engine = "local",
    address: Address = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --engine ray, how many processes work. Default: one for every core."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --engine ray, go on with a run that was stopped.")
    ] = False,
    mirror: Mirror = None,
    cache: Cache = None,
    encoding: Encoding = PLAIN.encoding,
    max_atoms: MaxAtoms = MAX_ATOMS,
    max_record: MaxRecord = PLAIN.max_record,
    max_unpacked: MaxUnpacked = None,
    as_json: Json = False,
    function: Annotated[
        str | None,
        typer.Option(
            help="A function of yours to explain in the place of a model, as package.module:name. "
            "It takes a list of SMILES and gives numbers; it is imported, and so run."
        ),
    ] = None,
    close: Annotated[
        str,
        typer.Option(
            help="With --function, what a molecule is divided into: groups, parts, rings, brics "
            "or atoms."
        ),
    ] = "groups",
    effects: Annotated[
        str,
        typer.Option(
            help="With --function, how the effect of a part is computed: myerson, shapley or "
            "closing."
        ),
    ] = "myerson",
) -> None:
    """Explain a model's predictions: scores, subgraphs, fidelity with controls, and a page.

    With `--engine ray` a cluster explains any number of molecules, and writes scores and subgraphs
    alone. With `--function` any model of yours is explained: the answer says by how much each part
    of a molecule raises or lowers its value.
    """
    if function is not None:
        refuse_given(context, (*FOR_MODELS, "engine", *FOR_CLUSTERS), "has no use with --function")
        explain_by_function(
            source,
            function,
            out,
            close=close,
            effects=effects,
            smiles_column=smiles_column,
            limit=limit,
            mirror=mirror,
            cache=cache,
            max_atoms=max_atoms,
            how=FileReading(encoding, max_record, max_unpacked),
            seed=seed,
            as_json=as_json,
        )
        return
    refuse_given(context, FOR_FUNCTIONS, "has no use without --function")
    if not model:
        raise typer.BadParameter("give a model by --model, or a function of yours by --function")
    from vgib.chem.standardize import Standard
    from vgib.data.files import check_replaceable, ensure_writable
    from vgib.data.loading import load_graphs
    from vgib.data.molecules import Molecules
    from vgib.data.packed import PackedGraphs
    from vgib.explain.explainer import explainers
    from vgib.explain.report import FILES, explain_graphs, write_explained
    from vgib.model.labels import as_called
    from vgib.model.recognizer import SubgraphRecognizer

    if engine == "ray":
        refuse_given(context, NOT_FOR_CLUSTERS, "has no use with --engine ray")
        from vgib.stream.chunks import SourceReading
        from vgib.stream.explain_work import Explain

        work = Explain(
            model,
            Selection.of(keep_ratio, rule, by or "scores"),
            method=method,
            fit_on=str(Path(fit_on).resolve()) if fit_on and Path(fit_on).exists() else fit_on,
            seed=seed,
            max_atoms=max_atoms,
        )
        work.check()
        with chunks_bar(shown=True) as on_chunk:
            account = recognize_on_cluster(
                Path(source),
                work,
                out,
                SourceReading(smiles_column, how=FileReading(encoding, max_record, max_unpacked)),
                resume=resume,
                workers=workers,
                address=address,
                on_chunk=on_chunk,
            )
        report_manifest(account, out, as_json)
        return
    refuse_given(context, FOR_CLUSTERS, "has no use without --engine ray")
    explainers.get(method)
    check_replaceable(out, FILES)
    ensure_writable(out.absolute().parent)
    explained = SubgraphRecognizer.load(model, single=True)

    def load(place: str, target: str | None = None) -> "PackedGraphs | Molecules":
        return load_graphs(
            place,
            target=target,
            target_kind="class" if explained.card_.task == "classification" else "value",
            smiles_column=smiles_column,
            features=explained.card_.features or "rich",
            labeled=False,
            limit=limit if place == source else None,
            cache=cache,
            mirror=mirror,
            progress=True,
            max_atoms=max_atoms,
            how=FileReading(encoding, max_record, max_unpacked),
            standard=Standard.named(explained.card_.standard),
        )

    graphs = load(source, target)
    if isinstance(graphs, Molecules):
        console.report_rejected(graphs)
        graphs = replace(graphs, graphs=as_called(graphs, explained.card_.words))
    with console.stages_bar() as tell:
        found = explain_graphs(
            explained,
            graphs,
            method,
            keep_ratio=keep_ratio,
            rule=rule,  # type: ignore[arg-type]  # checked there, with a suggestion
            by=by,  # type: ignore[arg-type]
            fit_on=None if fit_on is None else load(fit_on),
            seed=seed,
            tell=tell,
        )
        write_explained(found, out, source=Path(source).name, pictures=pictures, tell=tell)
    if as_json:
        console.show_json({"folder": str(out), **found.metrics})
    else:
        Console().print(console.estimates_table(found.headline()))
    say(f"{counted(found.metrics['graphs'], 'graph')} explained; open {out / 'report.html'}")
