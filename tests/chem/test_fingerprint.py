"""Counted substructures and descriptors."""

import numpy as np
import pytest
from rdkit.Chem import Descriptors, MolFromSmiles, rdFingerprintGenerator

from vgib.chem.fingerprint import DESCRIPTORS, RADIUS, fingerprints
from vgib.data.molecules import load_drugs

DRUGS = load_drugs()["smiles"].tolist()[:25]


def test_the_counts_are_those_of_rdkit() -> None:
    found = fingerprints(DRUGS)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS)
    for row, text in enumerate(DRUGS):
        expected = generator.GetSparseCountFingerprint(MolFromSmiles(text)).GetNonzeroElements()
        entries = slice(found.indptr[row], found.indptr[row + 1])
        ours = zip(found.ids[entries].tolist(), found.counts[entries].tolist(), strict=True)
        assert dict(ours) == expected


def test_the_descriptors_are_those_of_rdkit() -> None:
    found = fingerprints(DRUGS).descriptors
    mols = [MolFromSmiles(text) for text in DRUGS]
    for name, function in (("amw", Descriptors.MolWt), ("tpsa", Descriptors.TPSA)):
        expected = [function(mol) for mol in mols]
        assert found[:, DESCRIPTORS.index(name)] == pytest.approx(expected, rel=1e-5)


def test_the_ids_of_each_row_ascend() -> None:
    found = fingerprints(DRUGS)
    for start, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        assert (np.diff(found.ids[start:end].astype(np.int64)) > 0).all()


def test_a_list_gives_what_its_molecules_give_one_by_one() -> None:
    whole = fingerprints(DRUGS)
    for row, text in enumerate(DRUGS):
        alone = fingerprints([text])
        entries = slice(whole.indptr[row], whole.indptr[row + 1])
        assert (alone.ids == whole.ids[entries]).all()
        assert (alone.descriptors[0] == whole.descriptors[row]).all()


def test_stereo_marks_change_nothing() -> None:
    with_marks, without = fingerprints(["C[C@H](N)C(=O)O"]), fingerprints(["CC(N)C(=O)O"])
    assert (with_marks.ids == without.ids).all() and (with_marks.counts == without.counts).all()
    assert (with_marks.descriptors == without.descriptors).all()


@pytest.mark.parametrize("text", ["", "oops", "C1CC", "*CC", "[H][H]", "[H+]", " ", "C" * 600])
def test_what_cannot_be_described_is_marked_and_empty(text: str) -> None:
    found = fingerprints(["CCO", text, "CCN"])
    assert found.is_valid.tolist() == [True, False, True]
    assert found.indptr[1] == found.indptr[2]
    assert not found.descriptors[1].any()


def test_everything_is_finite_for_odd_molecules() -> None:
    found = fingerprints(
        ["C", "O", "[Na+]", "[Og]", "[O-][Cl+3]([O-])([O-])[O-]", "C#C", "[C-]#[O+]"]
    )
    assert found.is_valid.all() and np.isfinite(found.descriptors).all()


def test_of_a_mixture_the_largest_component_counts() -> None:
    salt, alone = fingerprints(["CCO.[Na+].[Cl-]"]), fingerprints(["CCO"])
    assert (salt.ids == alone.ids).all()


def test_no_molecules_have_no_fingerprints() -> None:
    found = fingerprints([])
    assert len(found) == 0 and found.dense(np.array([1, 2], dtype=np.uint32)).shape == (0, 2)


def test_dense_counts_are_the_chosen_columns() -> None:
    found = fingerprints(DRUGS)
    columns = np.unique(np.append(found.ids[::7], np.uint32(12345)))
    table = found.dense(columns)
    for row in range(len(found)):
        entries = slice(found.indptr[row], found.indptr[row + 1])
        counts = dict(zip(found.ids[entries].tolist(), found.counts[entries].tolist(), strict=True))
        assert table[row].tolist() == [counts.get(column, 0) for column in columns.tolist()]
    assert found.dense(np.empty(0, dtype=np.uint32)).shape == (len(DRUGS), 0)
