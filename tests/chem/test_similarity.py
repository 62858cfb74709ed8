"""Packed fingerprints against RDKit's own."""

import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from vgib.chem.similarity import BITS, packed_bits, tanimoto
from vgib.data.molecules import load_drugs

DRUGS = load_drugs()["smiles"].tolist()[:40]


def test_similarities_are_those_of_rdkit() -> None:
    maker = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS)
    prints = [maker.GetFingerprint(Chem.MolFromSmiles(smiles)) for smiles in DRUGS]
    packed = packed_bits(DRUGS)
    for own, bits in zip(prints, packed, strict=True):
        expected = DataStructs.BulkTanimotoSimilarity(own, prints)
        assert tanimoto(bits, packed).tolist() == pytest.approx(expected)
