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
    lines.add_row(card.summary or "prediction", Text(_predicted(row)))
    for rank, part in enumerate(row["subgraphs"], 1):
        title = "part" if len(row["subgraphs"]) == 1 else f"part {rank}"
        lines.add_row(title, Text(part["smiles"] or "(no molecule by itself)", style="cyan"))
        lines.add_row("", Text(_share(part, row, card), style="dim"))
    if row["why_none"]:
        title = "why this part" if row["subgraphs"] else "no part found"
        lines.add_row(title, Text(row["why_none"]))
    if row["stability"] is not None and row["subgraphs"]:
        told = f"{100 * row['stability']:.0f} %: how far the members choose the same atoms"
        lines.add_row("stability", told)
    for title, told in _beside(row, card):
        lines.add_row(title, Text(told))
    name = f"{row['id']}  " if row["id"] else ""
    return Panel(lines, title=Text(name + row["smiles"]), title_align="left", expand=False)


def _predicted(row: dict[str, Any]) -> str:
    spread = row["spread"]
    told = f"{row['statement']}"
    if not isinstance(spread, float):
        return told
    shown = f"{spread:.2g}" if row.get("probability") is None else f"{100 * spread:.1f} %"
    return f"{told} (\u00b1 {shown} over the members)"


def _share(part: dict[str, Any], row: dict[str, Any], card: "Card") -> str:
    told = [f"{len(part['atoms'])} of {len(row['scores'])} atoms"]
    words = card.words
    if part["value"] is not None:
        alone = (
            words.value(part["value"])
            if row.get("probability") is None
            else words.class_of(row["prediction"], part["value"])
        )
        told.append(f"alone {alone}")
    if part["effect"] is not None:
        told.append(f"effect {part['effect']:+.2g} {words.effect_unit(card.classes)}".rstrip())
    told.append(f"mean score {part['score']}; atoms {' '.join(map(str, part['atoms']))}")
    return ", ".join(told)


def _share_below(percentile: float) -> str:
    if percentile in (0, 100):
        return "all" if percentile else "none"
    # 99.5 % of the drugs are not all of them.
    return f"{min(max(round(percentile), 1), 99)} %"


def _beside(row: dict[str, Any], card: "Card") -> "Iterator[tuple[str, str]]":
    """What to know before the prediction is trusted."""
    if row.get("interval"):
        low, high = row["interval"]
        yield "nine of ten", f"between {low:.3g} and {high:.3g} {card.words.unit}".rstrip()
    if row.get("percentile") is not None:
        yield "among drugs", f"higher than {_share_below(row['percentile'])} of 217 known drugs"
    for near in (row.get("nearest") or [])[:1]:
        seen = "the same in training" if near["similarity"] == 1 else "nearest in training"
        shown = f" {near['smiles']}" if near["smiles"] else ""
        yield seen, f"similarity {near['similarity']:.2f}, measured {near['measured']:.3g}{shown}"
    if row.get("alerts"):
        yield "alerts", "; ".join(row["alerts"])
    for warning in row.get("warnings") or ():
        yield "careful", f"this molecule {warning}"
    if row["note"]:
        yield "note", row["note"]
