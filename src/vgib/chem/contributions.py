"""What single atoms of a molecule stand for: shares of logP, and fingerprints without them."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.rdMolDescriptors import _CalcCrippenContribs

from vgib.chem.mol import Mol, as_mol


def crippen_contributions(mol_or_smiles: Mol | str) -> npt.NDArray[np.float64]:
    """The share of each atom in the octanol-water partition coefficient, ``float [atoms]``.

    Wildman and Crippen, "Prediction of physicochemical parameters by atomic contributions", J.
    Chem. Inf. Comput. Sci. 1999. Hydrogen atoms that are not written are left out.

    >>> crippen_contributions("CCO").round(2).tolist()
    [0.14, -0.2, -0.29]
    """
    return np.array([logp for logp, _ in _CalcCrippenContribs(as_mol(mol_or_smiles))])


def masked_counts(
    mol_or_smiles: Mol | str, *, radius: int = 2, bits: int = 2048
) -> npt.NDArray[np.uint8]:
    """Counted circular substructures of a molecule, then of it with each atom made a dummy.

    Returns:
        ``uint8 [1 + atoms, bits]``, at most 255 of each; row ``i + 1`` without what atom ``i`` is.
    """
    mol = as_mol(mol_or_smiles)
    counts = _morgan(radius, bits).GetCountFingerprintAsNumPy
    rows = [counts(mol)]
    for index in range(mol.GetNumAtoms()):
        masked = Chem.RWMol(mol)
        masked.GetAtomWithIdx(index).SetAtomicNum(0)
        rows.append(counts(masked))
    return _bytes(np.stack(rows))


def circular_counts(
    mol_or_smiles: Mol | str, *, radius: int = 2, bits: int = 2048
) -> npt.NDArray[np.uint8]:
    """Counted circular substructures of a molecule, ``uint8 [bits]``, at most 255 of each."""
    return _bytes(_morgan(radius, bits).GetCountFingerprintAsNumPy(as_mol(mol_or_smiles)))


def _bytes(counts: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    limited: npt.NDArray[np.uint8] = np.minimum(counts, 255).astype(np.uint8)
    return limited


@lru_cache(maxsize=8)
def _morgan(radius: int, bits: int) -> Any:  # RDKit ships no types
    return rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=bits)
