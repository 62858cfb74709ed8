"""Molecules with their atom scores as SD records that other programs read."""

import re
from collections.abc import Mapping, Sequence
from typing import IO, Any

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor

from vgib.chem.mol import parse

SCORE = "score"
"""The name of the atom property; in the file it is ``atom.dprop.score``."""


class SdWriter:
    """Writes SD records to an open text file, one molecule after the other.

    Each atom carries its score in RDKit's way: the tag ``atom.dprop.score`` lists them in the order
    of the atoms, and RDKit's reader gives them back as atom properties.
    """

    def __init__(self, file: IO[str]) -> None:
        self._writer = Chem.SDWriter(file)

    def __enter__(self) -> "SdWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()

    def write(
        self, smiles: str, name: str, scores: Sequence[float], properties: Mapping[str, Any]
    ) -> None:
        """One record: places in the plane, atom scores, and a tag for each property."""
        with rdBase.BlockLogs():
            mol = parse(smiles, max_atoms=10**9).mol
            rdDepictor.Compute2DCoords(mol)
            for atom, score in zip(mol.GetAtoms(), scores, strict=True):
                atom.SetDoubleProp(SCORE, round(float(score), 4))
            Chem.CreateAtomDoublePropertyList(mol, SCORE)
            _shorten(mol, f"atom.dprop.{SCORE}")
            mol.SetProp("_Name", name)
            for key, value in properties.items():
                mol.SetProp(key, str(value))
            self._writer.write(mol)


def _shorten(mol: Chem.Mol, tag: str) -> None:
    """Numbers as a person writes them: RDKit writes 0.0067 as 0.0067000000000000002."""
    if mol.HasProp(tag):
        mol.SetProp(
            tag, re.sub(r"[\d.eE+-]+", lambda found: f"{float(found[0]):g}", mol.GetProp(tag))
        )
