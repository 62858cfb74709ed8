"""What was recognized in a molecule, for a person at a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pyarrow as pa

    from vgib.model.card import Card


@contextmanager
def panels_on(screen: Console, card: "Card") -> "Iterator[Callable[[pa.Table], None]]":
    """Takes tables of results and shows each molecule in a panel of its own."""
    from vgib.stream.writers import rows_of

    def write(results: "pa.Table") -> None:
        for row in rows_of(results):
            screen.print(panel_of(row, card))

    yield write


def panel_of(row: dict[str, Any], card: "Card") -> Panel:
    """One molecule: what is predicted, how sure the model is, and from which part it follows.

    Args:
        row: What :func:`vgib.stream.writers.rows_of` gives for it.
        card: The model's.
    """
    from vgib.page.recognized import stability_in_words
    from vgib.stream.words import facts, part_facts

    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column()
    lines.add_row(card.summary or "prediction", Text(_predicted(row)))
    for rank, part in enumerate(row["subgraphs"], 1):
        title = "part" if len(row["subgraphs"]) == 1 else f"part {rank}"
        lines.add_row(title, Text(part["smiles"] or "(no molecule by itself)", style="cyan"))
        told = [*part_facts(part, row, card), f"mean score {part['score']}"]
        where = f"; atoms {' '.join(map(str, part['atoms']))}"
        lines.add_row("", Text(", ".join(told) + where, style="dim"))
    if row["why_none"]:
        title = "why this part" if row["subgraphs"] else "no part found"
        lines.add_row(title, Text(row["why_none"]))
    if row["stability"] is not None and row["subgraphs"]:
        steady = stability_in_words(row["stability"])
        lines.add_row("stability", f"{steady}: how far the members choose the same atoms")
    for title, fact in facts(row, card):
        lines.add_row(title, Text(fact))
    for warning in row.get("warnings") or ():
        lines.add_row("careful", Text(f"this molecule {warning}"))
    if row["note"]:
        lines.add_row("note", Text(row["note"]))
    name = f"{row['id']}  " if row["id"] else ""
    return Panel(lines, title=Text(name + row["smiles"]), title_align="left", expand=False)


def _predicted(row: dict[str, Any]) -> str:
    spread = row["spread"]
    told = f"{row['statement']}"
    if not isinstance(spread, float):
        return told
    shown = f"{spread:.2g}" if row.get("probability") is None else f"{100 * spread:.1f} %"
    return f"{told} (\u00b1 {shown} over the members)"
