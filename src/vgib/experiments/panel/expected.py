"""The panel: which part of a textbook molecule is expected, and whether a found part holds it."""

import csv
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from vgib.chem.pattern import matches

PanelGroup = Literal["mutagen", "d2", "soft spot"]


@dataclass(frozen=True)
class Expected:
    """A molecule of the panel, and the part that explains its property by common knowledge.

    Attributes:
        group: What the part explains: mutagenicity in the Ames test (``"mutagen"``), binding to the
            dopamine D2 receptor (``"d2"``), or metabolism in the liver (``"soft spot"``).
        kind: The class of the part, such as ``"nitroaromatic"``.
        name: The molecule's usual name.
        smiles: The molecule, in RDKit's canonical form.
        part: The expected part in words.
        smarts: The expected part as a pattern.
        source: What the entry rests on.
    """

    group: PanelGroup
    kind: str
    name: str
    smiles: str
    part: str
    smarts: str
    source: str

    def places(self) -> list[frozenset[int]]:
        """The atoms of the expected part, once for each place where the molecule has it."""
        return [frozenset(found) for found in matches(self.smiles, self.smarts)]

    def lies_inside(self, atoms: Collection[int] | None) -> bool:
        """Whether a found part holds every atom of the expected one, at any of its places.

        ``None``, for "no part found", holds nothing.
        """
        return atoms is not None and any(place <= set(atoms) for place in self.places())


@cache
def read_panel(*, further: bool = False) -> tuple[Expected, ...]:
    """The sixty molecules, in the order of the file beside this module.

    ``further`` gives sixty others, which were written down to check rules that had been made with
    the first ones in view.
    """
    name = "further.csv" if further else "molecules.csv"
    text = files("vgib.experiments.panel").joinpath(name).read_text(encoding="utf-8")
    return tuple(
        Expected(group=cast(PanelGroup, row.pop("group")), **row)  # a test checks the names
        for row in csv.DictReader(text.splitlines())
    )
