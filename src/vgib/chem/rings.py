"""Ring systems of molecules, the usual ones by name."""

from dataclasses import dataclass
from functools import cache

from rdkit import Chem

from vgib.chem.mol import Mol, as_mol

_USUAL = {
    "cyclopropane": "C1CC1",
    "cyclobutane": "C1CCC1",
    "cyclopentane": "C1CCCC1",
    "cyclohexane": "C1CCCCC1",
    "cyclohexene": "C1=CCCCC1",
    "azetidine": "C1CNC1",
    "oxetane": "C1COC1",
    "pyrrolidine": "C1CCNC1",
    "pyrrolidinone": "O=C1CCCN1",
    "tetrahydrofuran": "C1CCOC1",
    "piperidine": "C1CCNCC1",
    "piperidinone": "O=C1CCCCN1",
    "piperazine": "C1CNCCN1",
    "piperazinone": "O=C1CNCCN1",
    "morpholine": "C1COCCN1",
    "thiomorpholine": "C1CSCCN1",
    "tetrahydropyran": "C1CCOCC1",
    "azepane": "C1CCCNCC1",
    "hydantoin": "O=C1CNC(=O)N1",
    "oxazolidinone": "O=C1NCCO1",
    "benzene": "c1ccccc1",
    "pyridine": "c1ccncc1",
    "pyridone": "O=c1cccc[nH]1",
    "pyrimidine": "c1cncnc1",
    "pyrimidinone": "O=c1ccnc[nH]1",
    "pyrazine": "c1cnccn1",
    "pyridazine": "c1ccnnc1",
    "pyridazinone": "O=c1cccn[nH]1",
    "1,3,5-triazine": "c1ncncn1",
    "pyrrole": "c1cc[nH]c1",
    "furan": "c1ccoc1",
    "thiophene": "c1ccsc1",
    "pyrazole": "c1cn[nH]c1",
    "imidazole": "c1c[nH]cn1",
    "oxazole": "c1cocn1",
    "isoxazole": "c1cnoc1",
    "thiazole": "c1cscn1",
    "isothiazole": "c1cnsc1",
    "1,2,3-triazole": "c1cnn[nH]1",
    "1,2,4-triazole": "c1nc[nH]n1",
    "tetrazole": "c1nnn[nH]1",
    "1,2,4-oxadiazole": "c1ncon1",
    "1,3,4-oxadiazole": "c1nnco1",
    "1,3,4-thiadiazole": "c1nncs1",
    "1,2,4-thiadiazole": "c1ncsn1",
    "naphthalene": "c1ccc2ccccc2c1",
    "quinoline": "c1ccc2ncccc2c1",
    "isoquinoline": "c1ccc2cnccc2c1",
    "quinazoline": "c1ccc2ncncc2c1",
    "quinoxaline": "c1ccc2nccnc2c1",
    "indole": "c1ccc2[nH]ccc2c1",
    "indazole": "c1ccc2[nH]ncc2c1",
    "benzimidazole": "c1ccc2[nH]cnc2c1",
    "benzofuran": "c1ccc2occc2c1",
    "benzothiophene": "c1ccc2sccc2c1",
    "benzothiazole": "c1ccc2scnc2c1",
    "benzoxazole": "c1ccc2ocnc2c1",
    "7-azaindole": "c1cnc2[nH]ccc2c1",
    "purine": "c1ncc2nc[nH]c2n1",
    "pyrazolo[1,5-a]pyrimidine": "c1cnc2ccnn2c1",
    "imidazo[1,2-a]pyridine": "c1ccn2ccnc2c1",
    "benzodioxole": "c1ccc2OCOc2c1",
    "tetrahydroisoquinoline": "c1ccc2CNCCc2c1",
    "indoline": "c1ccc2NCCc2c1",
    "anthracene": "c1ccc2cc3ccccc3cc2c1",
    "phenanthrene": "c1ccc2c(c1)ccc1ccccc12",
}


@dataclass(frozen=True)
class RingSystem:
    """Rings that share atoms, with what is doubly bonded to them.

    Attributes:
        name: What a chemist calls it; its SMILES where it has no usual name.
        atoms: Its atoms, ascending.
    """

    name: str
    atoms: tuple[int, ...]


def ring_systems(mol_or_smiles: Mol | str) -> list[RingSystem]:
    """The ring systems of a molecule, by their first atom; where hydrogen sits makes no difference.

    >>> [ring.name for ring in ring_systems("O=C(NC1CCCCC1)c1ccc2n(C)ccc2c1")]
    ['cyclohexane', 'indole']
    """
    mol = as_mol(mol_or_smiles)
    found = []
    for atoms in _systems(mol):
        written = _written(mol, atoms)
        found.append(RingSystem(_names().get(written, written), tuple(sorted(atoms))))
    return sorted(found, key=lambda ring: ring.atoms)


def _systems(mol: Mol) -> list[set[int]]:
    systems: list[set[int]] = []
    for ring in mol.GetRingInfo().AtomRings():
        apart = [other for other in systems if other.isdisjoint(ring)]
        joined = set(ring).union(*(other for other in systems if other not in apart))
        systems = [*apart, joined]
    for system in systems:
        for atom in list(system):
            for bond in mol.GetAtomWithIdx(atom).GetBonds():
                if bond.GetBondType() == Chem.BondType.DOUBLE and not bond.IsInRing():
                    system.add(bond.GetOtherAtomIdx(atom))
    return systems


def _written(mol: Mol, atoms: set[int]) -> str:
    """A SMILES of these atoms without hydrogens and charges, so that substituents do not matter."""
    symbols = [
        atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
        for atom in mol.GetAtoms()
    ]
    return str(Chem.MolFragmentToSmiles(mol, sorted(atoms), atomSymbols=symbols))


@cache
def _names() -> dict[str, str]:
    mols = {name: as_mol(smiles) for name, smiles in _USUAL.items()}
    return {_written(mol, set(range(mol.GetNumAtoms()))): name for name, mol in mols.items()}
