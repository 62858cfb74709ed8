"""Fitting and calibrating small networks."""

import numpy as np
import pytest
import torch

from vgib.chem.fingerprint import DESCRIPTORS, fingerprints
from vgib.data.molecules import load_drugs
from vgib.metrics import area_under_roc
from vgib.oracles.fitting import Fit, fit_calibration, fit_perceptron, frequent_substructures
from vgib.oracles.perceptron import Perceptron

DRUGS = load_drugs()["smiles"].tolist()
PRINTS = fingerprints(DRUGS)
AROMATIC = PRINTS.descriptors[:, DESCRIPTORS.index("NumAromaticRings")]
LABEL = (AROMATIC >= 2).astype(float)
ROWS = np.arange(0, len(DRUGS), 2)
SMALL = Fit(columns=200, rarest=3, hidden=16, inner=8, epochs=15, batch=16, rate=1e-2)


def fitted(seed: int = 0, *, valued: bool = True) -> Perceptron:
    fit = Fit(**{**vars(SMALL), "seed": seed})
    return fit_perceptron(PRINTS, ROWS, LABEL, AROMATIC if valued else None, fit, lambda text: None)


def test_class_and_value_are_learned() -> None:
    out = fitted().judge(PRINTS)
    rest = np.setdiff1d(np.arange(len(DRUGS)), ROWS)
    assert area_under_roc(out[rest, 0], LABEL[rest] == 1) > 0.9
    positive = rest[LABEL[rest] == 1]
    assert np.abs(out[positive, 1] - AROMATIC[positive]).mean() < 0.7


def test_without_values_there_is_one_output() -> None:
    assert fitted(valued=False).judge(PRINTS).shape == (len(DRUGS), 1)


def test_the_same_seed_gives_the_same_network() -> None:
    first, again, other = fitted(), fitted(), fitted(seed=1)
    assert all((a == again.arrays()[name]).all() for name, a in first.arrays().items())
    assert (first.arrays()["embedding"] != other.arrays()["embedding"]).any()


def test_the_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    fitted()
    assert (torch.get_rng_state() == before).all()


def test_columns_are_the_most_frequent_substructures_of_the_training_molecules() -> None:
    columns = frequent_substructures(PRINTS, ROWS, SMALL)
    assert len(columns) == SMALL.columns and (np.diff(columns.astype(np.int64)) > 0).all()
    times = (PRINTS.dense(columns)[ROWS] > 0).sum(0)
    assert times.min() >= SMALL.rarest
    others = np.setdiff1d(PRINTS.ids, columns)
    assert (PRINTS.dense(others)[ROWS] > 0).sum(0).max() <= times.min()


def test_calibration_finds_slope_and_shift() -> None:
    random = np.random.default_rng(0)
    logit = random.normal(size=50_000)
    label = (random.random(50_000) < 1 / (1 + np.exp(-(0.5 * logit - 1)))).astype(float)
    assert fit_calibration(logit, label) == pytest.approx([0.5, -1], abs=0.05)
