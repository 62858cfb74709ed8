"""Properties that RDKit computes from a structure alone."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rdkit import Chem, rdBase
from rdkit.Chem.Descriptors import CalcMolDescriptors
from rdkit.Chem.QED import qed as quantitative_drug_likeness

from vgib.chem.mol import as_mol, whole
from vgib.errors import InputError


def qed(smiles: Sequence[str]) -> npt.NDArray[np.float64]:
    """The quantitative estimate of drug-likeness, in [0, 1]; NaN for what cannot be judged.

    Bickerton et al., "Quantifying the chemical beauty of drugs", Nature Chemistry 2012.

    >>> qed(["CC(=O)Oc1ccccc1C(=O)O", "no molecule"]).round(2)
    array([0.55,  nan])
    """
    with rdBase.BlockLogs():
        return np.array([_qed(text) for text in smiles], dtype=np.float64)


def _qed(smiles: str) -> float:
    try:
        # RDKit checks the valences of the finished molecule again, and some kinds of bonds fail.
        return float(quantitative_drug_likeness(whole(smiles)))  # type: ignore[no-untyped-call]
    except (InputError, Chem.MolSanitizeException):
        return float("nan")


def descriptors(smiles: Sequence[str]) -> npt.NDArray[np.float32]:
    """Every descriptor that RDKit has, ``float [molecules, descriptors]``; 0 for what is undefined.

    >>> descriptors(["CCO", "c1ccccc1"]).shape[0]
    2
    """
    # A few grow beyond what 32 bits hold, and charges of unusual atoms do not exist.
    rows = np.array([_descriptors(text) for text in smiles], dtype=np.float64)
    table = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(table, -1e6, 1e6).astype(np.float32)


@lru_cache(maxsize=8192)  # they take ten milliseconds, and the next model asks for the same ones
def _descriptors(smiles: str) -> tuple[float, ...]:
    return tuple(CalcMolDescriptors(as_mol(smiles)).values())  # type: ignore[no-untyped-call]
