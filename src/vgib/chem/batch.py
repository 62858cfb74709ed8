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
    written_as_smiles,
)
from vgib.chem.standardize import Standard, standardize
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
        standard: How molecules are made alike first; ``None``: they are read as they are written.
    """

    features: str = "rich"
    mixtures: Mixtures = "largest"
    max_atoms: int = MAX_ATOMS
    is_molblock: bool = False
    keep_mols: bool = False
    standard: Standard | None = None

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
                source, changed = _standard_form(text, how)
                parsed = parse_aloud(
                    source, mixtures=how.mixtures, max_atoms=how.max_atoms, stereo=False
                )
            except InputError as error:
                refused.append((position, str(error)))
                continue
            mols.append(parsed.mol)
            smiles.append(parsed.smiles)
            kept.append(position)
            if note := changed or parsed.note:
                notes.append((position, note))
    return Readings(
        encode(mols, how.features), smiles, kept, refused, notes, mols if how.keep_mols else []
    )


def _standard_form(text: str, how: Reading) -> tuple[str, str]:
    """The SMILES of a structure, in standard form where one is asked for, and what was changed."""
    smiles = (smiles_of_molblock if how.is_molblock else written_as_smiles)(
        text, max_atoms=how.max_atoms
    )
    is_refused = "." in smiles and how.mixtures == "error"
    if how.standard is None or is_refused or not how.standard.may_change(smiles):
        return smiles, ""
    found = standardize(smiles, how.standard, max_atoms=how.max_atoms)
    return (found.smiles, found.sentence) if found.done else (smiles, "")
