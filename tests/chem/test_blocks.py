import numpy as np
import pytest
from rdkit import Chem

from vgib.chem.blocks import blocks_of, indivisible_blocks, over_groups, ring_bonds
from vgib.chem.groups import functional_groups
from vgib.chem.mol import encode, parse
from vgib.data.molecules import load_drugs

DRUGS = load_drugs()["smiles"].tolist()


def slow_blocks(mol):
    """Atoms joined by ring bonds, multiple bonds or whole groups, by merging labels one by one."""
    label = list(range(mol.GetNumAtoms()))
    pairs = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
        for bond in mol.GetBonds()
        if bond.IsInRing() or bond.GetBondType() != Chem.BondType.SINGLE
    ]
    for group in functional_groups(mol):
        if group.whole:
            pairs += [(group.atoms[0], other) for other in group.atoms]
    for ends in pairs:
        keep, drop = sorted(label[end] for end in ends)
        label = [keep if value == drop else value for value in label]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(label))}
    return [numbers[value] for value in label]


def test_ring_bonds_are_those_that_rdkit_finds():
    mols = [parse(text).mol for text in DRUGS]
    arrays = encode(mols)
    expected = []
    for mol in mols:
        for atom in mol.GetAtoms():
            bonds = {b.GetOtherAtomIdx(atom.GetIdx()): b.IsInRing() for b in atom.GetBonds()}
            expected += [bonds[other] for other in sorted(bonds)]
    assert ring_bonds(arrays).tolist() == expected


def test_blocks_of_a_batch_equal_a_slow_merge():
    mols = [parse(text).mol for text in DRUGS]
    arrays = encode(mols, "element")
    expected = [block for mol in mols for block in slow_blocks(mol)]
    assert blocks_of(arrays, arrays.codes, arrays.bonds).tolist() == expected


@pytest.mark.parametrize(
    ("smiles", "blocks"),
    [
        ("C", [0]),
        ("CCO", [0, 1, 2]),
        ("CC(=O)O", [0, 1, 1, 1]),
        ("C[N+](=O)[O-]", [0, 1, 1, 1]),
        ("CC(F)(F)F", [0, 1, 1, 1, 1]),
        ("CC(=O)N1CCCCC1", [0, 1, 1, 2, 2, 2, 2, 2, 2]),
        ("CNC(=O)N1CCCCC1", [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]),
        ("CC#N", [0, 1, 1]),
        ("c1ccc2ccccc2c1", [0] * 10),
        ("c1ccccc1-c1ccccc1", [0] * 6 + [1] * 6),
        ("C=C1CCC1", [0] * 5),
        ("C1CC12CC2", [0] * 5),
        ("C=CC=C", [0, 0, 1, 1]),
    ],
)
def test_rings_and_multiple_bonds_stay_whole(smiles, blocks):
    assert indivisible_blocks(smiles).tolist() == blocks


def test_no_molecules_have_no_blocks():
    arrays = encode([])
    assert blocks_of(arrays, arrays.codes, arrays.bonds).tolist() == []
    assert ring_bonds(arrays).dtype == np.bool_


def test_a_functional_group_has_the_score_of_its_best_atom_and_a_ring_does_not() -> None:
    arrays = encode([parse(text).mol for text in ("O=[N+]([O-])c1ccccc1", "CC(=O)Nc1ccccc1")])
    blocks = blocks_of(arrays, arrays.codes, arrays.bonds)
    scores = np.zeros((2, 19), dtype=np.float32)
    scores[0, [1, 5]] = 0.9, 0.4  # the nitrogen of the nitro group, an atom of its ring
    scores[1, [9, 12]] = 0.7, 0.8  # the methyl group and the nitrogen of the amide
    shared = over_groups(scores, arrays, blocks)
    assert shared[0].tolist() == np.float32([0.9] * 3 + [0, 0, 0.4] + [0] * 13).tolist()
    assert shared[1].tolist() == np.float32([0] * 9 + [0.7] + [0.8] * 3 + [0] * 6).tolist()
