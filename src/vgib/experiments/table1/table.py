"""Table 1 from its records: every divergence beside the controls of the same size."""

from collections.abc import Callable, Sequence

import numpy as np

from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import signed
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.experiments.table1 import curves
from vgib.experiments.table1.cells import VERSIONS, DivergenceCell, cells
from vgib.metrics import Estimate

LABELED = (
    "Rows that end in -guided or -large are trained on fragments that the judging oracle has "
    "labeled: in the former the predictor chooses the part, in the latter the node scores do"
)
"""What every table says in which such rows stand beside others."""

NEAREST = "vgib-paper"
"""A method that takes the nearest size to the asked one, on the same molecules as the guided."""


def draw(made: Recipe, records: Records) -> Drawn:
    """Table 1 with its figures."""
    found = cells(made, records)
    figures = {
        f"{made.name}_size.svg": curves.size_curves(found),
        f"{made.name}_gap.svg": curves.gap_bars(found),
    }
    return Drawn(tables(found), figures)


def tables(found: Sequence[DivergenceCell]) -> list[TextTable]:
    """The share of the gap that is closed, then everything, for each version and property."""
    places = list(dict.fromkeys((cell.version, cell.target) for cell in found))
    drawn = []
    for version in dict.fromkeys(version for version, _ in places):
        own = [cell for cell in found if cell.version == version]
        drawn += [
            rule_table(own, version),
            rings_table(own, version),
            gap_table(own, version, "half", "at half size"),
            gap_table(own, version, "over_sizes", "on average over sizes 0.2 to 0.9"),
        ]
        if new := [c for c in own if c.records and all("new" in r for r in c.results)]:
            drawn.append(new_table(new, version))
    for place in places:
        own = [cell for cell in found if (cell.version, cell.target) == place]
        drawn += [paper_rule_table(own), ring_table(own)]
        drawn.append(curve_table(own))
    return drawn


def rule_table(found: Sequence[DivergenceCell], version: str) -> TextTable:
    """Table 1 as the paper draws it, with the kept share without which it means nothing."""
    title = (
        f"Table 1, {VERSIONS[version]}, by the paper's rule: divergence, mean ± spread over "
        "molecules, and the share of the atoms kept; in brackets the paper's mean. Lower is better "
        "at the same share"
    )
    return by_property(title, found, _rule_text, [grown_row(found)], f"rule {version}")


def rings_table(found: Sequence[DivergenceCell], version: str) -> TextTable:
    """The same molecules with whole rings, at the largest size that keeps at most half of them."""
    title = (
        f"No ring cut, {VERSIONS[version]}: divergence, mean ± spread over molecules, of the "
        "largest of the sizes asked for that keeps at most half of the atoms, and the share kept. "
        f"{LABELED}"
    )
    return by_property(title, found, _rings_text, [whole_ring_row(found)], f"rings {version}")


def gap_table(found: Sequence[DivergenceCell], version: str, part: str, where: str) -> TextTable:
    """How much of the way from random to the best is gone."""
    title = (
        f"Share of the gap between random and best ring-intact parts that is closed {where}, "
        f"{VERSIONS[version]}; 0 is chance, 100 % the best there is [95 % over seeds]. {LABELED}"
    )
    return by_property(
        title,
        found,
        lambda cell: percent(cell.gap_closed(part)),
        offered_rows(found, part),
        f"gap {part} {version}",
    )


def new_table(found: Sequence[DivergenceCell], version: str) -> TextTable:
    """What is left of the gap closed when parts that were trained on are taken away."""
    title = (
        f"Share of the parts at half size that are among the labeled training fragments, and the "
        f"gap closed when the choice is among the other parts alone, {VERSIONS[version]}"
    )

    def text(cell: DivergenceCell) -> str:
        known = cell.mean("new", "known_share")
        return f"{known:.0%} known; {percent(cell.gap_closed('new'))} among the others"

    return by_property(title, found, text, [], f"new {version}")


def offered_rows(found: Sequence[DivergenceCell], part: str) -> list[tuple[str, ...]]:
    """Guided methods once more, among parts of exactly their size, and all that were offered."""
    names = list(dict.fromkeys(cell.target for cell in found))
    rows: dict[str, dict[str, str]] = {}
    for cell in found:
        if cell.rule != "guided" or not cell.records:
            continue
        nearest = (c for c in found if c.target == cell.target and c.method == NEAREST)
        other = next(nearest, None)
        if (same := cell.gap_closed_at_own_size(part)) is not None:
            title = f"{cell.method}, exactly as many atoms"
            rows.setdefault(title, {})[cell.target] = percent(same) + cell.few
        if other and other.records:
            title = f"{cell.method}, one atom more allowed"
            among = percent(cell.gap_closed_among(other, part))
            rows.setdefault(title, {})[cell.target] = among + cell.few
    return [(title, *(texts.get(name, "...") for name in names)) for title, texts in rows.items()]


def by_property(
    title: str,
    found: Sequence[DivergenceCell],
    text: Callable[[DivergenceCell], str],
    last: Sequence[tuple[str, ...]],
    table_name: str,
) -> TextTable:
    """Methods down, properties across; a cell with some seeds missing says so."""
    filled = (
        (cell.method, cell.target, text(cell) + cell.few if cell.records else "...")
        for cell in found
    )
    return crossed(title, ["method"], filled, missing="...", last=last, name=table_name)


def grown_row(found: Sequence[DivergenceCell]) -> tuple[str, ...]:
    """The control that the paper lacks: a random connected half, from any record."""

    def text(cell: DivergenceCell) -> str:
        half = int(np.argmin(np.abs(np.array(cell.curve("keep")) - 0.5)))
        kept = cell.grown_curve("kept_share")[half]
        return f"{cell.grown_curve('divergence')[half]:.3f}, {kept:.0%} kept"

    return ("random connected half", *_from_any_record(found, text))


def whole_ring_row(found: Sequence[DivergenceCell]) -> tuple[str, ...]:
    """A random part of whole rings, at the sizes of a method that takes the nearest one."""

    def text(cell: DivergenceCell) -> str:
        at = cell.up_to_half()
        return f"{cell.curve('random')[at]:.3f}, {cell.curve('kept_share')[at]:.0%} kept"

    by_scores = [cell for cell in found if cell.rule != "guided"]
    return ("random ring-intact", *_from_any_record(by_scores, text))


def _from_any_record(
    found: Sequence[DivergenceCell], text: Callable[[DivergenceCell], str]
) -> list[str]:
    """A control of each property, which is the same in the records of every method."""
    names = dict.fromkeys(cell.target for cell in found)
    some = (next((c for c in found if c.target == name and c.records), None) for name in names)
    return ["..." if cell is None else text(cell) for cell in some]


def paper_rule_table(found: Sequence[DivergenceCell]) -> TextTable:
    """One property with the paper's rule: every number and its controls."""
    title = f"{_place(found)}, the paper's rule (score of one half or fixed share, largest part)"
    headers = (
        *("method", "divergence", "the paper", "kept", "connected before repair", "valid"),
        *("not judged", "random atoms", "random connected", "less random connected [95 %]"),
        "less random ring-intact [95 %]",
    )
    return TextTable(title, headers, [_paper_rule_row(cell) for cell in found])


def _paper_rule_row(cell: DivergenceCell) -> tuple[str, ...]:
    if not cell.records:
        return (cell.method, "...", *[""] * 9)
    return (
        cell.method,
        f"{cell.mean('paper', 'divergence'):.3f} ± {cell.spread('paper'):.2f}" + cell.few,
        "" if cell.published is None else f"{cell.published[0]:.2f} ± {cell.published[1]:.2f}",
        cell.kept("paper"),
        f"{cell.mean('paper', 'connected_share'):.0%}",
        f"{cell.mean('paper', 'valid_share'):.1%}",
        f"{cell.mean('paper', 'not_judged'):.0f}",
        f"{cell.mean('paper', 'random_atoms'):.3f}",
        f"{cell.mean('paper', 'random_connected'):.3f}",
        signed(cell.difference("paper", "each_connected")),
        signed(cell.difference("paper")),
    )


def ring_table(found: Sequence[DivergenceCell]) -> TextTable:
    """One property with whole rings, at the size that the scores set and at one half."""
    title = f"{_place(found)}, no ring cut: at the method's own size, then at half size"
    headers = (
        *("method", "divergence", "kept", "random", "best", "less random [95 %]"),
        *("at half: divergence", "at half: kept", "at half: random", "at half: best"),
        *("at half: less random [95 %]", "at half: gap closed [95 %]"),
    )
    return TextTable(title, headers, [_ring_row(cell) for cell in found])


def _ring_row(cell: DivergenceCell) -> tuple[str, ...]:
    if not cell.records:
        return (cell.method, "...", *[""] * 10)

    def numbers(part: str) -> tuple[str, ...]:
        return (
            f"{cell.mean(part, 'divergence'):.3f} ± {cell.spread(part):.2f}" + cell.few,
            cell.kept(part),
            f"{cell.mean(part, 'random'):.3f}",
            f"{cell.mean(part, 'best'):.3f}",
            signed(cell.difference(part)),
        )

    own, half = numbers("ring_intact"), numbers("half")
    return (cell.method, *own, *half, percent(cell.gap_closed("half")))


def curve_table(found: Sequence[DivergenceCell]) -> TextTable:
    """Divergence less that of random ring-intact parts, at each size."""
    recorded = [cell for cell in found if cell.records]
    keeps = recorded[0].curve("keep") if recorded else []
    headers = ("method", *(f"{keep:.1f}" for keep in keeps))
    title = f"{_place(found)}: divergence less that of random ring-intact parts, by share kept"
    rows: list[tuple[str, ...]] = []
    for cell in recorded:
        gains = np.subtract(cell.curve("divergence"), cell.curve("random"))
        rows.append((cell.method, *(f"{gain:+.3f}" for gain in gains)))
    return TextTable(title, headers, rows)


def percent(share: Estimate) -> str:
    """``79 % [70, 88]``; one seed has no interval, and nothing between random and best no share."""
    if not np.isfinite(share.value):
        return "..."
    if not np.isfinite([share.low, share.high]).all():
        return f"{round(100 * share.value)} %"
    value, low, high = (round(100 * number) for number in (share.value, share.low, share.high))
    return f"{value} % [{low}, {high}]"


def _rule_text(cell: DivergenceCell) -> str:
    published = "" if cell.published is None else f" ({cell.published[0]:.2f})"
    mean, spread = cell.mean("paper", "divergence"), cell.spread("paper")
    return f"{mean:.3f} ± {spread:.2f}, {cell.kept('paper')} kept{published}"


def _rings_text(cell: DivergenceCell) -> str:
    at = cell.up_to_half()
    mean, spread, kept = (cell.curve(name)[at] for name in ("divergence", "spread", "kept_share"))
    return f"{mean:.3f} ± {spread:.2f}, {kept:.0%} kept"


def _place(found: Sequence[DivergenceCell]) -> str:
    return f"{found[0].target.upper()}, {VERSIONS[found[0].version]}"
