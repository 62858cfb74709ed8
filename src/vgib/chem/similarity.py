"""How alike molecules are: folded circular fingerprints as packed bits, and Tanimoto's share."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rdkit import DataStructs
from rdkit.Chem import rdFingerprintGenerator

from vgib.chem.mol import Mol, as_mol

BITS = 1024
Packed = npt.NDArray[np.uint8]
_morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS)
_ONES = np.array([number.bit_count() for number in range(256)], dtype=np.uint16)


def packed_bits(mols: Sequence[Mol | str]) -> Packed:
    """The fingerprint of each molecule, ``uint8 [molecules, 128]``; stereo marks change nothing."""
    found = np.zeros((len(mols), BITS), dtype=np.uint8)
    for row, mol in zip(found, mols, strict=True):
        DataStructs.ConvertToNumpyArray(_morgan.GetFingerprint(as_mol(mol)), row)
    packed: Packed = np.packbits(found, axis=1)
    return packed


def tanimoto(one: Packed, many: Packed) -> npt.NDArray[np.float64]:
    """The share of common bits among all bits of either, of one fingerprint with each of many.

    >>> tanimoto(packed_bits(["CCO"])[0], packed_bits(["OCC", "c1ccccc1"])).tolist()
    [1.0, 0.0]
    """
    common = _ONES[one & many].sum(1)
    either = _ONES[one | many].sum(1)
    shares: npt.NDArray[np.float64] = common / np.maximum(either, 1)
    return shares
