"""Models that differ in their seed: what they agree on."""

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from vgib.data.molecules import from_smiles, load_drugs
from vgib.errors import InputError
from vgib.model import ensemble
from vgib.model.guided import guided_subgraphs
from vgib.model.recognizer import SubgraphRecognizer

DRUGS = load_drugs()["smiles"].tolist()[:12]


@pytest.fixture(scope="module")
def values() -> list[SubgraphRecognizer]:
    y = np.linspace(0, 1, len(DRUGS))
    return [SubgraphRecognizer("gin", hidden=4, epochs=2, seed=s).fit(DRUGS, y) for s in range(3)]


@pytest.fixture(scope="module")
def classes() -> list[SubgraphRecognizer]:
    y = np.arange(len(DRUGS)) % 2
    return [SubgraphRecognizer("gin", hidden=4, epochs=2, seed=s).fit(DRUGS, y) for s in range(2)]


def test_an_ensemble_is_a_model_folder_with_members(
    values: list[SubgraphRecognizer], tmp_path: Path
) -> None:
    folder = ensemble.save_members(values, tmp_path / "mine", summary="Three.")
    again = ensemble.members(folder)
    assert len(again) == 3 and again[0].card_.summary == "Three."
    for before, after in zip(values, again, strict=True):
        assert np.array_equal(before.predict(DRUGS), after.predict(DRUGS))
    main = SubgraphRecognizer.load(folder)
    assert np.array_equal(main.predict(DRUGS), values[0].predict(DRUGS))


def test_a_plain_model_is_an_ensemble_of_one(
    values: list[SubgraphRecognizer], tmp_path: Path
) -> None:
    one = ensemble.members(values[1].save(tmp_path / "one"))
    assert len(one) == 1
    assert ensemble.stability(one, DRUGS).tolist() == [1.0] * len(DRUGS)
    assert ensemble.predict(one, DRUGS).spread.tolist() == [0.0] * len(DRUGS)
    with pytest.raises(InputError, match="at least one model"):
        ensemble.save_members([], tmp_path)


def test_mean_and_spread_are_over_the_members(values: list[SubgraphRecognizer]) -> None:
    each = np.stack([model.predict(DRUGS) for model in values])
    found = ensemble.predict(values, DRUGS)
    assert np.allclose(found.mean, each.mean(0)) and np.allclose(found.spread, each.std(0))


def test_classes_have_mean_probabilities(classes: list[SubgraphRecognizer]) -> None:
    found = ensemble.predict(classes, DRUGS)
    assert found.mean.shape == found.spread.shape == (len(DRUGS), 2)
    assert np.allclose(found.mean.sum(1), 1)
    logits, _ = ensemble.outputs(classes, classes[0].pack(DRUGS))
    assert np.allclose(logits.softmax(1).numpy(), found.mean, atol=1e-6)


def test_agreement_is_the_mean_jaccard_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    ptr = np.array([0, 4, 4, 9, 10])
    masks = rng.random((4, 10)) < 0.5
    masks[:, 9] = False  # a graph of which nobody chooses anything
    found = ensemble.agreement(masks, ptr)
    for graph, (low, high) in enumerate(pairwise(ptr)):
        sets = [set(np.flatnonzero(mask[low:high])) for mask in masks]
        each = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
        assert found[graph] == pytest.approx(np.mean(each))


def test_equal_members_agree_wholly(values: list[SubgraphRecognizer]) -> None:
    assert ensemble.stability([values[0]] * 3, DRUGS).tolist() == [1.0] * len(DRUGS)
    some = ensemble.stability(values, DRUGS, keep_ratio=0.3)
    assert ((some >= 0) & (some <= 1)).all() and (some < 1).any()


def test_an_ensemble_can_guide(values: list[SubgraphRecognizer]) -> None:
    graphs = from_smiles(DRUGS[:3]).graphs
    found = guided_subgraphs(graphs, lambda g: ensemble.outputs(values, g), keep_ratio=0.5)
    assert [len(parts) for parts in found] == [1, 1, 1]
