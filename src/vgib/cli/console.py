"""How things look in a terminal and in the files that the command line writes."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from vgib.data.files import json_text
from vgib.errors import shortened
from vgib.page.html import counted

if TYPE_CHECKING:  # only for types: the help must not cost the import of torch
    from vgib.data.entries import Entry
    from vgib.data.molecules import Molecules
    from vgib.model.card import Card
    from vgib.oracles.contract import OracleCard

talk = Console(stderr=True)

MOST_REPORTED = 10

ARGUMENTS = "max_atoms|max_record|max_unpacked|smiles_column|id_column|keep_ratio"
"""Arguments that errors name, each an option here too."""


def show_json(values: Any) -> None:
    """Values on standard output; a number that does not exist is ``null``, as JSON has no NaN."""
    sys.stdout.write(json_text(values))


def say(text: str) -> None:
    """A line for the person at the terminal, in the words of the command line."""
    talk.print(in_options(text), highlight=False, markup=False, soft_wrap=True)


def in_options(text: str) -> str:
    """A sentence with options in the place of the arguments of Python.

    >>> in_options("split the molecule or raise max_atoms")
    'split the molecule or raise --max-atoms'
    >>> in_options("raise it with --max-record (max_record in Python)")
    'raise it with --max-record'
    """
    told = re.sub(rf" \((?:{ARGUMENTS}) in Python\)", "", text)
    named = rf"(?<![\w-])(?:{ARGUMENTS}|(?<=with )target)(?!\w)"
    return re.sub(named, lambda found: f"--{found[0].replace('_', '-')}", told)


def entry_fields(entry: "Entry") -> dict[str, Any]:
    """A dataset of the catalog as plain values."""
    fields = asdict(entry)
    known = {key: value for key, value in fields.pop("statistics").items() if value is not None}
    shown = ("name", "about", "kind", "url", "public", "license", "size", "file")
    return {key: fields[key] for key in shown} | {"statistics": known}


def entries_table(entries: "Iterable[Entry]") -> Table:
    """The catalog, a row for each dataset."""
    table = Table("name", "what it is", "download", box=None, header_style="bold")
    for entry in entries:
        size = "none" if entry.kind == "generated" else f"{max(entry.size / 1e6, 0.1):.1f} MB"
        table.add_row(entry.name, entry.about, size)
    return table


def fields_table(fields: dict[str, Any]) -> Table:
    """Names and values, one pair a row."""
    table = Table(show_header=False, box=None)
    for key, value in fields.items():
        inner = (
            ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        table.add_row(f"[bold]{key}", "" if inner is None else str(inner))
    return table


def estimates_table(metrics: dict[str, dict[str, float]]) -> Table:
    """Numbers with their intervals; each control stands below what it controls."""
    from vgib.metrics import in_words

    table = Table("metric", "value", "95 % interval", "n", box=None, header_style="bold")
    for name, value in metrics.items():
        interval = f"{value['low']:.3f} to {value['high']:.3f}"
        style = "dim" if name.startswith("control") else ""
        table.add_row(
            in_words(name), f"{value['value']:.3f}", interval, str(value["n"]), style=style
        )
    return table


def oracles_table(cards: "Iterable[OracleCard]") -> Table:
    """The oracles, a row for each, with the quality to look at first."""
    columns = ("name", "what it is", "unit", "quality, held out", "95 % interval")
    table = Table(*columns, box=None, header_style="bold")
    for card in cards:
        found = card.quality.get(card.headline)
        shown = f"{card.headline} {found.value:.3f}" if found else "computed"
        interval = f"{found.low:.3f} to {found.high:.3f}" if found else ""
        table.add_row(card.name, card.about, card.unit, shown, interval)
    return table


def models_table(cards: "dict[str, Card]") -> Table:
    """The shipped models, a row for each, with the quality to look at first."""
    from vgib.metrics import in_words

    table = Table(box=None, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("what it is, trained on, license")
    table.add_column("quality, held out", no_wrap=True)
    for name, card in cards.items():
        found = card.metrics[card.headline]
        interval = f"{found['low']:.3f} to {found['high']:.3f}"
        about = [card.summary, ", ".join(card.data["sources"]), card.license]
        shown = f"{in_words(card.headline)} {found['value']:.3f}\n[dim]{interval}[/]"
        table.add_row(f"[bold]{name}[/]", "\n[dim]".join(about), shown)
    return table


def write_rows(rows: list[dict[str, Any]]) -> None:
    """Rows as CSV on standard output; nothing where a value does not exist."""
    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def report_rejected(molecules: "Molecules") -> None:
    """Lines that could not be used, and those that were changed: number, text, reason.

    What is to be said of several lines is said once, with the first of them.
    """
    for items, rest in ((molecules.rejected, "that cannot be used"), (molecules.notes, "")):
        times = Counter(message for _, _, message in items)
        first = {item[2]: item for item in reversed(items)}
        told = times.most_common(MOST_REPORTED)
        for message, count in sorted(told, key=lambda one: first[one[0]][0]):
            line, text, _ = first[message]
            where = f"line {line} ({shortened(text)}){and_more(count)}"
            say(f"{where}: {shortened(message, 300)}")
        if rest and (more := len(items) - sum(count for _, count in told)):
            say(f"... and {counted(more, 'more line')} {rest}")


def and_more(count: int) -> str:
    """That the same was said of more lines than the one that is named.

    >>> and_more(1), and_more(2), and_more(1200)
    ('', ' and 1 more line', ' and 1,199 more lines')
    """
    return f" and {counted(count - 1, 'more line')}" if count > 1 else ""


@contextmanager
def epochs_bar(
    epochs: int, title: str = "training"
) -> Iterator[Callable[[dict[str, float]], None]]:
    """A progress bar that is told of each finished epoch."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
    )
    with Progress(*columns, console=talk, transient=True) as progress:
        bar = progress.add_task(title, total=epochs, losses="")

        def advance(epoch: dict[str, float]) -> None:
            losses = f"loss {epoch['loss']:.4f}"
            if "val_loss" in epoch:
                losses += f", validation {epoch['val_loss']:.4f}"
            progress.update(bar, completed=epoch["epoch"], losses=losses)

        yield advance


@contextmanager
def stages_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar that is told of each stage, how much of it is done and of how much."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk, transient=True) as progress:
        bar = progress.add_task("", total=None)

        def advance(stage: str, done: int, total: int | None) -> None:
            if progress.tasks[0].description != stage:
                progress.reset(bar, description=stage)
            progress.update(bar, completed=done, total=total)

        yield advance
