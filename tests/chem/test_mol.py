import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from vgib.chem.mol import encode, parse, scaffold, smiles_of_molblock
from vgib.chem.vocabulary import BOND, PAPER, RICH, VOCABULARIES, read_atom
from vgib.data.molecules import load_drugs
from vgib.errors import InputError, UnknownNameError

DRUGS = load_drugs()["smiles"].tolist()
ODD = [
    "[Na+]",
    "[H][H]",
    "[13CH3]O",
    "[2H]C([2H])([2H])O",
    "C[N+](C)(C)C",
    "[O-][N+](=O)c1ccccc1",
    "N=[N+]=[N-]",
    "C=C=C",
    "C#N",
    "FS(F)(F)(F)(F)F",
    "FP(F)(F)(F)F",
    "OP(=O)(O)O",
    "[nH]1cccc1",
    "c1cc[n+]([O-])cc1",
    "[Pt](Cl)(Cl)(N)N",
    "[Fe+2]",
    "*CC*",
    "C[Si](C)(C)C",
    "OB(O)c1ccccc1",
    "[CH2]",
    "[NH3]->[Cu]",
    "N1CC1.C",
]


def slow_codes(mol, words):
    return np.array([read_atom(atom, words) for atom in mol.GetAtoms()], dtype=np.uint8)


@pytest.mark.parametrize("words", VOCABULARIES.values(), ids=VOCABULARIES)
def test_fast_codes_equal_the_properties_read_atom_by_atom(words):
    texts = DRUGS + ODD
    mols = [parse(text, stereo=False).mol for text in texts]
    expected = np.concatenate([slow_codes(parse(text).mol, words) for text in texts])
    arrays = encode(mols, words.name)
    np.testing.assert_array_equal(arrays.codes, expected)
    assert arrays.codes.dtype == np.uint8
    assert (arrays.codes.max(axis=0) < words.cardinalities).all()


def test_bond_arrays_equal_the_bonds_read_one_by_one():
    mols = [parse(text).mol for text in DRUGS[:40]]
    arrays = encode(mols)
    for number, mol in enumerate(mols):
        low, high = arrays.node_ptr[number : number + 2]
        found = [
            (atom, int(other), BOND.values[code])
            for atom in range(high - low)
            for other, code in zip(
                arrays.col[arrays.indptr[low + atom] : arrays.indptr[low + atom + 1]],
                arrays.bonds[arrays.indptr[low + atom] : arrays.indptr[low + atom + 1]],
                strict=True,
            )
        ]
        expected = []
        for bond in mol.GetBonds():
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            kind = str(bond.GetBondType()).lower()
            expected += [(*ends, kind), (*ends[::-1], kind)]
        assert found == sorted(expected)


def test_a_bond_of_order_zero_is_still_an_edge():
    editable = Chem.RWMol(Chem.MolFromSmiles("C.C"))
    editable.AddBond(0, 1, Chem.BondType.ZERO)
    Chem.SanitizeMol(editable)
    arrays = encode([editable])
    assert arrays.col.tolist() == [1, 0]
    assert [BOND.values[code] for code in arrays.bonds] == ["other", "other"]


def test_atoms_follow_the_order_of_the_smiles_with_and_without_stereo():
    for text in DRUGS:
        quick, full = parse(text, stereo=False).mol, Chem.MolFromSmiles(text)
        assert [a.GetSymbol() for a in quick.GetAtoms()] == [a.GetSymbol() for a in full.GetAtoms()]


def test_the_codes_of_a_batch_are_those_of_its_molecules_one_by_one():
    mols = [parse(text).mol for text in DRUGS[:20]]
    whole = encode(mols)
    parts = [encode([mol]) for mol in mols]
    np.testing.assert_array_equal(whole.codes, np.concatenate([part.codes for part in parts]))
    np.testing.assert_array_equal(whole.col, np.concatenate([part.col for part in parts]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, len(DRUGS) - 1), st.randoms(use_true_random=False))
def test_codes_follow_the_atoms_when_they_are_relabeled(number, random):
    mol = parse(DRUGS[number]).mol
    order = list(range(mol.GetNumAtoms()))
    random.shuffle(order)
    moved = encode([Chem.RenumberAtoms(mol, order)])
    np.testing.assert_array_equal(moved.codes, encode([mol]).codes[order])


def test_no_molecules_give_empty_arrays_of_the_right_width():
    arrays = encode([])
    assert arrays.codes.shape == (0, len(RICH.columns))
    assert arrays.node_ptr.tolist() == [0] and arrays.indptr.tolist() == [0]


def test_isotope_labels_change_no_code():
    plain, labeled = (encode([parse(text).mol]).codes for text in ("CO", "[13CH3]O"))
    np.testing.assert_array_equal(plain, labeled)


def test_explicit_hydrogens_become_implicit():
    parsed = parse("[H]C([H])([H])O[H]", stereo=False)
    assert parsed.mol.GetNumAtoms() == 2


def test_a_molecule_of_500_atoms_works_and_one_of_501_says_why_not():
    assert encode([parse("C" * 500).mol]).codes.shape[0] == 500
    with pytest.raises(InputError, match="501 heavy atoms, more than the limit of 500"):
        parse("C" * 501)


def test_of_a_salt_the_organic_part_stays_and_the_note_says_so():
    parsed = parse("[Na+].[Na+].[Na+].[O-]C(C)=O")
    assert parsed.smiles == "CC(=O)[O-]"
    assert parsed.note == "kept the largest of 4 components, CC(=O)[O-]"
    symbols = [atom.GetSymbol() for atom in Chem.MolFromSmiles(parsed.smiles).GetAtoms()]
    assert [atom.GetSymbol() for atom in parsed.mol.GetAtoms()] == symbols


OLANZAPINE = "Cc1cc2c(s1)Nc1ccccc1N=C2N1CCN(C)CC1"
PAMOATE = "O=C([O-])c1cc2ccccc2c(Cc2c(O)c(C(=O)[O-])cc3ccccc23)c1O"


def test_a_counter_ion_loses_against_a_smaller_drug_and_the_note_says_so():
    parsed = parse(f"{OLANZAPINE}.{PAMOATE}")
    assert parsed.smiles == Chem.CanonSmiles(OLANZAPINE)
    assert parsed.note == (
        "kept the largest of 2 components other than counter-ions and solvents, " + parsed.smiles
    )


def test_a_counter_ion_alone_is_read():
    assert parse(PAMOATE).note is None
    assert parse(f"[Na+].[Na+].{PAMOATE}").smiles == Chem.CanonSmiles(PAMOATE)


def test_carbon_counts_more_than_size():
    assert parse("OS(=O)(=O)O.CN").smiles == "CN"
    assert parse("[Na+].[Cl-]").smiles == "[Cl-]"


def test_a_mixture_can_be_an_error():
    with pytest.raises(InputError, match=r"mixture of 2 components.*mixtures='largest'"):
        parse("CC.O", mixtures="error")
    with pytest.raises(UnknownNameError, match="did you mean 'largest'"):
        parse("CC", mixtures="largst")


def test_a_dot_that_separates_nothing_is_no_mixture():
    parsed = parse("C1.C1", mixtures="error")
    assert parsed.mol.GetNumAtoms() == 2 and parsed.note is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("aspirin", r"the name of a drug; give its structure, CC\(=O\)Oc1ccccc1C\(=O\)O"),
        ("aspirinn", "no SMILES, and none of the 217 drug names; did you mean 'aspirin'"),
        ("4-aminobiphenyl", "none of the 217 drug names; give the structure as a SMILES"),
        ("CCNa", r"elements such as \[Na\] in square brackets"),
        ("BSYNRYMUTXBXSQ-UHFFFAOYSA-N", "an InChIKey, which cannot be looked up offline"),
        ("50-78-2", "a CAS number, which cannot be looked up offline"),
        ("CHEMBL25", "a ChEMBL number, which cannot be looked up offline"),
        ("C=)(=C", "check element symbols and brackets"),
        ("c1ccccc", "ring-closure number 1 is not closed"),
        ("C%12CC", "ring-closure number 12 is not closed"),
        ("CC(C", "1 opening and 0 closing parentheses"),
        ("C[NH", "square bracket"),
        ("CC>>CO", "reaction"),
        ("InChI=1S/CH4/h1H", "this InChI cannot be read"),
        ("inchi=1S/CH4/h1H4", "must begin with 'InChI='"),
        ("CC(C)(C)(C)C", r"C \(atom 2\) has 5 bonds"),
        ("C[O+](C)(C)C", r"O \(atom 2\) with charge \+1 has 4 bonds"),
        ("c1cccc1", r"no valid alternation of double bonds.*\[nH\]"),
        ("cC", "atom 1 is written as aromatic but is in no ring"),
        ("CC.c1cccc1", "no valid alternation"),
        ("CC.c1cccc1", "atoms 3, 4, 5, 6, 7 has"),
        ("[H]C(C)(C)(C)C", "has 5 bonds"),
    ],
)
@pytest.mark.parametrize("stereo", [True, False])
def test_each_kind_of_bad_smiles_has_its_reason(text, reason, stereo, capfd):
    with pytest.raises(InputError, match=reason):
        parse(text, stereo=stereo)
    assert capfd.readouterr().err == ""


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="CNOcn()[]123=#+-.@/\\%HSl ", max_size=20))
def test_any_text_is_either_a_molecule_or_an_input_error(text):
    try:
        parsed = parse(text, stereo=False)
    except InputError as error:
        assert str(error)
    else:
        assert (
            encode([parsed.mol]).codes.shape[0] == Chem.MolFromSmiles(parsed.smiles).GetNumAtoms()
        )


def test_vocabularies_are_sorted_and_end_in_other():
    for column in (*RICH.columns, BOND):
        values = [value for value in column.values if value != "other"]
        ordered = sorted(values, key=int) if values[-1].isdigit() else sorted(values)
        assert values == ordered
        assert "other" not in column.values[:-1]
    assert PAPER.columns == RICH.columns[:1]


def test_an_unknown_vocabulary_is_answered_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean 'rich'"):
        encode([], "ritch")


def test_the_scaffold_is_the_ring_frame():
    assert scaffold("CC(=O)Oc1ccccc1C(=O)O") == "c1ccccc1"
    assert scaffold("C[C@@H]1CCCN(Cc2ccccc2)C1") == "c1ccc(CN2CCCCC2)cc1"
    assert scaffold("CCO") == ""


def test_a_mol_block_gives_its_smiles_and_a_broken_one_its_reason():
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("c1ccccc1O"))
    assert smiles_of_molblock(block) == "Oc1ccccc1"
    with pytest.raises(InputError, match="no complete MDL mol block"):
        smiles_of_molblock(block[:80])
    for counts in ("  7  x", "  x  7", "  7   "):
        with pytest.raises(InputError, match="no complete MDL mol block"):
            smiles_of_molblock(block.replace("  7  7", counts, 1))
    bad = Chem.MolToMolBlock(Chem.MolFromSmiles("CC(C)(C)(C)C", sanitize=False), kekulize=False)
    with pytest.raises(InputError, match="has 5 bonds"):
        smiles_of_molblock(bad)


@pytest.mark.parametrize(
    ("inchi", "smiles"),
    [
        ("InChI=1S/CH4/h1H4", "C"),
        (
            "InChI=1S/C9H8O4/c1-6(10)13-8-5-3-2-4-7(8)9(11)12/h2-5H,1H3,(H,11,12)",
            "CC(=O)Oc1ccccc1C(=O)O",
        ),
        ("InChI=1S/C3H7NO2/c1-2(4)3(5)6/h2H,4H2,1H3,(H,5,6)/t2-/m0/s1", "C[C@H](N)C(=O)O"),
    ],
)
def test_an_inchi_is_read_like_its_smiles(inchi: str, smiles: str) -> None:
    found = parse(f"{inchi} some name")
    assert Chem.CanonSmiles(found.smiles) == Chem.CanonSmiles(smiles)
    assert found.mol.GetNumAtoms() == parse(smiles).mol.GetNumAtoms()


def test_an_inchi_has_the_limits_of_a_smiles() -> None:
    inchi = Chem.MolToInchi(Chem.MolFromSmiles("C" * 40))
    assert parse(inchi, max_atoms=40).mol.GetNumAtoms() == 40
    with pytest.raises(InputError, match="40 heavy atoms, more than the limit of 39"):
        parse(inchi, max_atoms=39)
    with pytest.raises(InputError, match="InChI of 10,011 letters"):
        parse(f"InChI=1S/C{'1' * 10_001}")


@pytest.mark.hostile
@pytest.mark.parametrize("stereo", [True, False])
@pytest.mark.parametrize("smiles", ["[CH999999999]", f"C{'([H])' * 400}", "C[CH100]"])
def test_hydrogens_by_the_hundred_are_refused_however_they_are_read(
    smiles: str, stereo: bool
) -> None:
    with pytest.raises(InputError, match=r"check bond orders|draw it again"):
        parse(smiles, stereo=stereo)
