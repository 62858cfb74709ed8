"""The similarity regression against slow, written-out versions of the same."""

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator
from rdkit.DataStructs import TanimotoSimilarity
from sklearn.kernel_ridge import KernelRidge

from vgib.chem.fingerprint import RADIUS, fingerprints
from vgib.data.molecules import load_drugs
from vgib.oracles.kernel import MOST, RIDGES, SimilarityIndex, fit_similarity

DRUGS = load_drugs()["smiles"].tolist()[:60]
PRINTS = fingerprints(DRUGS)
Y = np.random.default_rng(0).normal(size=len(DRUGS))


@pytest.mark.parametrize("frequent", [0.0, 0.05, 1.0])
def test_similarity_is_the_sum_of_minima_over_the_sum_of_maxima(frequent: float) -> None:
    counts = np.minimum(PRINTS.dense(np.unique(PRINTS.ids)), MOST).astype(float)
    expected = [[np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in counts] for a in counts]
    index = SimilarityIndex(PRINTS.ids, PRINTS.counts, PRINTS.indptr, frequent=frequent)
    assert index.similarity(PRINTS) == pytest.approx(np.array(expected), abs=1e-6)


def test_similarity_is_rdkits_where_counts_are_small() -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS)
    small = ["CCO", "CCN", "c1ccccc1O", "CC(=O)N"]
    theirs = [generator.GetSparseCountFingerprint(MolFromSmiles(text)) for text in small]
    ours = fingerprints(small)
    found = SimilarityIndex(ours.ids, ours.counts, ours.indptr).similarity(ours)
    expected = [[TanimotoSimilarity(a, b) for b in theirs] for a in theirs]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_predictions_are_those_of_scikit_learn() -> None:
    model = fit_similarity(PRINTS, Y)
    kernel = model.similarity(PRINTS)
    theirs = KernelRidge(alpha=float(model.ridge), kernel="precomputed").fit(kernel, Y - Y.mean())
    assert model(PRINTS) == pytest.approx(theirs.predict(kernel) + Y.mean(), abs=1e-6)


def test_the_ridge_is_the_best_when_each_molecule_is_left_out() -> None:
    model = fit_similarity(PRINTS, Y)
    kernel = model.similarity(PRINTS)
    errors = {}
    for ridge in RIDGES:
        left_out = []
        for one in range(len(Y)):
            rest = np.delete(np.arange(len(Y)), one)
            fitted = KernelRidge(alpha=ridge, kernel="precomputed")
            fitted.fit(kernel[np.ix_(rest, rest)], Y[rest] - Y.mean())
            left_out.append(fitted.predict(kernel[[one]][:, rest])[0] + Y.mean() - Y[one])
        errors[ridge] = np.square(left_out).mean()
    assert float(model.ridge) == min(errors, key=lambda ridge: errors[ridge])


def test_a_molecule_unlike_all_others_gets_the_mean() -> None:
    model = fit_similarity(PRINTS, Y)
    assert model(fingerprints(["[Xe]"])) == pytest.approx([Y.mean()])


def test_what_is_not_valid_has_no_similarity_and_is_no_exception() -> None:
    model = fit_similarity(PRINTS, Y)
    assert not model.similarity(fingerprints(["oops", ""])).any()
    assert model.similarity(fingerprints([])).shape == (0, len(Y))
