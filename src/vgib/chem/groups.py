"""Functional groups by name, and the bonds inside them that no cut may divide.

A part of a molecule that ends in half a nitro group means nothing to a chemist. The table
``groups.tsv`` names what belongs together, and :func:`group_bonds` finds the bonds inside whole
groups in packed arrays of many molecules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vgib.chem.mol import Mol, as_mol
from vgib.chem.pattern import pattern
from vgib.chem.tables import table_rows
from vgib.chem.vocabulary import BOND, ELEMENT


class GroupPattern(NamedTuple):
    """One row of the table of groups.

    Attributes:
        name: What a chemist calls the group.
        smarts: Which atoms belong to it.
        whole: Whether no cut may divide it. Where the nitrogen of an amide or the like is a ring
            atom, the bond to it may be cut: else the group would swallow the ring.
    """

    name: str
    smarts: str
    whole: bool = True


GROUPS = tuple(
    GroupPattern(name, smarts, not cut) for name, smarts, *cut in table_rows("groups.tsv")
)
"""Every group that is known by name."""


@dataclass(frozen=True)
class FunctionalGroup:
    """A functional group of one molecule.

    Attributes:
        name: What a chemist calls it.
        atoms: Its atoms, ascending.
        whole: Whether no cut may divide it.
    """

    name: str
    atoms: tuple[int, ...]
    whole: bool = True


def functional_groups(mol_or_smiles: Mol | str) -> list[FunctionalGroup]:
    """The functional groups of a molecule, by their first atom.

    Groups of one name that share atoms are one, and a group inside a larger one is not told apart:
    a urea is not two amides as well.

    >>> [(group.name, group.atoms) for group in functional_groups("CC(=O)Nc1ccc([N+](=O)[O-])cc1")]
    [('amide', (1, 2, 3)), ('nitro', (8, 9, 10))]
    """
    mol = as_mol(mol_or_smiles)
    found = [
        (definition, set(match))
        for definition in GROUPS
        for match in mol.GetSubstructMatches(pattern(definition.smarts))
    ]
    places: dict[tuple[str, bool], list[set[int]]] = {}
    for definition, atoms in _outermost(found):
        places.setdefault((definition.name, definition.whole), []).append(atoms)
    groups = [
        FunctionalGroup(name, tuple(sorted(atoms)), whole)
        for (name, whole), sets in places.items()
        for atoms in united(sets)
    ]
    return sorted(groups, key=lambda group: (group.atoms, group.name))


def _outermost(
    found: Sequence[tuple[GroupPattern, set[int]]],
) -> list[tuple[GroupPattern, set[int]]]:
    """The groups that lie in no larger one; a whole one stays if the larger one may be cut."""
    return [
        (row, atoms)
        for row, atoms in found
        if not any(atoms < larger and other.whole >= row.whole for other, larger in found)
    ]


def united(places: Iterable[Iterable[int]]) -> list[set[int]]:
    """The sets, with those that share atoms put together."""
    found: list[set[int]] = []
    for place in places:
        touching = [other for other in found if not other.isdisjoint(place)]
        found = [other for other in found if other not in touching]
        found.append(set(place).union(*touching))
    return found


def group_bonds(
    elements: npt.NDArray[Any],
    bonds: npt.NDArray[Any],
    here: npt.NDArray[np.int64],
    there: npt.NDArray[np.int64],
    in_ring: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Which single bonds lie inside a whole functional group, for many molecules at once.

    It finds in the arrays what the table finds in molecules, a hundred times as fast: the bond
    between two atoms is decided by their elements, their other bonds and whether they are in rings.

    Args:
        elements: ``int [atoms]``, codes of :data:`vgib.chem.vocabulary.ELEMENT`.
        bonds: ``int [edges]``, codes of :data:`vgib.chem.vocabulary.BOND`.
        here, there: ``int [edges]``, the two atoms of each bond; each bond is listed both ways.
        in_ring: ``bool [edges]``, as :func:`vgib.chem.blocks.ring_bonds` gives them.

    Returns:
        ``bool [edges]``; False for bonds that are not single.
    """
    joined = np.zeros(len(bonds), dtype=np.bool_)
    for inner, outer in _rules(elements, bonds, here, there, in_ring):
        joined |= (inner[here] & outer[there]) | (inner[there] & outer[here])
    single: npt.NDArray[np.bool_] = bonds == BOND.codes["single"]
    return joined & single


def _rules(
    elements: npt.NDArray[Any],
    bonds: npt.NDArray[Any],
    here: npt.NDArray[np.int64],
    there: npt.NDArray[np.int64],
    in_ring: npt.NDArray[np.bool_],
) -> tuple[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], ...]:
    """Pairs of kinds of atoms: a bond keeps one of the second kind in the group of the first."""

    def is_of(*symbols: str) -> npt.NDArray[np.bool_]:
        return np.isin(elements, [ELEMENT.codes[symbol] for symbol in symbols])

    def count(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.bincount(here[edges], minlength=len(elements))

    single, double, triple = (bonds == BOND.codes[kind] for kind in ("single", "double", "triple"))
    carbon, nitrogen, oxygen = is_of("C"), is_of("N"), is_of("O")
    sulfur, phosphorus, boron = is_of("S"), is_of("P"), is_of("B")
    halogen = is_of("F", "Cl", "Br", "I")
    degree = count(np.ones_like(single))
    lone, chain = degree == 1, count(in_ring) == 0
    alkyl = carbon & chain & (count(single) == degree)
    alkylator = alkyl & (count(single & is_of("Cl", "Br", "I")[there]) > 0)
    base = (nitrogen | sulfur) & chain
    arm = alkyl & (count(base[there]) > 0) & (count(single & alkylator[there]) > 0)
    methyl = carbon & lone & (count(single) == 1)
    to_oxygen, to_sulfur, to_nitrogen = (
        count(double & kind[there]) > 0 for kind in (oxygen, sulfur, nitrogen)
    )
    alkene = carbon & chain
    alkene = alkene & (count(double & alkene[there]) > 0)
    acyl, amidine = carbon & (to_oxygen | to_sulfur), carbon & to_nitrogen
    cyano = carbon & (count(triple & nitrogen[there]) > 0)
    nitroso, amine = nitrogen & to_oxygen, nitrogen & chain
    oxidized = sulfur & (count(oxygen[there] & lone[there]) > 0)
    trihalo = carbon & (count(single & halogen[there]) >= 3)
    butyl = carbon & (degree == 4) & (count(single & methyl[there]) >= 3)
    return (
        (nitrogen | phosphorus | boron | oxidized, oxygen),
        (oxygen & chain, oxygen & chain),
        (amine, amine),
        (nitrogen, amine & (lone | nitroso)),
        (sulfur & chain, sulfur & chain),
        (oxidized | phosphorus, amine | halogen),
        (phosphorus, sulfur),
        (acyl, oxygen | sulfur | halogen | amine),
        (amidine & chain, oxygen | sulfur | amine),
        (amidine, amine & lone),
        (cyano, oxygen | sulfur | amine),
        (acyl & chain, alkene),
        (trihalo | alkyl, halogen),
        (arm, base | alkylator),
        (butyl, methyl),
    )
