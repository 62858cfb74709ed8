"""The page of recognized molecules: a gallery that sorts and searches, then a ledger of fragments.

One file that loads nothing. Molecules are stored as places and bonds, some hundred bytes each, and
drawn by a small script when they come into view, so that thousands of them stay quick.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from heapq import heappush, heappushpop
from html import escape
from importlib.resources import files
from typing import Any

from vgib.chem.draw import OUTLINE, RAMP, SIGNED
from vgib.chem.outline import outline
from vgib.page.html import page, paragraph, section, table

MOST_MOLECULES = 3000
"""In the gallery; of more, a random choice that depends on nothing but their lines."""

MOST_FRAGMENTS = 100
"""In the ledger on the page; the file has more."""

CHANCE = 0.4
"""A stability below which the members agree no more than random halves do, which have a third."""

FULL_COLOR = 0.9
"""The share of molecules whose strongest atom is within the scale of colors."""

MOST_CHANGES = 60
"""Rows of pairs and of substituents on the page; the files have more."""

STYLE = """
.controls { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; align-items: end; margin: 1rem 0; }
.controls label { display: grid; gap: .2rem; font-size: .85rem; color: var(--soft); }
input, select, button { font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; padding: .35rem .6rem; }
.controls :is(input, select, button) { box-sizing: border-box; height: 2.4rem; font-size: .9rem; }
button:not(:disabled), select { cursor: pointer; } button:disabled { opacity: .45; }
:focus-visible { outline: 3px solid #3b82f6; outline-offset: 2px; }
#search { width: min(22rem, 80vw); }
#chip { border-radius: 999px; }
.soft { color: var(--soft); }
.picture { min-height: 232px; align-items: center; }
.picture svg { width: 100%; height: 232px; }
.in line, .out line { stroke-width: 4.5; } .small .in line { stroke-width: 6; }
.in line { stroke: #1a1a1f; } .in text, .in polygon { fill: #1a1a1f; }
.out line { stroke: #747b88; } .out text, .out polygon { fill: #2e3038; }
.picture text, .small text { font: 600 34px system-ui, sans-serif; }
.small { background: #ffffff; border-radius: 8px; width: 150px; height: 96px; }
.small svg { width: 150px; height: 96px; display: block; }
#ledger-table th button { border: 0; background: none; padding: 0; font-weight: 600; }
#ledger-table th[aria-sort=ascending] button::after { content: " ↑"; }
#ledger-table th[aria-sort=descending] button::after { content: " ↓"; }
#ledger-table td { vertical-align: middle; }
#ledger-table td span { white-space: nowrap; }
.interval { width: 120px; height: 16px; display: block; }
.interval .zero { stroke: var(--soft); stroke-dasharray: 2 2; }
.interval .range { stroke: #b4442f; stroke-width: 2.5; } .interval circle { fill: #b4442f; }
.scroll { overflow-x: auto; }
.legend { border: 1px solid var(--line); }
summary { color: var(--soft); cursor: pointer; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .7rem; margin: .3rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
"""

ORDERS = {
    "line": "as in the source",
    "high": "{}, highest first",
    "low": "{}, lowest first",
    "stable": "stability, highest first",
    "unstable": "stability, lowest first",
    "spread": "spread, widest first",
    "size": "atoms, most first",
    "name": "name",
}


NUMBERS = (
    *("line", "id", "smiles", "note", "prediction", "probability", "second_class_probability"),
    "spread",
)
WORDS = ("statement", "why_none", "warnings", "facts")
"""What the page shows of each molecule, where it has it."""


class Gallery:
    """Takes recognized molecules as they come and keeps what the page shows of them."""

    def __init__(self, most: int = MOST_MOLECULES) -> None:
        self.most = most
        self.seen = 0
        self._kept: list[tuple[int, int, dict[str, Any]]] = []

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Rows of plain values, as :func:`vgib.stream.writers.rows_of` gives them.

        Besides, a row may have ``facts``, pairs of a title and a sentence, and each of its parts
        ``facts``, a list of words; they are shown when they are asked for.
        """
        for row in rows:
            self.seen += 1
            item = -_lot(row["line"]), row["line"], row
            if len(self._kept) < self.most:
                heappush(self._kept, item)
            else:
                heappushpop(self._kept, item)

    def molecules(self) -> list[dict[str, Any]]:
        """What the script is told, in the order of the source."""
        kept = sorted(self._kept, key=lambda item: item[1])
        return [_molecule(row) for _, _, row in kept]


def stability_in_words(stability: float) -> str:
    """How far the members choose the same atoms, and whether that is more than chance.

    >>> stability_in_words(0.35), stability_in_words(0.8)
    ('35 % (no better than chance)', '80 %')
    """
    return f"{100 * stability:.0f} %{' (no better than chance)' if stability < CHANCE else ''}"


def _lot(line: int) -> int:
    """A number drawn for a line, always the same one: molecules with low numbers are shown."""
    return int.from_bytes(hashlib.blake2b(str(line).encode(), digest_size=8).digest())


def _molecule(row: dict[str, Any]) -> dict[str, Any]:
    told = {name: _short(row[name]) for name in NUMBERS if row.get(name) is not None}
    told |= {name: row[name] for name in WORDS if row.get(name)}
    if row.get("stability") is not None and row["subgraphs"]:
        told["stability"] = _short(row["stability"])
        told["steady"] = stability_in_words(row["stability"])
    if row.get("effects"):
        told["effects"] = [_short(effect) for effect in row["effects"]]
    return told | {
        "scores": [round(score, 2) for score in row["scores"]],
        "parts": [
            {
                "smiles": part["smiles"],
                "atoms": part["atoms"],
                "score": part["score"],
                "keep": part["keep_ratio"],
                "facts": ", ".join(part.get("facts", ())),
            }
            for part in row["subgraphs"]
        ],
        "drawing": _drawing(row["smiles"]),
    }


def _drawing(smiles: str) -> dict[str, Any]:
    drawn = outline(smiles)
    return {"p": drawn.places, "b": drawn.bonds, "l": drawn.labels}


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def recognized_page(
    title: str,
    lead: str,
    gallery: Gallery,
    ledger: Sequence[dict[str, Any]],
    *,
    about: Sequence[str] = (),
    refused: Sequence[str] = (),
    prediction: str = "prediction",
    measured: str = "prediction",
    changes: Sequence[dict[str, Any]] = (),
    substituents: Sequence[dict[str, Any]] = (),
    unit: str = "",
) -> str:
    """The whole page.

    Args:
        title: Its heading.
        lead: What was done, in a sentence or two.
        gallery: The molecules.
        ledger: Entries of a :class:`vgib.stream.ledger.Ledger`, as plain values.
        about: Further paragraphs, such as what the model is worth.
        refused: What became of records that could not be used, a line each.
        prediction: What the model predicts, in words: the number that effects are about, and that
            molecules are sorted by.
        measured: The property that the ledger compares.
        changes: What pairs of molecules differ in, as plain values of
            :class:`vgib.stream.recurring.Change`.
        substituents: Of series with a common core, as plain values of
            :class:`vgib.stream.recurring.Substituent`.
        unit: Of effects.
    """
    shown = [{**entry, "drawing": _drawing(entry["fragment"])} for entry in ledger[:MOST_FRAGMENTS]]
    molecules = gallery.molecules()
    scale = _scale(molecules)
    told = {
        "property": prediction,
        "ramp": RAMP,
        "signed": SIGNED,
        "scale": scale,
        "outline": f"rgb({_rgb(OUTLINE)})",
        "molecules": molecules,
        "ledger": shown,
    }
    sections = [
        f"<style>{STYLE}</style>",
        *(paragraph(text) for text in about),
        _gallery_section(gallery, bool(shown), prediction, _legend(scale, prediction, unit)),
        _ledger_section(len(ledger), len(shown), measured, unit) if shown else "",
        _changes_section(changes, measured) if changes else "",
        _cores_section(substituents, measured) if substituents else "",
        section("Left out", *(paragraph(line) for line in refused)) if refused else "",
        _script(told),
    ]
    return page(title, lead, sections)


def _scale(molecules: Sequence[dict[str, Any]]) -> float | None:
    """The effect of an atom in full color; ``None`` where effects were not computed.

    One for all pictures, so that they can be compared; a few molecules of very strong effects do
    not fade all others.
    """
    strongest = sorted(max(map(abs, one["effects"])) for one in molecules if one.get("effects"))
    if not strongest:
        return None
    return float(strongest[math.ceil(FULL_COLOR * len(strongest)) - 1]) or 1.0


def _legend(scale: float | None, prediction: str, unit: str) -> str:
    """What the colors of the pictures mean."""
    outlined = "The outline marks the recognized part."
    if scale is None:
        return paragraph(f"Darker atoms have a higher score, from 0 to 1. {outlined}")
    text = (
        f"An orange atom raises the {prediction}, a blue one lowers it, a white one does neither. "
        f"{outlined} Colors mean the same in every picture; full color stands for an effect of "
        f"{scale:.2g} {unit}".rstrip()
    )
    colors = ", ".join(f"rgb({_rgb(color)})" for color in SIGNED)
    bar = f'<span class="legend" style="background: linear-gradient(to right, {colors})"></span>'
    ends = f"\u2212{scale:.2g}", escape(f"+{scale:.2g} {unit}".rstrip())
    return f"{paragraph(f'{text} or more.')}<p>{ends[0]}{bar}{ends[1]}</p>"


def _rgb(color: Sequence[float]) -> str:
    return ",".join(str(round(255 * part)) for part in color)


def _ledger_section(count: int, shown: int, measured: str, unit: str) -> str:
    more = f" The first {shown} of {count} are shown." if count > shown else ""
    unit = f", in {unit}" if unit else ""
    text = paragraph(
        "Recognized parts, functional groups and ring systems that several molecules have, "
        f"wherever in them, and the mean {measured} of the molecules with and without each. The "
        "interval of the difference (Welch) is corrected for the number of fragments: it is 95 % "
        "sure that all of them hold. Effect is what the model ascribes to the fragment"
        f"{unit}; pairs are molecules of the file that differ in it and little else. Fragments "
        "whose interval leaves zero out come first, those of one or two atoms after larger ones, "
        f"and then the largest effect.{more}"
    )
    headings = {
        "fragment": "fragment",
        "count": "molecules",
        "mean_with": "mean with",
        "mean_without": "mean without",
        "difference": "difference",
        "mean_effect": "effect",
        "pair_difference": "pairs",
    }
    head = "".join(
        f'<th scope="col" id="by-{key}"><button type="button">{name}</button></th>'
        for key, name in headings.items()
    )
    table = (
        f'<div class="scroll"><table id="ledger-table"><thead><tr>{head}'
        '<th scope="col">examples</th></tr></thead><tbody id="ledger-rows"></tbody></table></div>'
        f'<button id="all" type="button" hidden>show all {shown} fragments</button>'
    )
    return f'<section id="ledger"><h2>Fragments that recur</h2>{text}{table}</section>'


def _changes_section(changes: Sequence[dict[str, Any]], measured: str) -> str:
    text = paragraph(
        "Pairs of molecules of this file that differ in one place alone. A row reads: so many "
        f"pairs change the first group to the second, and the {measured} changes by so much on "
        "average, with its interval from five pairs on, corrected like those above."
    )
    rows = [
        [
            _group(one["before"]),
            _group(one["after"]),
            str(one["pairs"]),
            _step(one),
            "; ".join(one["names"][:2]),
        ]
        for one in changes[:MOST_CHANGES]
    ]
    found = table(["from", "to", "pairs", "change", "such as"], rows)
    return section("Matched pairs", text, _scrolled(found))


def _scrolled(wide: str) -> str:
    """A table that scrolls by itself where the window is narrower."""
    return f'<div class="scroll">{wide}</div>'


def _group(smiles: str) -> str:
    return "hydrogen" if smiles == "[*:1][H]" else smiles.replace("[*:1]", "*")


def _step(one: dict[str, Any]) -> str:
    told = "" if one["low"] is None else f" [{one['low']:+.2g}, {one['high']:+.2g}]"
    return f"{one['difference']:+.3g}{told}"


def _cores_section(substituents: Sequence[dict[str, Any]], measured: str) -> str:
    text = paragraph(
        "The largest series: molecules with one core, what they have at its open places, and the "
        f"mean {measured} of those that have it."
    )
    rows = [
        [one["core"], one["place"], one["group"], str(one["count"]), f"{one['mean']:.3g}"]
        for one in substituents[:MOST_CHANGES]
    ]
    heads = ["core", "place", "substituent", "molecules", f"mean {measured}"]
    return section("Common cores", text, _scrolled(table(heads, rows)))


def _gallery_section(gallery: Gallery, has_ledger: bool, prediction: str, legend: str) -> str:
    kept = len(gallery._kept)
    if kept < gallery.seen:
        told = (
            f"A random choice of {kept:,} of the {gallery.seen:,} recognized molecules; the other "
            "files hold all."
        )
    elif kept == 1:
        told = "The one recognized molecule."
    else:
        told = f"All {kept:,} recognized molecules."
    text = paragraph(
        f"{told} The search looks at names, lines, structures and fragments as they are written."
    )
    options = "".join(
        f'<option value="{key}">{escape(name.format(prediction))}</option>'
        for key, name in ORDERS.items()
    )
    jump = '<button id="jump" type="button">fragments that recur ↓</button>' if has_ledger else ""
    controls = (
        '<div class="controls" role="search">'
        '<label>Search<input id="search" type="search" autocomplete="off" spellcheck="false">'
        f'</label><label>Order<select id="order">{options}</select></label>'
        f'<button id="chip" type="button" hidden></button>{jump}</div>'
    )
    turning = (
        '<div class="controls"><button id="before" type="button">← previous</button>'
        '<span id="count" aria-live="polite"></span>'
        '<button id="after" type="button">next →</button></div>'
    )
    cards = '<div class="gallery" id="cards"></div>'
    without = (
        "<noscript><p>The gallery needs JavaScript; the tables beside it do not.</p></noscript>"
    )
    return (
        f'<section id="gallery"><h2>Molecules</h2>{text}{legend}{controls}{without}{cards}{turning}'
        "</section>"
    )


def _script(told: dict[str, Any]) -> str:
    data = json.dumps(told, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    code = (files("vgib.page") / "recognized.js").read_text(encoding="utf-8")
    return f'<script type="application/json" id="recognized">{data}</script><script>{code}</script>'


def refusal_line(item: dict[str, Any]) -> str:
    """A refused record in one line."""
    text = item["text"] or item["id"] or ""
    return f"line {item['line']} ({text}): {item['reason']}"
