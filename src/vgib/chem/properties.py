"""Properties that RDKit computes from a structure alone."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rdkit import rdBase
from rdkit.Chem.QED import qed as quantitative_drug_likeness

from vgib.chem.mol import whole
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
        mol = whole(smiles)
    except InputError:
        return float("nan")
    return float(quantitative_drug_likeness(mol))  # type: ignore[no-untyped-call]  # RDKit
