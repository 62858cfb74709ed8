r"""Which fragments recur among the recognized parts of many molecules, and what goes with them.

For each fragment the molecules in which it was recognized are set against all others:

.. math:: \bar y_1 - \bar y_2 \pm t_{0.975,\,\nu} \sqrt{s_1^2 / n_1 + s_2^2 / n_2}

(B. L. Welch, "The generalization of 'Student's' problem", Biometrika 1947). Means and variances are
kept up while the molecules stream by, so that memory depends on the number of fragments alone, and
that number has a bound.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vgib.data.cells import number
from vgib.data.files import replacing
from vgib.errors import InputError
from vgib.stream.schema import SECOND
from vgib.stream.writers import no_formula

MOST_FRAGMENTS = 100_000
"""Fragments that are counted at once; beyond that the rarest are forgotten."""

FEWEST = 5
"""Molecules on either side below which no interval is given: two that happen to be alike would
seem to be certain."""

MOST_KEPT = 5_000
"""Molecules that are looked through for everything that recurs; that takes some ten seconds."""

EXAMPLES = 5
"""Molecules that are remembered for each fragment: the first that had it."""


@dataclass(frozen=True)
class LedgerEntry:
    """A fragment that recurs.

    Attributes:
        fragment: Its SMILES, with ``*`` where bonds were cut.
        count: The molecules in which it was recognized.
        share: Their part of all molecules.
        missed: So many more there may be, when rare fragments had to be forgotten on the way.
        mean_with: The mean of the property over these molecules.
        mean_without: Its mean over all others; ``None`` when there are none.
        difference: The first less the second.
        low: Lower end of the 95 % interval of the difference, corrected for the number of fragments
            that are compared; ``None`` when one side has fewer than :data:`FEWEST` molecules.
        high: Its upper end.
        lines: The lines of the first few of these molecules in the source.
        names: Their names, or their SMILES where they have none.
        kind: ``part``: recognized; ``group``: a functional group; ``ring``: a ring system.
        called: What a chemist calls it, where it has a name.
        mean_effect: By how much it raises the prediction, where effects were computed.
        pairs: Pairs of molecules of the file that differ in one place, and by this fragment there.
        pair_difference: The mean difference of the property in these pairs, with less without.
    """

    fragment: str
    count: int
    share: float
    missed: int
    mean_with: float
    mean_without: float | None
    difference: float | None
    low: float | None
    high: float | None
    lines: tuple[int, ...]
    names: tuple[str, ...]
    kind: str = "part"
    called: str = ""
    mean_effect: float | None = None
    pairs: int = 0
    pair_difference: float | None = None

    @classmethod
    def compared(
        cls,
        fragment: str,
        inside: "Moments",
        rest: "Moments",
        among: int,
        *,
        missed: int = 0,
        **more: Any,
    ) -> "LedgerEntry":
        """A fragment, one ``among`` so many, by the property inside (with it) and of the rest."""
        low, high = welch(inside, rest, among)
        without = rest.mean if rest.count else None
        return cls(
            fragment=fragment,
            count=inside.count,
            share=inside.count / (inside.count + rest.count),
            missed=missed,
            mean_with=inside.mean,
            mean_without=without,
            difference=None if without is None else inside.mean - without,
            low=low,
            high=high,
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """The entry as plain values, for JSON."""
        return asdict(self)


@dataclass
class Moments:
    """Number, mean and sum of squared deviations, one value after the other."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Counts one more value."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def without(self, part: "Moments") -> "Moments":
        """Number, mean and squares of the values that are left when a part of them is taken out."""
        count = self.count - part.count
        if count == 0:
            return Moments()
        mean = (self.count * self.mean - part.count * part.mean) / count
        between = part.count * count / self.count * (part.mean - mean) ** 2
        return Moments(count, mean, max(0.0, self.squares - part.squares - between))


@dataclass
class _Seen(Moments):
    missed: int = 0
    lines: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class SeenMolecule(NamedTuple):
    """A molecule that was counted; effects are those of its atoms, where they were computed."""

    line: int
    name: str
    smiles: str
    value: float
    effects: tuple[float, ...] = ()


class Ledger:
    """Counts fragments over tables of results, in the order in which they come.

    Args:
        column: The property: ``prediction``, or a column of numbers that is carried through.
        classes: What a classifier predicts. Of two classes the property is then the probability of
            the second; more than two have no mean, and no molecule is counted.
        most: The largest number of fragments to count at once.

    Attributes:
        kept: The molecules, for :func:`vgib.stream.recurring.recurring`; ``None`` when there are
            more than :data:`MOST_KEPT`.
    """

    def __init__(
        self,
        column: str = "prediction",
        *,
        classes: Sequence[int] | None = None,
        most: int = MOST_FRAGMENTS,
    ) -> None:
        self.column = column
        self.classes = classes if column == "prediction" else None
        self.most = most
        self.skipped = 0
        self.kept: list[SeenMolecule] | None = []
        self._all = Moments()
        self._seen: dict[str, _Seen] = {}
        self._forgotten = 0

    @property
    def molecules(self) -> int:
        """How many have been counted."""
        return self._all.count

    def add(self, results: pa.Table) -> None:
        """Counts a table of results; molecules without a value of the property are left out."""
        values = self._values(results)
        names = pc.coalesce(results["id"], results["smiles"]).to_pylist()
        rows = zip(results["line"].to_pylist(), names, values, _fragments(results), strict=True)
        self._keep(results, names, values)
        for line, name, value, found in rows:
            if value is None or not math.isfinite(value):
                self.skipped += 1
                continue
            self._all.add(value)
            for fragment in dict.fromkeys(found):
                self._count(fragment, line, name, value)
        if len(self._seen) > self.most:
            self._forget()

    def _keep(self, results: pa.Table, names: list[str], values: list[float | None]) -> None:
        """Remembers the molecules themselves, as long as they are few."""
        if self.kept is None:
            return
        told = results.select(["line", "smiles", "effects"]).to_pylist()
        for row, name, value in zip(told, names, values, strict=True):
            if value is not None and math.isfinite(value):
                effects = tuple(row["effects"] or ())
                self.kept.append(SeenMolecule(row["line"], name, row["smiles"], value, effects))
        if len(self.kept) > MOST_KEPT:
            self.kept = None

    def _values(self, results: pa.Table) -> list[float | None]:
        if self.classes is None:
            return _numbers(results, self.column)
        if len(self.classes) != 2:
            return [None] * len(results)
        values: list[float | None] = results[SECOND].to_pylist()
        return values

    def _count(self, fragment: str, line: int, name: str, value: float) -> None:
        seen = self._seen.get(fragment)
        if seen is None:
            seen = self._seen[fragment] = _Seen(missed=self._forgotten)
        seen.add(value)
        if len(seen.lines) < EXAMPLES:
            seen.lines.append(line)
            seen.names.append(name)

    def _forget(self) -> None:
        """Drops the rarer half, and remembers how common one of these can have been at most."""
        bounds = sorted(seen.count + seen.missed for seen in self._seen.values())
        self._forgotten = bounds[len(bounds) // 2]
        self._seen = {
            fragment: seen
            for fragment, seen in self._seen.items()
            if seen.count + seen.missed > self._forgotten
        }

    def entries(self, *, at_least: int = 2, most: int = 1000) -> list[LedgerEntry]:
        """The fragments of so many molecules or more, the commonest first."""
        common = [(f, seen) for f, seen in self._seen.items() if seen.count >= at_least and f]
        common.sort(key=lambda item: (-item[1].count, item[0]))
        others = self._all.count
        compared = sum(min(seen.count, others - seen.count) >= FEWEST for _, seen in common[:most])
        return [
            LedgerEntry.compared(
                fragment,
                seen,
                self._all.without(seen),
                max(1, compared),
                missed=seen.missed,
                lines=tuple(seen.lines),
                names=tuple(seen.names),
            )
            for fragment, seen in common[:most]
        ]


def welch(
    first: Moments, second: Moments | None, compared: int = 1
) -> tuple[float | None, float | None]:
    """The 95 % interval of the difference of two means of unequal variance, or of one mean.

    Of several that are ``compared``, all hold at once with that chance (Bonferroni).
    """
    # Imported here: only a run with a ledger need wait for it.
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # ships no types

    sides = [first] if second is None else [first, second]
    if min(side.count for side in sides) < FEWEST:
        return None, None
    shares = [m.squares / (m.count - 1) / m.count for m in sides]
    difference = first.mean - (second.mean if second else 0.0)
    if not sum(shares):
        return difference, difference
    freedom = sum(shares) ** 2 / sum(
        share**2 / (m.count - 1) for share, m in zip(shares, sides, strict=True)
    )
    half = float(stdtrit(freedom, 1 - 0.025 / compared)) * math.sqrt(sum(shares))
    return difference - half, difference + half


def _numbers(results: pa.Table, column: str) -> list[float | None]:
    """The property of each molecule, where it has one."""
    numbers: list[float | None]
    if column not in results.column_names:
        known = ", ".join(results.column_names)
        raise InputError(f"there is no column {column!r} for the ledger; there are {known}")
    cells = results[column]
    if pa.types.is_list(cells.type):
        if column == "prediction":  # of several values the first, which effects are of too
            numbers = pc.list_element(cells, 0).to_pylist()
            return numbers
        raise InputError(
            f"{column!r} holds several values for each molecule; "
            "name a column of single numbers for the ledger"
        )
    if not pa.types.is_string(cells.type):
        numbers = cells.cast(pa.float64()).to_pylist()
        return numbers
    return [_number(text) for text in cells.to_pylist()]


def _number(text: str | None) -> float | None:
    try:
        return number(text or "")
    except InputError:
        return None


def _fragments(results: pa.Table) -> Iterator[Sequence[str]]:
    """The SMILES of the recognized parts of each molecule."""
    for batch in results.select(["subgraphs"]).to_batches():
        lists = batch.column(0)
        texts = lists.flatten().field("smiles").to_pylist()
        start = 0
        for length in pc.list_value_length(lists).to_pylist():
            yield texts[start : start + length]
            start += length


COLUMNS = tuple(entry.name for entry in fields(LedgerEntry))


def write_ledger(path: Path, entries: Sequence[LedgerEntry], *, plain: bool = False) -> None:
    """Writes the ledger as CSV, whole or not at all."""
    write_rows(path, COLUMNS, entries, plain=plain)


def write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Any], *, plain: bool = False
) -> None:
    """Writes values with these attributes as CSV, a row for each, whole or not at all.

    Text that a spreadsheet would take for a formula has a ``'`` before it, unless ``plain``.
    """
    safe: Callable[[str], str] = str if plain else no_formula
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows([safe(_cell(getattr(row, name))) for name in columns] for row in rows)


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(str(part).replace(" ", "_") for part in value)
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)
