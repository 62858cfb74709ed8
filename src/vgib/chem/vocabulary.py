"""The fixed words in which atoms and bonds are described, independent of any data set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdkit import Chem

from vgib.errors import unknown_name

VERSION = 1
"""Rises whenever a code changes its meaning; model cards store it."""

OTHER = "other"


@dataclass(frozen=True)
class Column:
    """One categorical property: its values in sorted order, then ``other`` where one is needed."""

    name: str
    values: tuple[str, ...]

    @property
    def codes(self) -> dict[str, int]:
        """The code of each value."""
        return {value: code for code, value in enumerate(self.values)}


ELEMENT = Column(
    "element",
    ("B", "Br", "C", "Cl", "F", "H", "I", "N", "O", "P", "S", "Se", "Si", OTHER),
)
DEGREE = Column("degree", (*map(str, range(7)), OTHER))
HYDROGENS = Column("hydrogens", (*map(str, range(5)), OTHER))
CHARGE = Column("charge", ("-2", "-1", "0", "1", "2", OTHER))
AROMATIC = Column("aromatic", ("no", "yes"))
RING = Column("ring", ("no", "yes"))
HYBRIDIZATION = Column("hybridization", ("SP", "SP2", "SP3", "SP3D", "SP3D2", OTHER))
BOND = Column("bond", ("aromatic", "double", "single", "triple", OTHER))


@dataclass(frozen=True)
class Vocabulary:
    """Named columns of atom codes.

    Isotope labels, stereo marks and atom maps change no code: two isotopologues look the same.
    """

    name: str
    columns: tuple[Column, ...]
    version: int = VERSION

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """The number of codes in each column."""
        return tuple(len(column.values) for column in self.columns)


RICH = Vocabulary("rich", (ELEMENT, DEGREE, HYDROGENS, CHARGE, AROMATIC, RING, HYBRIDIZATION))
"""What a chemist reads off a drawing."""

PAPER = Vocabulary("element", (ELEMENT,))
"""The element alone, as in the paper."""

VOCABULARIES = {vocabulary.name: vocabulary for vocabulary in (RICH, PAPER)}


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name, ``"rich"`` or ``"element"``."""
    if name not in VOCABULARIES:
        raise unknown_name("atom features", name, VOCABULARIES)
    return VOCABULARIES[name]


# RDKit objects carry no types, hence Any.
_READ: dict[str, Callable[[Any], object]] = {
    "element": Chem.Atom.GetSymbol,
    "degree": Chem.Atom.GetDegree,
    "hydrogens": Chem.Atom.GetTotalNumHs,
    "charge": Chem.Atom.GetFormalCharge,
    "aromatic": lambda atom: "yes" if atom.GetIsAromatic() else "no",
    "ring": lambda atom: "yes" if atom.IsInRing() else "no",
    "hybridization": Chem.Atom.GetHybridization,
}


def read_atom(atom: Any, words: Vocabulary) -> tuple[int, ...]:
    """The codes of one atom of a sanitized molecule, read property by property."""
    row = []
    for column in words.columns:
        codes = column.codes
        value = str(_READ[column.name](atom))
        row.append(codes[value] if value in codes else codes[OTHER])
    return tuple(row)


def capped_codes(codes: Any, cuts: Any, is_lone: Any, words: Vocabulary) -> Any:
    """Atom codes after ``cuts`` single bonds of each atom were replaced by bonds to hydrogen.

    Degree falls and hydrogens rise by the number of cuts. An atom that is planar only because of
    what was cut off, like the nitrogen of an amide, goes back to sp3: it ``is_lone``, with no
    multiple bond of its own and no neighbor that has one. Nothing else that the codes tell changes
    when no ring and no multiple bond is cut. Arrays of ``[atoms, columns]`` and ``[atoms]``.
    """
    changed = codes.copy()
    for place, column in enumerate(words.columns):
        change = {DEGREE.name: -1, HYDROGENS.name: 1}.get(column.name)
        if change is not None:
            # The code of a number is the number; ``other``, the last code, stays what it is.
            last = len(column.values) - 1
            known = codes[:, place] != last
            moved = (codes[:, place] + change * cuts).clip(0, last)
            changed[:, place][known] = moved[known]
        if column.name == HYBRIDIZATION.name:
            was_planar = codes[:, place] == column.codes["SP2"]
            changed[was_planar & is_lone & (cuts > 0), place] = column.codes["SP3"]
    return changed
