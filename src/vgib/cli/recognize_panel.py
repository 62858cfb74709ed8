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
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column()
    lines.add_row(card.summary or "prediction", Text(_predicted(row, card)))
    for rank, part in enumerate(row["subgraphs"], 1):
        title = "part" if len(row["subgraphs"]) == 1 else f"part {rank}"
        lines.add_row(title, Text(part["smiles"] or "(no molecule by itself)", style="cyan"))
        lines.add_row("", Text(_share(part, len(row["scores"])), style="dim"))
    if row["stability"] is not None:
        told = f"{row['stability']:.2f} of 1: how far the members choose the same atoms"
        lines.add_row("agreement", told)
    if row["note"]:
        lines.add_row("note", Text(row["note"]))
    name = f"{row['id']}  " if row["id"] else ""
    return Panel(lines, title=Text(name + row["smiles"]), title_align="left", expand=False)


def _predicted(row: dict[str, Any], card: "Card") -> str:
    from vgib.model.results import DIGITS
    from vgib.page.html import short

    if row.get("probability") is not None:
        told = f"class {row['prediction']}, probability {row['probability']:.{DIGITS}g}"
    else:
        told = short(row["prediction"])
    spread = row["spread"]
    if isinstance(spread, float):
        told += f" ± {spread:.2g} over the members"
    unit = card.unit.removeprefix("none, ")
    return f"{told} ({unit})" if unit else told


def _share(part: dict[str, Any], atoms: int) -> str:
    chosen = " ".join(map(str, part["atoms"]))
    share = f"{len(part['atoms'])} of {atoms} atoms"
    return f"{share}, mean score {part['score']}; atoms {chosen}"
