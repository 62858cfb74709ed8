"""What was recognized in graphs that are not molecules: tables, JSON lines, pages with pictures."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from vgib.data.files import replacing
from vgib.errors import InputError
from vgib.model.results import Recognitions
from vgib.page.html import gallery, page, paragraph, section, short, table

PICTURES = 60
SUFFIXES = (".csv", ".html", ".jsonl", ".parquet")
COLUMNS = ("graph", "name", "prediction", "rank", "nodes", "score", "keep_ratio")


def check_outputs(paths: Iterable[Path]) -> None:
    """Refuses files of other kinds, before any work is done."""
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            known = ", ".join(SUFFIXES)
            raise InputError(
                f"{str(path)!r}: results of graphs that are not molecules are written to {known}"
            )


def write_recognitions(
    found: Recognitions, path: Path, *, title: str = "", about: str = ""
) -> None:
    """Writes one file, whole or not at all; its ending says of which kind.

    Args:
        found: What :meth:`vgib.model.recognizer.SubgraphRecognizer.recognize` gave.
        path: ``.csv`` or ``.parquet`` (a row for each subgraph), ``.jsonl`` (a line for each graph,
            with the scores of its nodes) or ``.html`` (pictures of the first graphs).
        title: Of the page.
        about: What the page says of the model.
    """
    check_outputs([path])
    with replacing(path) as temporary:
        kind = path.suffix.lower()
        if kind == ".csv":
            subgraph_table(found).to_csv(temporary, index=False)
        elif kind == ".parquet":
            subgraph_table(found).to_parquet(temporary, index=False)
        else:
            text = json_lines(found) if kind == ".jsonl" else report(found, title, about)
            temporary.write_text(text, encoding="utf-8")


def subgraph_table(found: Recognitions) -> pd.DataFrame:
    """A row for each subgraph of each graph."""
    rows = [
        (
            number,
            one.name,
            short(one.prediction),
            rank,
            " ".join(map(str, part.nodes)),
            round(part.score, 4),
            round(part.keep_ratio, 4),
        )
        for number, one in enumerate(found)
        for rank, part in enumerate(one.subgraphs, 1)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def json_lines(found: Recognitions) -> str:
    """A line for each graph."""
    lines = (json.dumps({"graph": number, **one.to_json()}) for number, one in enumerate(found))
    return "".join(f"{line}\n" for line in lines)


def report(found: Recognitions, title: str, about: str) -> str:
    """A page: what was predicted how often, and pictures of the first graphs."""
    shown = found[:PICTURES]
    of = f"the first {len(shown)} of " if len(shown) < len(found) else ""
    figures = (
        one.figure(f"graph {number}" if one.name is None else one.name)
        for number, one in enumerate(shown)
    )
    parts = [section(f"Pictures: {of}{len(found)} graphs", gallery(figures))]
    counts = Counter(one.prediction for one in found if isinstance(one.prediction, int))
    if counts:
        shares = {
            kind: [
                part.keep_ratio for one in found if one.prediction == kind for part in one.subgraphs
            ]
            for kind in counts
        }
        rows = [
            (str(kind), str(counts[kind]), f"{sum(shares[kind]) / max(len(shares[kind]), 1):.0%}")
            for kind in sorted(counts)
        ]
        parts.insert(0, table(("predicted class", "graphs", "mean share kept"), rows))
    return page(
        title,
        "Darker nodes have a higher score; the outline marks the subgraph that decides.",
        [paragraph(about), *parts] if about else parts,
    )
