"""Fragments of training molecules as further training molecules."""

import logging

import numpy as np
import pytest

from vgib.chem.properties import qed
from vgib.data.capped import atom_features
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.model.augment import random_fragments, with_fragments
from vgib.model.recognizer import SubgraphRecognizer

DRUGS = load_drugs()["smiles"].tolist()[:60]


@pytest.fixture(scope="module")
def drugs() -> PackedGraphs:
    return from_smiles(DRUGS, qed(DRUGS)).graphs


def test_each_molecule_gets_its_fragments_with_their_own_labels(drugs: PackedGraphs) -> None:
    more = with_fragments(drugs, qed, seed=0, per_molecule=2)
    assert len(more) == 3 * len(drugs)
    assert more.ids is not None and more.y is not None
    assert more.ids[: len(drugs)] == drugs.ids
    assert np.allclose(more.y.numpy(), qed(more.ids), atol=1e-6)
    assert atom_features(more) == "rich"


def test_fragments_keep_rings_whole_and_have_the_shares_that_were_asked_for(
    drugs: PackedGraphs,
) -> None:
    more = with_fragments(drugs, qed, seed=1, shares=(0.4, 0.6))
    shares = more.sizes[len(drugs) :].numpy() / drugs.sizes.numpy()
    assert 0.45 < np.median(shares) < 0.55
    assert np.quantile(shares, 0.2) > 0.35 and np.quantile(shares, 0.8) < 0.65
    assert more.ids is not None
    benzenes = from_smiles(["OCCOCCc1ccccc1"] * 30).graphs
    for smiles in random_fragments(benzenes, seed=0):
        assert smiles.count("c") in (0, 6)


def test_the_same_seed_draws_the_same_fragments(drugs: PackedGraphs) -> None:
    first, again, other = (random_fragments(drugs, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_fragments_without_a_label_are_left_out_and_counted(
    drugs: PackedGraphs, caplog: pytest.LogCaptureFixture
) -> None:
    def small_only(smiles: list[str]) -> np.ndarray:
        values = np.array([float(len(text)) for text in smiles])
        return np.where(values < 20, values, np.nan)

    with caplog.at_level(logging.WARNING):
        more = with_fragments(drugs, small_only, seed=0)
    assert more.ids is not None and more.y is not None
    assert all(len(text) < 20 for text in more.ids[len(drugs) :])
    lost = 2 * len(drugs) - len(more)
    assert 0 < lost < len(drugs)
    assert f"{lost} of {len(drugs)} fragments have no label" in caplog.text
    assert with_fragments(drugs, lambda s: [float("nan")] * len(s), seed=0) is drugs


def test_fragments_can_take_the_place_of_the_molecules(drugs: PackedGraphs) -> None:
    both = with_fragments(drugs, qed, seed=0, per_molecule=2, shares=(0.2, 0.8))
    alone = with_fragments(drugs, qed, seed=0, per_molecule=2, shares=(0.2, 0.8), whole=False)
    assert both.ids is not None and alone.ids == both.ids[len(drugs) :]
    assert alone.y is not None and np.allclose(alone.y.numpy(), qed(alone.ids), atol=1e-6)
    with pytest.raises(InputError, match="no fragment has a label"):
        with_fragments(drugs, lambda s: [float("nan")] * len(s), seed=0, whole=False)


def test_classes_stay_classes() -> None:
    graphs = from_smiles(DRUGS, np.arange(len(DRUGS)) % 2).graphs
    more = with_fragments(graphs, lambda s: np.array([len(t) > 15 for t in s]), seed=0)
    assert more.y is not None and not more.y.is_floating_point()
    assert set(more.y.tolist()) == {0, 1}


def test_a_model_learns_from_them(drugs: PackedGraphs) -> None:
    model = SubgraphRecognizer("gin", hidden=8, epochs=2).fit(with_fragments(drugs, qed, seed=0))
    assert model.card_.features == "rich"
    assert np.isfinite(model.predict(DRUGS)).all()


def test_what_cannot_be_completed_is_refused(drugs: PackedGraphs) -> None:
    with pytest.raises(InputError, match="only molecules with labels"):
        with_fragments(generate_ba2motifs(3), qed, seed=0)
    with pytest.raises(InputError, match="only molecules with labels"):
        with_fragments(from_smiles(DRUGS).graphs, qed, seed=0)
    several = from_smiles(DRUGS, np.zeros((len(DRUGS), 2))).graphs
    with pytest.raises(InputError, match="one label each"):
        with_fragments(several, qed, seed=0)
    with pytest.raises(InputError, match="shares must lie between 0 and 1"):
        random_fragments(drugs, seed=0, shares=(0.9, 0.2))
