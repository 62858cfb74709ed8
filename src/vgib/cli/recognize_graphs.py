"""``vgib recognize`` with a model of graphs that are not molecules."""

import sys
from pathlib import Path

import typer

from vgib.cli.console import say
from vgib.limits import FileReading
from vgib.page.html import counted


def is_for_graphs(model: str | Path) -> bool:
    """Whether a model was trained on graphs that are not molecules."""
    from vgib.model.card import Card
    from vgib.model.shipped import find

    return Card.read(find(model)).features is None


def recognize_graphs(
    inputs: list[str],
    model: str | Path,
    outs: list[Path],
    n: int,
    keep_ratio: list[float] | None,
    rule: str | None,
    by: str | None,
    device: str,
    *,
    max_unpacked: int | None,
    as_json: bool,
) -> None:
    """Find the subgraph that decides, in each graph of a TU set, of PyG files or of the catalog."""
    from vgib.data.loading import load_graphs
    from vgib.data.molecules import Molecules
    from vgib.errors import InputError, UnknownNameError
    from vgib.model.recognizer import SubgraphRecognizer
    from vgib.stream.graph_writers import (
        check_outputs,
        json_lines,
        subgraph_table,
        write_recognitions,
    )

    if len(inputs) != 1:
        raise typer.BadParameter(
            "this model was not trained on molecules; give one TU zip or folder, folder of PyG "
            "Data files, or catalog name"
        )
    check_outputs(outs)
    loaded = SubgraphRecognizer.load(model, device=device)
    try:
        how = FileReading(max_unpacked=max_unpacked)
        graphs = load_graphs(inputs[0], labeled=False, progress=True, how=how)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{str(model)!r} was not trained on molecules, and {error}"
        ) from None
    if isinstance(graphs, Molecules):
        raise InputError(
            f"{inputs[0]!r} holds molecules; {str(model)!r} was trained on other graphs"
        )
    found = loaded.recognize(graphs, max(n, 1), keep_ratio=keep_ratio, rule=rule, by=by)
    for path in outs:
        write_recognitions(
            found,
            path,
            title=f"{Path(inputs[0]).name}: which subgraph decides",
            about=loaded.card_.summary,
        )
    if not outs and as_json:
        sys.stdout.write(json_lines(found))
    elif not outs:
        subgraph_table(found).to_csv(sys.stdout, index=False, lineterminator="\n")
    written = f"; wrote {', '.join(map(str, outs))}" if outs else ""
    say(f"{counted(len(found), 'graph')} recognized{written}")
