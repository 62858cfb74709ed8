import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from vgib.chem.blocks import blocks_of, indivisible_blocks
from vgib.chem.fragment import fragment
from vgib.chem.mol import encode, parse
from vgib.data.molecules import load_drugs
from vgib.errors import InputError
from vgib.select.blocktree import block_trees
from vgib.select.masks import ranked

DRUGS = load_drugs()["smiles"].tolist()


def assert_is_a_fragment(parent, part):
    """The contract of every valid fragment."""
    assert part.valid and part.reason is None
    open_, capped = Chem.MolFromSmiles(part.smiles), Chem.MolFromSmiles(part.capped_smiles)
    assert open_ is not None and capped is not None
    assert len(Chem.GetMolFrags(open_)) == len(Chem.GetMolFrags(capped)) == 1
    assert capped.GetNumAtoms() == len(part.atoms)
    assert all(atom.GetAtomicNum() for atom in capped.GetAtoms())
    # The map leads from each atom of the SMILES to its own kind in the parent.
    assert sorted(index for index in part.atom_map if index >= 0) == list(part.atoms)
    assert part.atom_map.count(-1) == len(part.attachments)
    for atom, index in zip(open_.GetAtoms(), part.atom_map, strict=True):
        expected = 0 if index < 0 else parent.GetAtomWithIdx(index).GetAtomicNum()
        assert atom.GetAtomicNum() == expected
    inner = {frozenset((b.GetBeginAtomIdx(), b.GetEndAtomIdx())) for b in open_.GetBonds()}
    for bond in parent.GetBonds():
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if set(ends) <= set(part.atoms):
            assert frozenset(part.atom_map.index(end) for end in ends) in inner
        elif set(ends) & set(part.atoms):
            kept, left = ends if ends[0] in part.atoms else ends[::-1]
            assert (kept, left) in part.attachments


@pytest.mark.parametrize("smiles", DRUGS)
def test_every_ring_intact_selection_of_a_drug_is_a_valid_fragment(smiles):
    mol = parse(smiles).mol
    arrays = encode([mol])
    blocks = blocks_of(arrays, arrays.codes, arrays.bonds)
    count = mol.GetNumAtoms()
    scores = np.random.default_rng(count).random(count)
    reached = set()
    for size in range(1, count + 1):
        ((atoms, *_),) = ranked(scores, arrays, sizes=[size], blocks=blocks)
        if tuple(atoms) in reached:
            continue
        reached.add(tuple(atoms))
        part = fragment(mol, atoms)
        assert_is_a_fragment(mol, part)
        for kept, left in part.attachments:
            bond = mol.GetBondBetweenAtoms(kept, left)
            assert bond.GetBondType() == Chem.BondType.SINGLE and not bond.IsInRing()
        # Nothing was sanitized on this path, so a fresh reading must agree.
        again = Chem.MolFromSmiles(part.capped_smiles)
        flat = Chem.MolToSmiles(again, isomericSmiles=False)
        assert fragment(mol, atoms, stereo=False).capped_smiles == flat
    assert tuple(range(count)) in reached


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(DRUGS) - 1), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_a_connected_selection_that_cuts_rings_is_valid_too(number, size, seed):
    mol = parse(DRUGS[number]).mol
    arrays = encode([mol])
    scores = np.random.default_rng(seed).random(mol.GetNumAtoms())
    ((atoms, *_),) = ranked(scores, arrays, sizes=[size])
    part = fragment(mol, atoms)
    assert_is_a_fragment(mol, part)
    flat = fragment(mol, atoms, stereo=False)
    assert Chem.CanonSmiles(flat.smiles) == flat.smiles


@pytest.mark.parametrize(
    ("smiles", "atoms", "expected", "capped"),
    [
        ("CCO", [0, 1, 2], "CCO", "CCO"),
        ("CC(=O)Oc1ccccc1C(=O)O", [4, 5, 6, 7, 8, 9], "*c1ccccc1*", "c1ccccc1"),
        ("Cn1cccc1", [1, 2, 3, 4, 5], "*n1cccc1", "c1cc[nH]c1"),
        ("c1cc[nH]c1C", [0, 1, 2, 3, 4], "*c1ccc[nH]1", "c1cc[nH]c1"),
        ("C[n+]1ccccc1", [1, 2, 3, 4, 5, 6], "*[n+]1ccccc1", "c1cc[nH+]cc1"),
        ("C[N+](C)(C)CC", [1, 2], "C[N+](*)(*)*", "C[NH3+]"),
        ("CS(=O)(=O)C", [1, 2, 3], "*S(*)(=O)=O", "O=[SH2]=O"),
        ("CC(=O)O", [1, 3], "*C(=*)O", "CO"),
        ("O=c1cc[nH]cc1", [1, 2, 3, 4, 5, 6], "*=c1cc[nH]cc1", "C1=CNC=CC1"),
        ("CC", [0], "*C", "C"),
    ],
)
def test_cuts_are_capped_as_a_chemist_would(smiles, atoms, expected, capped):
    part = fragment(smiles, atoms)
    assert Chem.CanonSmiles(part.smiles) == Chem.CanonSmiles(expected)
    assert Chem.CanonSmiles(part.capped_smiles) == Chem.CanonSmiles(capped)


def test_a_cut_through_an_aromatic_ring_leaves_an_ordinary_chain():
    part = fragment("c1ccccc1", [0, 1, 2])
    assert part.valid
    assert part.capped_smiles in {"C=CC", "CC=C"}
    assert len(part.attachments) == 2


def test_stereo_stays_away_from_the_cut_and_goes_at_the_cut():
    assert "@" in fragment("C[C@H](O)CCCC", [0, 1, 2, 3, 4]).capped_smiles
    assert "@" not in fragment("C[C@H](O)CCCC", [1, 2, 3, 4]).capped_smiles
    assert "/" in fragment(r"C/C=C/CCC", [0, 1, 2, 3, 4]).capped_smiles
    assert "/" not in fragment(r"C/C=C/C", [0, 1, 2]).capped_smiles
    assert "@" not in fragment("C[C@H](O)CCCC", [0, 1, 2, 3, 4], stereo=False).smiles


def test_a_centre_that_becomes_symmetric_loses_its_mark():
    part = fragment("CC[C@H](O)CCC", [0, 1, 2, 3, 4, 5])
    assert "@" not in part.capped_smiles


def test_separate_parts_are_not_valid_and_say_so():
    part = fragment("CCCC", [0, 3])
    assert not part.valid and part.smiles == ""
    assert "2 separate parts" in part.reason


def test_a_dummy_atom_of_the_parent_is_an_atom_and_not_an_attachment():
    part = fragment("*CCO", [0, 1])
    assert part.atom_map.count(-1) == 1 and sorted(part.atom_map) == [-1, 0, 1]


@pytest.mark.parametrize(
    ("atoms", "message"), [([], "at least one"), ([7], "no atom 7.*0 to 2"), ([-1], "no atom -1")]
)
def test_wrong_atoms_are_refused(atoms, message):
    with pytest.raises(InputError, match=message):
        fragment("CCO", atoms)


def test_the_parent_is_left_as_it_was():
    mol = parse("c1ccccc1C(=O)O").mol
    before = mol.ToBinary()
    fragment(mol, [0, 1, 2])
    fragment(mol, [6, 7])
    assert mol.ToBinary() == before


def test_the_blocks_of_every_drug_form_a_tree():
    for smiles in DRUGS:
        arrays = encode([parse(smiles).mol])
        (tree,) = block_trees(arrays, indivisible_blocks(smiles))
        assert sum(tree.weights) == len(arrays.codes)


def test_a_fragment_shows_itself_where_there_is_one() -> None:
    assert (fragment("CCO", [0, 1])._repr_svg_() or "").startswith("<svg")
    apart = fragment("CCO", [0, 2])
    assert not apart.valid and apart._repr_svg_() is None
