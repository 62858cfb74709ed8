r"""What recurs over all molecules of a file, wherever it was recognized or not.

Recognized parts are looked for as substructures in every molecule; functional groups and ring
systems are counted by name. Of each: the mean effect that the model ascribes to it, the difference
of the property between molecules with and without it, and what pairs say that differ in it. A
property is compared :math:`m` times, so that each interval is one of level
:math:`1 - 0.05 / m` (Bonferroni).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vgib.chem.fragment import fragment
from vgib.chem.groups import functional_groups
from vgib.chem.matched import CommonCore, MatchedPair, common_cores, matched_pairs
from vgib.chem.mol import Mol, as_mol
from vgib.chem.pattern import occurrences
from vgib.chem.rings import ring_systems
from vgib.stream.ledger import (
    EXAMPLES,
    FEWEST,
    LedgerEntry,
    Moments,
    SeenMolecule,
    welch,
    write_rows,
)

MOST_PARTS = 100
"""Recognized parts that are looked for in every molecule, the commonest first."""

PLAIN_CHAIN = re.compile(r"[C*()=#]+")
"""Parts of carbon chains alone: nearly every molecule has them somewhere."""

TRIVIAL = 2
"""Atoms of a fragment that nearly every molecule has somewhere, such as methyl or amine."""

Atoms = frozenset[int]


@dataclass(frozen=True)
class Change:
    """One change that several pairs of molecules have in common.

    Attributes:
        before: What is replaced, with ``[*:1]`` where it is bound; ``[*:1][H]`` is hydrogen.
        after: What stands in its place.
        pairs: How many pairs of molecules differ in this alone.
        difference: The mean of the property after the change less that before it.
        low: Lower end of its interval; ``None`` below five pairs.
        high: Upper end.
        names: The names of the first few pairs.
    """

    before: str
    after: str
    pairs: int
    difference: float
    low: float | None
    high: float | None
    names: tuple[str, ...]


@dataclass(frozen=True)
class Substituent:
    """What some molecules of a series have at one place of their common core.

    Attributes:
        core: The core's SMILES, its open places numbered.
        series: How many molecules have this core.
        place: The open place, such as ``R1``.
        group: What is there, as SMILES.
        count: In how many molecules.
        mean: Their mean of the property.
        names: The names of the first few.
    """

    core: str
    series: int
    place: str
    group: str
    count: int
    mean: float
    names: tuple[str, ...]


class Recurring(NamedTuple):
    """Everything that recurs.

    Attributes:
        entries: Parts, groups and ring systems; see :func:`weightiest` for their order.
        matches: The lines of the molecules that have each entry, by its name or its fragment.
        changes: What pairs of molecules differ in, the commonest first.
        substituents: The largest series with their substituents.
    """

    entries: list[LedgerEntry]
    matches: dict[str, list[int]]
    changes: list[Change]
    substituents: list[Substituent]

    def described(self) -> list[dict[str, Any]]:
        """The entries as plain values, each with the lines of the molecules that have it."""
        return [
            entry.to_json() | {"matches": self.matches.get(entry.called or entry.fragment)}
            for entry in self.entries
        ]


def what_recurs(kept: Sequence[SeenMolecule] | None, counted: Sequence[LedgerEntry]) -> Recurring:
    """What recurs; of very many molecules only the recognized parts, as they were counted."""
    if kept is None:
        return Recurring(weightiest(counted), {}, [], [])
    return recurring(kept, [entry.fragment for entry in counted])


def recurring(seen: Sequence[SeenMolecule], parts: Sequence[str]) -> Recurring:
    """What recurs among molecules.

    ``parts`` are the SMILES of recognized parts, the commonest first.
    """
    mols = [as_mol(one.smiles) for one in seen]
    telling = [part for part in parts if not PLAIN_CHAIN.fullmatch(part)]
    places = _places(mols, telling[:MOST_PARTS])
    pairs = matched_pairs(mols)
    common = {key: there for key, there in places.items() if len(there) > 1}
    compared = sum(min(len(there), len(seen) - len(there)) >= FEWEST for there in common.values())
    entries: list[LedgerEntry] = []
    matches = {}
    for (kind, called), there in common.items():  # those with names come first
        entry = _entry(kind, called, there, seen, mols, pairs, max(1, compared))
        if kind == "part" and entry.fragment in {other.fragment for other in entries}:
            continue  # it goes by its name already
        entries.append(entry)
        matches[called] = [seen[row].line for row in there]
    cores = common_cores(mols)
    changes = _changes(pairs, seen)
    return Recurring(weightiest(entries), matches, changes, list(_substituents(cores, seen)))


def weightiest(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Entries in the order in which a reader wants them.

    Those whose interval leaves zero out come first; of these and of the others, fragments of more
    than two atoms; then the largest effect, or difference where effects were not computed.
    """

    def place(entry: LedgerEntry) -> tuple[bool, bool, float, int, str, str]:
        is_sure = entry.low is not None and entry.high is not None and entry.low * entry.high > 0
        atoms = sum(atom.GetAtomicNum() > 0 for atom in as_mol(entry.fragment).GetAtoms())
        told = entry.difference if entry.mean_effect is None else entry.mean_effect
        size = -abs(told or 0.0)
        return not is_sure, atoms <= TRIVIAL, size, -entry.count, entry.fragment, entry.called

    return sorted(entries, key=place)


def _places(
    mols: Sequence[Mol], parts: Sequence[str]
) -> dict[tuple[str, str], dict[int, list[Atoms]]]:
    """Kind and name of everything that may recur, and its atoms in each molecule."""
    places: dict[tuple[str, str], dict[int, list[Atoms]]] = defaultdict(lambda: defaultdict(list))
    for row, mol in enumerate(mols):
        for group in functional_groups(mol):
            places["group", group.name][row].append(frozenset(group.atoms))
        for ring in ring_systems(mol):
            places["ring", ring.name][row].append(frozenset(ring.atoms))
    for part in parts:
        for row, atoms in occurrences(mols, part):
            places["part", part][row] += atoms
    return places


def _entry(
    kind: str,
    called: str,
    there: Mapping[int, list[Atoms]],
    seen: Sequence[SeenMolecule],
    mols: Sequence[Mol],
    pairs: Sequence[MatchedPair],
    compared: int,
) -> LedgerEntry:
    first = next(iter(there))
    shown = called if kind == "part" else fragment(mols[first], there[first][0]).smiles or called
    inside, rest = Moments(), Moments()
    for row, one in enumerate(seen):
        (inside if row in there else rest).add(one.value)
    differing = [
        seen[pair.first].value - seen[pair.second].value
        if pair.first in there
        else seen[pair.second].value - seen[pair.first].value
        for pair in pairs
        if (pair.first in there) != (pair.second in there)
    ]
    return LedgerEntry.compared(
        shown,
        inside,
        rest,
        compared,
        lines=tuple(seen[row].line for row in list(there)[:EXAMPLES]),
        names=tuple(seen[row].name for row in list(there)[:EXAMPLES]),
        kind=kind,
        called="" if kind == "part" else called,
        mean_effect=_mean_effect(there, seen),
        pairs=len(differing),
        pair_difference=float(np.mean(differing)) if differing else None,
    )


def _mean_effect(there: Mapping[int, list[Atoms]], seen: Sequence[SeenMolecule]) -> float | None:
    """By how much it raises the prediction, over the molecules whose atoms have effects."""
    told = [
        sum(seen[row].effects[atom] for atom in frozenset().union(*atoms))
        for row, atoms in there.items()
        if seen[row].effects
    ]
    return float(np.mean(told)) if told else None


def _changes(pairs: Sequence[MatchedPair], seen: Sequence[SeenMolecule]) -> list[Change]:
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for pair in pairs:
        turned = pair.before > pair.after
        key = (pair.after, pair.before) if turned else (pair.before, pair.after)
        found[key].append((pair.second, pair.first) if turned else (pair.first, pair.second))
    common = {key: each for key, each in found.items() if len(each) > 1}
    compared = max(1, sum(len(each) >= FEWEST for each in common.values()))
    changes = []
    for (before, after), each in common.items():
        steps = Moments()
        for one, other in each:
            steps.add(seen[other].value - seen[one].value)
        low, high = welch(steps, None, compared)
        names = tuple(f"{seen[a].name}/{seen[b].name}" for a, b in each[:EXAMPLES])
        changes.append(Change(before, after, steps.count, steps.mean, low, high, names))
    return sorted(changes, key=lambda one: (-one.pairs, one.before, one.after))


def _substituents(
    cores: Sequence[CommonCore], seen: Sequence[SeenMolecule]
) -> Iterator[Substituent]:
    for core in cores:
        for place, groups in core.groups.items():
            rows: dict[str, list[SeenMolecule]] = defaultdict(list)
            for member, group in zip(core.members, groups, strict=True):
                rows[group].append(seen[member])
            for group, those in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
                mean = float(np.mean([one.value for one in those]))
                names = tuple(one.name for one in those[:EXAMPLES])
                yield Substituent(
                    core.core, len(core.members), place, group, len(those), mean, names
                )


def beside(ledger: Path) -> tuple[Path, Path]:
    """The files of changes and of substituents that a ledger may have beside it."""
    return ledger.with_name(f"{ledger.stem}.pairs.csv"), ledger.with_name(
        f"{ledger.stem}.cores.csv"
    )


def write_beside(ledger: Path, found: Recurring, *, plain: bool = False) -> list[Path]:
    """Writes changes and substituents as CSV beside the ledger, where there are any."""
    written = []
    both: tuple[Sequence[Change | Substituent], ...] = (found.changes, found.substituents)
    for path, rows in zip(beside(ledger), both, strict=True):
        if rows:
            write_rows(path, [field.name for field in fields(rows[0])], rows, plain=plain)
            written.append(path)
    return written
