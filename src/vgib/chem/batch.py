"""Many SMILES or mol blocks to arrays, with the reason for each that cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from rdkit import rdBase

from vgib.chem.mol import (
    Mixtures,
    Mol,
    MolArrays,
    encode,
    parse_aloud,
    smiles_of_molblock,
)
from vgib.errors import InputError, unknown_name
from vgib.limits import MAX_ATOMS


@dataclass(frozen=True)
class Reading:
    """How structures are read.

    Attributes:
        features: The vocabulary of the atom codes, ``"rich"`` or ``"element"``.
        mixtures: Whether the ``"largest"`` component is kept or a mixture is an ``"error"``.
        max_atoms: The largest number of heavy atoms that is accepted.
        is_molblock: Whether the texts are mol blocks and not SMILES.
        keep_mols: Whether the RDKit molecules are handed out as well, for fragments and pictures.
    """

    features: str = "rich"
    mixtures: Mixtures = "largest"
    max_atoms: int = MAX_ATOMS
    is_molblock: bool = False
    keep_mols: bool = False

    def __post_init__(self) -> None:
        if self.mixtures not in get_args(Mixtures):
            raise unknown_name("treatment of mixtures", self.mixtures, get_args(Mixtures))


@dataclass(frozen=True, eq=False)
class Readings:
    """The molecules that were read from some texts, and why the others were refused.

    Attributes:
        arrays: The molecules that could be read.
        smiles: Their SMILES, with the atoms in the order of the arrays.
        kept: The position of each of them among the texts.
        refused: Position and reason of each other text.
        notes: Position and remark where something was changed.
        mols: The molecules themselves, if they are kept, else empty.
    """

    arrays: MolArrays
    smiles: list[str]
    kept: list[int]
    refused: list[tuple[int, str]]
    notes: list[tuple[int, str]]
    mols: list[Mol]


def read(texts: Sequence[str], how: Reading) -> Readings:
    """Reads each text; what cannot be used is refused with its reason."""
    mols, smiles, kept = [], [], []
    refused: list[tuple[int, str]] = []
    notes: list[tuple[int, str]] = []
    with rdBase.BlockLogs():
        for position, text in enumerate(texts):
            try:
                source = text
                if how.is_molblock:
                    source = smiles_of_molblock(text, max_atoms=how.max_atoms)
                parsed = parse_aloud(
                    source, mixtures=how.mixtures, max_atoms=how.max_atoms, stereo=False
                )
            except InputError as error:
                refused.append((position, str(error)))
                continue
            mols.append(parsed.mol)
            smiles.append(parsed.smiles)
            kept.append(position)
            if parsed.note:
                notes.append((position, parsed.note))
    return Readings(
        encode(mols, how.features), smiles, kept, refused, notes, mols if how.keep_mols else []
    )
