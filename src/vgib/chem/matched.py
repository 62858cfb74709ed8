"""Matched pairs and common cores: what changes between molecules that are otherwise the same.

Pairs come from single cuts of bonds outside rings (Hussain and Rea, "Computationally efficient
algorithm to identify matched molecular pairs", J. Chem. Inf. Model. 2010; RDKit's rdMMPA), cores
from RDKit's decomposition into a core and its substituents.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple

from rdkit import Chem, rdBase
from rdkit.Chem import rdMMPA
from rdkit.Chem.Scaffolds import MurckoScaffold

from vgib.chem.mol import Mol, as_mol

# By name, since the types that RDKit ships for this module are no valid Python.
_groups: Any = import_module("rdkit.Chem.rdRGroupDecomposition")

MOST_CHANGED = 10
"""Heavy atoms that may differ between the two molecules of a pair."""

MOST_WITH_ONE_REST = 30
"""Molecules with one constant part that are paired with each other."""

SMALLEST_CORE = 9
"""Heavy atoms: a benzene ring is no series."""

FEWEST = 5
"""Molecules of a series."""

MOST_IN_SERIES = 500
SECONDS = 10
"""That the decomposition of one series may take."""

HYDROGEN = "[*:1][H]"
_HEAVY = re.compile(r"Cl|Br|Si|Se|[BCNOPSFI]|[bcnops]")


class MatchedPair(NamedTuple):
    """Two molecules that differ in one part.

    Attributes:
        first, second: The places of the molecules.
        before, after: What the first has where the second has something else, as SMILES.
    """

    first: int
    second: int
    before: str
    after: str


def matched_pairs(mols: Sequence[Mol | str]) -> list[MatchedPair]:
    """Every pair once, with the change that leaves most of the molecules the same.

    >>> matched_pairs(["Fc1ccccc1", "Clc1ccccc1", "CCO"])
    [MatchedPair(first=0, second=1, before='F[*:1]', after='Cl[*:1]')]
    """
    flat = [_flat(mol) for mol in mols]
    whole = {Chem.MolToSmiles(mol): place for place, mol in reversed(list(enumerate(flat)))}
    rests: dict[str, dict[int, str]] = defaultdict(dict)
    for place, mol in enumerate(flat):
        for rest, changed in _cuts(mol):
            rests[rest][place] = changed
    for rest, there in rests.items():
        if (bare := whole.get(_capped(rest))) is not None:
            there[bare] = HYDROGEN
    found: dict[tuple[int, int], MatchedPair] = {}
    size: dict[tuple[int, int], int] = {}
    for rest, there in rests.items():
        members = sorted(there.items())[:MOST_WITH_ONE_REST]
        kept = len(_HEAVY.findall(rest))
        for (first, before), (second, after) in combinations(members, 2):
            pair = first, second
            if before != after and kept > size.get(pair, 0):
                size[pair] = kept
                found[pair] = MatchedPair(first, second, before, after)
    return [found[pair] for pair in sorted(found)]


def _flat(mol_or_smiles: Mol | str) -> Mol:
    mol = Chem.Mol(as_mol(mol_or_smiles))
    Chem.RemoveStereochemistry(mol)
    return mol


def _cuts(mol: Mol) -> Iterator[tuple[str, str]]:
    """The constant and the changed part of each single cut, where the latter is small."""
    for _, sides in rdMMPA.FragmentMol(mol, maxCuts=1, maxCutBonds=50, resultsAsMols=False):
        ordered = sorted(sides.split("."), key=lambda side: len(_HEAVY.findall(side)))
        changed, rest = ordered[0], ordered[-1]
        if len(_HEAVY.findall(changed)) <= MOST_CHANGED:
            yield rest, changed


def _capped(rest: str) -> str:
    """The molecule that has hydrogen where the constant part was cut."""
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(rest.replace("[*:1]", "[H]"))
        return str(Chem.MolToSmiles(mol)) if mol is not None else ""


class CommonCore(NamedTuple):
    """A series: molecules with one core, and what each has at its open places.

    Attributes:
        core: Its SMILES, with ``[*:1]`` and so on at the places that differ.
        members: The places of the molecules.
        groups: Of each open place, ``R1`` and so on, what each member has there.
    """

    core: str
    members: tuple[int, ...]
    groups: dict[str, tuple[str, ...]]


def common_cores(mols: Sequence[Mol | str], most: int = 3) -> list[CommonCore]:
    """The largest series among molecules, by their ring systems with linkers (Murcko scaffolds)."""
    flat = [_flat(mol) for mol in mols]
    scaffolds = [MurckoScaffold.GetScaffoldForMol(mol) for mol in flat]  # type: ignore[no-untyped-call]
    written = [Chem.MolToSmiles(core) for core in scaffolds]
    counts = Counter(
        text for text, core in zip(written, scaffolds, strict=True) if _is_series(core)
    )
    chosen = [text for text, count in counts.most_common(most) if count >= FEWEST]
    found = []
    for text in chosen:
        members = [place for place, one in enumerate(written) if one == text][:MOST_IN_SERIES]
        if (core := _decomposed(text, [flat[place] for place in members])) is not None:
            label, rows, kept = core
            groups = {name: tuple(row[name] for row in rows) for name in rows[0] if name != "Core"}
            varied = {name: each for name, each in groups.items() if len(set(each)) > 1}
            found.append(CommonCore(label, tuple(members[place] for place in kept), varied))
    return found


def _is_series(core: Mol) -> bool:
    return bool(core.GetNumHeavyAtoms() >= SMALLEST_CORE)


def _decomposed(
    core: str, mols: Sequence[Mol]
) -> tuple[str, list[dict[str, str]], list[int]] | None:
    settings = _groups.RGroupDecompositionParameters()
    settings.timeout = SECONDS
    settings.removeHydrogensPostMatch = True
    with rdBase.BlockLogs():
        pattern = Chem.MolFromSmiles(core)
        if pattern is None:
            return None
        work = _groups.RGroupDecomposition(pattern, settings)
        kept = [place for place, mol in enumerate(mols) if work.Add(mol) >= 0]
        if len(kept) < FEWEST or not work.Process():
            return None
        rows = work.GetRGroupsAsRows(asSmiles=True)
    return str(rows[0]["Core"]), [dict(row) for row in rows], kept
