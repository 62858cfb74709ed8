"""Molecules without charge and stereo marks, so that two sources write them alike."""

from collections.abc import Sequence

from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize


def neutral_smiles(smiles: Sequence[str]) -> list[str]:
    """Each molecule's canonical SMILES, neutralized and without stereo marks.

    Acids get their protons back and ammonium loses its own; what has a charge that no proton can
    balance (quaternary nitrogen, nitro groups) keeps it.

    >>> neutral_smiles(["C[C@H]([NH3+])C(=O)[O-]", "C[N+](C)(C)C"])
    ['CC(N)C(=O)O', 'C[N+](C)(C)C']
    """
    uncharger = rdMolStandardize.Uncharger()
    with rdBase.BlockLogs():
        return [_neutral(text, uncharger) for text in smiles]


def _neutral(smiles: str, uncharger: rdMolStandardize.Uncharger) -> str:
    mol = uncharger.uncharge(Chem.MolFromSmiles(smiles))
    Chem.RemoveStereochemistry(mol)
    return str(Chem.MolToSmiles(mol))
