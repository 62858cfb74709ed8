"""Table 3 from its records: every method against one, molecule by molecule."""

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any, Literal

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.cells import SeededCell, begun, recorded
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.statistics import Array, over_seeds, signed, verdict
from vgib.experiments.engine.tables import TextTable, crossed
from vgib.metrics import Estimate

Side = Literal["plus", "minus"]
SIDES: tuple[Side, Side] = ("plus", "minus")
SIGNS = {"plus": "Fidelity+", "minus": "Fidelity-"}
PARTS = {"plus": "without", "minus": "alone"}
"""What each fidelity judges: the rest, and the explanation alone."""

MIDDLE = 0.5
PUBLISHED = {"vgib-paper": "vgib"}
"""The rows whose name differs from the paper's."""


@dataclass(frozen=True)
class FidelityCell(SeededCell):
    """One method on one network of one property, over seeds."""

    target: str
    gnn: str
    method: str

    @property
    def place(self) -> tuple[str, str]:
        """Where methods are compared."""
        return self.target, self.gnn

    @property
    def ratios(self) -> list[float]:
        """The shares of atoms that were kept."""
        return list(self.results[0]["keep_ratios"]) if self.records else []

    @property
    def middle(self) -> int:
        """The place of the share at which methods are compared."""
        return int(np.argmin([abs(own - MIDDLE) for own in self.ratios]))

    def mean(self, read: Callable[[dict[str, Any]], float]) -> float:
        """The mean of a number of the results over seeds; NaN without a record."""
        return float(np.mean([read(result) for result in self.results])) if self.records else nan

    def fidelity(self, side: Side, place: int, judged: str | None = None) -> float:
        """Fidelity at one share: of the network itself, of its ``judge`` or on ``capped`` parts."""
        return self.mean(lambda r: (r if judged is None else r[judged])[side][place])

    def published(self, side: Side) -> float | None:
        """The paper's number, which it gives for one network only."""
        table = paper.numbers("table3").get(PUBLISHED.get(self.method, self.method), {})
        found = table.get(f"fidelity_{side}", {}).get(self.target)
        return None if found is None else float(found)

    @cached_property
    def right(self) -> dict[int, dict[str, Array]]:
        """Where the network is right, by seed and part: ``[shares, molecules]``."""
        return {
            seed: {
                part: np.stack([_bits(row, record["result"]["molecules"]) for row in rows])
                for part, rows in record["result"]["right"].items()
                if part != "whole"
            }
            for seed, record in self.records.items()
        }


def _bits(text: str, count: int) -> Array:
    flags = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=count)
    return flags.astype(np.float64)


def cells(made: Recipe, records: Records) -> list[FidelityCell]:
    """Every cell of the recipe, in its order, with what is recorded of it.

    A row with fewer seeds than the others says so; it is compared over those that both have.
    """
    every = [
        FidelityCell(cell.repeats, cell.records, *cell.place) for cell in recorded(made, records)
    ]
    return begun(every, lambda cell: cell.method, lambda cell: cell.records)


def gains(ours: FidelityCell, other: FidelityCell) -> dict[Side, list[Estimate]]:
    """By how much ours is better at each share, over the same molecules of the same seeds.

    Higher Fidelity+ and lower Fidelity- are better: positive is better in both.
    """
    by_seed = []
    for seed in sorted(ours.records.keys() & other.records.keys()):
        a, b = ours.right[seed], other.right[seed]
        count = min(a["alone"].shape[1], b["alone"].shape[1])
        columns = [
            sign * (a[part][:, :count] - b[part][:, :count])
            for part, sign in ((PARTS["plus"], -1), (PARTS["minus"], 1))
        ]
        by_seed.append(np.concatenate(columns).mean(1))
    found = [over_seeds(column) for column in np.transpose(by_seed)]
    half = len(found) // 2
    return {"plus": found[:half], "minus": found[half:]}


@dataclass(frozen=True)
class Comparison:
    """One other row against ours, at every share on every network where both are recorded."""

    method: str
    side: Side
    gains: list[tuple[tuple[str, str], float, Estimate]]

    @property
    def mean(self) -> float:
        return float(np.mean([gain.value for _, _, gain in self.gains])) if self.gains else nan

    @property
    def verdicts(self) -> Counter[str]:
        """How often ours wins, ties and loses."""
        return Counter(verdict(gain) for _, _, gain in self.gains)


def comparisons(found: Sequence[FidelityCell], ours: str) -> list[Comparison]:
    """Our row against every other, by both fidelities."""
    own = {cell.place: cell for cell in found if cell.method == ours and cell.records}
    compared = []
    for method in dict.fromkeys(cell.method for cell in found if cell.method != ours):
        listed: dict[Side, list[tuple[tuple[str, str], float, Estimate]]] = {
            side: [] for side in SIDES
        }
        for cell in found:
            mine = own.get(cell.place)
            if cell.method == method and mine and mine.records.keys() & cell.records.keys():
                for side, differences in gains(mine, cell).items():
                    pairs = zip(cell.ratios, differences, strict=True)
                    listed[side] += [(cell.place, ratio, gain) for ratio, gain in pairs]
        compared += [Comparison(method, side, listed[side]) for side in SIDES]
    return compared


def draw(made: Recipe, records: Records) -> Drawn:
    """Table 3, and the row that is compared with the others against each of them."""
    found, ours = cells(made, records), str(made.control)
    gnns = list(dict.fromkeys(cell.gnn for cell in found))
    compared = comparisons(found, ours)
    return Drawn(
        [
            compact_table(found),
            comparison_table(compared, ours),
            *(fidelity_table(found, gnn, side) for gnn in gnns for side in SIDES),
            *(other_judges_table(found, gnn) for gnn in gnns),
            network_table(found),
            losses_table(compared, ours),
        ]
    )


def fidelity_table(found: Sequence[FidelityCell], gnn: str, side: Side) -> TextTable:
    """One fidelity of each method on each property, the paper's number beside it."""
    better = "higher" if side == "plus" else "lower"
    title = (
        f"{SIGNS[side]} (against the label) of {gnn} at keep_ratio {MIDDLE:g}, {better} is better; "
        "in brackets the paper's"
    )

    def text(cell: FidelityCell) -> str:
        if not cell.records:
            return "..."
        number = f"{cell.fidelity(side, cell.middle):.3f}"
        published = cell.published(side)
        shown = number if published is None else f"{number} ({published:.3f})"
        return shown + cell.few

    own = ((cell.method, cell.target, text(cell)) for cell in found if cell.gnn == gnn)
    return crossed(title, ["method"], own)


def compact_table(found: Sequence[FidelityCell]) -> TextTable:
    """Both fidelities of every method on every network."""

    def text(cell: FidelityCell) -> str:
        if not cell.records:
            return "..."
        return " / ".join(f"{cell.fidelity(side, cell.middle):.2f}" for side in SIDES) + cell.few

    filled = ((c.method, f"{c.target} {c.gnn.removeprefix('gcn-')}", text(c)) for c in found)
    title = (
        f"Fidelity+ / Fidelity- at keep_ratio {MIDDLE:g}: higher is better in the first number, "
        "lower in the second"
    )
    return crossed(title, ["method"], filled, name="fidelity")


def comparison_table(compared: Sequence[Comparison], ours: str) -> TextTable:
    """Wins, ties and losses of our row over all networks and shares, and the mean gains."""
    rows: dict[str, list[str]] = {}
    for one in compared:
        counts = one.verdicts
        told = f"{counts['win']} / {counts['tie']} / {counts['loss']}"
        rows.setdefault(one.method, []).extend(
            [told, f"{one.mean:+.3f}"] if one.gains else ["", ""]
        )
    title = (
        f"{ours} against every other row: better / tie / worse over networks and shares, paired "
        "over molecules, 95 % intervals over seeds; and the mean gain"
    )
    headers = ("against", "Fidelity+", "gain in Fidelity+", "Fidelity-", "gain in Fidelity-")
    return TextTable(title, headers, [(m, *texts) for m, texts in rows.items()], name="against")


def losses_table(compared: Sequence[Comparison], ours: str) -> TextTable:
    """Every place at which another row is better beyond the interval."""
    rows: list[tuple[str, ...]] = [
        (one.method, SIGNS[one.side], *place, f"{ratio:g}", signed(gain))
        for one in compared
        for place, ratio, gain in one.gains
        if verdict(gain) == "loss"
    ]
    headers = ("row", "measure", "property", "network", "keep_ratio", f"gain of {ours}")
    return TextTable(f"Where another row is better than {ours} beyond the interval", headers, rows)


def other_judges_table(found: Sequence[FidelityCell], gnn: str) -> TextTable:
    """What else is known of the explanations at half size, averaged over properties."""
    title = (
        f"Explanations of {gnn} at keep_ratio {MIDDLE:g}, means over properties: judged by another "
        "network, with features that follow the cut, robust fidelity, F-Fidelity (of a copy that "
        "was fine-tuned on molecules without some atoms), self-consistency (1: the method, shown "
        "its own part, ranks it as before; by chance 0.33), the share of complements predicted as "
        "the other class, time"
    )
    headers = (
        *("method", "judge +", "judge -", "capped +", "capped -", "robust +", "robust -"),
        *("F-Fidelity +", "F-Fidelity -", "self-consistency"),
        *("flipped", "characterization", "ms a molecule", "s to fit", "stability"),
    )
    own = [cell for cell in found if cell.gnn == gnn]
    rows = []
    for method in dict.fromkeys(cell.method for cell in own):
        chosen = [cell for cell in own if cell.method == method and cell.records]
        if chosen:
            rows.append((method, *(_text(value, form) for value, form in _judged(chosen))))
    # What no record has yet is no column.
    seen = [at for at in range(len(headers)) if not rows or any(row[at] for row in rows)]
    rows = [tuple(row[at] for at in seen) for row in rows]
    return TextTable(title, tuple(headers[at] for at in seen), rows, name=f"judges {gnn}")


def _judged(chosen: Sequence[FidelityCell]) -> Iterator[tuple[float, str]]:
    def mean(read: Callable[[FidelityCell], float]) -> float:
        return float(np.mean([read(cell) for cell in chosen]))

    for judged in ("judge", "capped"):
        for side in SIDES:
            yield float(np.mean([c.fidelity(side, c.middle, judged) for c in chosen])), ".3f"
    results = [result for cell in chosen for result in cell.results]
    for how in ("robust", "fine_tuned"):
        for name in SIDES:
            yield _mean_of([result[how][name] for result in results if how in result]), ".3f"
    again = "self_consistency"
    yield _mean_of([result[again] for result in results if again in result]), ".2f"
    yield mean(lambda c: c.mean(lambda r: r["plus_agreement"][c.middle])), ".0%"
    yield mean(_characterization), ".3f"
    yield mean(lambda c: 1e3 * _seconds(c, "per_graph")), ".2f"
    yield mean(lambda c: _seconds(c, "fit")), ".1f"
    yield _mean_of([r["stability"]["jaccard"] for r in results if r["stability"]]), ".2f"


def _mean_of(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else nan


def _characterization(cell: FidelityCell) -> float:
    """The harmonic mean of Fidelity+ and 1 - Fidelity-, by agreement, which lies in [0, 1]."""
    plus = cell.mean(lambda r: r["plus_agreement"][cell.middle])
    rest = 1 - cell.mean(lambda r: r["minus_agreement"][cell.middle])
    return 2 * plus * rest / (plus + rest) if plus > 0 and rest > 0 else 0.0


def _seconds(cell: FidelityCell, name: str) -> float:
    return float(np.mean([record["seconds"][name] for record in cell.records.values()]))


def network_table(found: Sequence[FidelityCell]) -> TextTable:
    """How good the explained networks are, and what needs no structure to be told."""
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for cell in found:
        if cell.records and cell.place not in rows:
            accuracy = cell.mean(lambda r: r["model_test_accuracy"])
            composition = cell.mean(lambda r: r["composition_accuracy"])
            ceiling = 2 * cell.mean(lambda r: r["accuracy"]) - 1
            numbers = (f"{accuracy:.3f}", f"{composition:.3f}", f"{ceiling:.3f}")
            rows[cell.place] = (*cell.place, *numbers)
    title = "The networks: accuracy, that of composition alone, and the ceiling of Fidelity+"
    headers = ("property", "network", "accuracy", "composition alone", "ceiling")
    return TextTable(title, headers, list(rows.values()), name="networks")


def _text(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)
