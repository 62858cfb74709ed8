"""The forest beside a model: judged on the same molecules, and told where it is better."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vgib.data.molecules import from_smiles, load_drugs
from vgib.model.forest import _compared, _share_explained, beside_forest
from vgib.model.recognizer import SubgraphRecognizer

DRUGS = load_drugs()["smiles"].tolist()
CARBONS = np.array([float(text.count("c")) for text in DRUGS])


def trained(y: np.ndarray, **options: object) -> tuple[SubgraphRecognizer, object, object]:
    graphs = from_smiles(DRUGS, y).graphs
    train, test = graphs[:150], graphs[150:]
    model = SubgraphRecognizer(bottleneck="none", epochs=1, hidden=4, depth=1, **options)
    return model.fit(train), train, test


def test_a_forest_that_is_better_is_told() -> None:
    found = beside_forest(*trained(CARBONS))
    forest, gain = found.metrics["control_forest_r_squared"], found.metrics["forest_gain_r_squared"]
    assert forest["n"] == gain["n"] == 67
    assert 0.2 < forest["value"] < 1 and gain["low"] > 0
    assert found.caution.startswith(
        "A random forest on fingerprints predicts the same 67 held-out molecules better: R²"
    )
    assert "within chance" not in found.caution


def test_both_are_judged_on_the_same_resampled_molecules() -> None:
    y = np.random.default_rng(0).normal(size=200)
    good, bad = y + 0.5, np.zeros(200)
    forest, own, gain = _compared(_share_explained, bad, good, y)
    assert own.value - forest.value == pytest.approx(-gain.value)
    assert gain.high < 0 and gain.n == 200
    _, _, same = _compared(_share_explained, good, good, y)
    assert same.low == same.value == same.high == 0


@pytest.mark.parametrize(("kinds", "measure"), [(2, "roc_auc"), (3, "accuracy")])
def test_classes_are_compared_too(kinds: int, measure: str) -> None:
    found = beside_forest(*trained((CARBONS // 5).astype(int) % kinds))
    assert 0.3 < found.metrics[f"control_forest_{measure}"]["value"] <= 1


def test_each_of_several_values_has_its_forest() -> None:
    y = np.stack([CARBONS, CARBONS[::-1]], 1)
    y[::7, 1] = np.nan
    graphs = from_smiles(DRUGS, CARBONS).graphs
    graphs = replace(graphs, y=torch.from_numpy(y).float())
    model = SubgraphRecognizer(bottleneck="none", epochs=1, hidden=4, depth=1).fit(graphs[:150])
    model.name_outputs(targets=["rings", "other"])
    found = beside_forest(model, graphs[:150], graphs[150:])
    assert found.metrics["control_forest_r_squared_of_rings"]["n"] == 67
    assert found.metrics["control_forest_r_squared_of_other"]["n"] < 60


def test_the_card_keeps_the_caution(tmp_path: Path) -> None:
    model, _, _ = trained(CARBONS)
    model.card_.caution = "A forest is better."
    assert (
        SubgraphRecognizer.load(model.save(tmp_path / "m")).card_.caution == "A forest is better."
    )
