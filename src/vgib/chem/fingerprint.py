"""Molecules as counted circular substructures and a few descriptors: flat arrays for a whole list.

The counts are those of Morgan's algorithm (Rogers and Hahn, "Extended-connectivity fingerprints",
J. Chem. Inf. Model. 2010) without folding: each substructure keeps its 32-bit hash, so that two of
them share a column only when a model says so. Stereo marks change nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.rdMolDescriptors import Properties
from rdkit.Chem.rdmolops import GetFormalCharge

from vgib.chem.mol import Mol, parse
from vgib.errors import InputError

RADIUS = 3

_PROPERTIES = (
    "amw",
    "NumHeavyAtoms",
    "NumHeteroatoms",
    "lipinskiHBA",
    "NumHBD",
    "NumAmideBonds",
    "FractionCSP3",
    "NumRings",
    "NumAromaticRings",
    "NumAromaticHeterocycles",
    "NumSaturatedRings",
    "NumBridgeheadAtoms",
    "labuteASA",
    "tpsa",
    "chi0v",
    "chi1v",
    "kappa1",
    "hallKierAlpha",
)
DESCRIPTORS = (*_PROPERTIES, "formalCharge")
"""Names of the descriptors, as RDKit calls them. Crippen's logP would double the time that a
molecule takes; it is a sum over atom types, which the counts of radius 0 and 1 nearly determine."""

_morgan = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS)
_properties = Properties(_PROPERTIES)


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """The substructures of molecules, row by row, and their descriptors.

    Attributes:
        ids: ``uint32 [entries]``; the substructure's hash, ascending in each row.
        counts: ``uint8 [entries]``; how often it occurs, at most 255.
        indptr: ``int64 [molecules + 1]``; the entries of each row.
        descriptors: ``float32 [molecules, len(DESCRIPTORS)]``, zeros where nothing was read.
        is_valid: ``bool [molecules]``; whether the text is a molecule that can be described.
    """

    ids: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint8]
    indptr: npt.NDArray[np.int64]
    descriptors: npt.NDArray[np.float32]
    is_valid: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.is_valid)

    def dense(self, columns: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
        """The counts of some substructures, ``uint8 [molecules, len(columns)]``.

        ``columns`` are hashes in ascending order; the others are left out.
        """
        table = np.zeros((len(self), len(columns)), dtype=np.uint8)
        if len(columns) and len(self.ids):
            place = np.minimum(np.searchsorted(columns, self.ids), len(columns) - 1)
            is_wanted = columns[place] == self.ids
            row = np.repeat(np.arange(len(self)), np.diff(self.indptr))
            table[row[is_wanted], place[is_wanted]] = self.counts[is_wanted]
        return table


def fingerprints(smiles: Sequence[str]) -> Fingerprints:
    """The fingerprints of a list; what is no molecule has an empty row and is marked as not valid.

    Of a mixture the largest component is described. A structure with open attachment points
    (``*``) or without any atom but hydrogen is not valid.

    >>> found = fingerprints(["CCO", "no molecule"])
    >>> found.is_valid.tolist(), np.diff(found.indptr).tolist()
    ([True, False], [6, 0])
    """
    ids: list[int] = []
    counts: list[int] = []
    ends = [0]
    descriptors = np.zeros((len(smiles), len(DESCRIPTORS)), dtype=np.float32)
    is_valid = np.zeros(len(smiles), dtype=np.bool_)
    for row, text in enumerate(smiles):
        mol = _molecule(text)
        if mol is not None:
            found = _morgan.GetSparseCountFingerprint(mol).GetNonzeroElements()
            ids += found.keys()
            counts += found.values()
            descriptors[row, :-1] = _properties.ComputeProperties(mol)
            descriptors[row, -1] = GetFormalCharge(mol)
            is_valid[row] = True
        ends.append(len(ids))
    return Fingerprints(
        ids=np.array(ids, dtype=np.uint32),
        counts=np.minimum(np.array(counts, dtype=np.int64), 255).astype(np.uint8),
        indptr=np.array(ends, dtype=np.int64),
        descriptors=np.nan_to_num(descriptors, posinf=0, neginf=0),
        is_valid=is_valid,
    )


def _molecule(text: str) -> Mol | None:
    try:
        mol = parse(text, stereo=False).mol
    except InputError:
        return None
    if "*" in text and any(atom.GetAtomicNum() == 0 for atom in mol.GetAtoms()):
        return None
    return mol if mol.GetNumHeavyAtoms() else None
