"""Training data with wrong labels and with few graphs."""

import numpy as np
import pytest

from vgib.data.known import KnownAnswers
from vgib.data.splits import random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.experiments.spoiled.work import spoil


@pytest.fixture(scope="module")
def known() -> KnownAnswers:
    graphs = generate_ba2motifs(100, seed=0)
    return KnownAnswers(graphs, (None,) * 100, random_split(100, (0.6, 0.2, 0.2), seed=0))


def wrong(spoiled: KnownAnswers, known: KnownAnswers) -> set[int]:
    assert spoiled.graphs.y is not None and known.graphs.y is not None
    return set(np.flatnonzero(spoiled.graphs.y.numpy() != known.graphs.y.numpy()).tolist())


def test_a_share_of_the_labels_is_wrong_in_training_and_validation_and_none_in_the_test(
    known: KnownAnswers,
) -> None:
    found = spoil(known, flipped=0.2, left=1.0, seed=3)
    turned = wrong(found, known)
    assert len(turned & set(known.split.train.tolist())) == 12
    assert len(turned & set(known.split.val.tolist())) == 4
    assert not turned & set(known.split.test.tolist())
    assert wrong(spoil(known, flipped=0.2, left=1.0, seed=3), known) == turned
    assert wrong(spoil(known, flipped=0.2, left=1.0, seed=4), known) != turned


def test_a_share_of_the_graphs_stays_and_all_are_tested(known: KnownAnswers) -> None:
    found = spoil(known, flipped=0.0, left=0.1, seed=0)
    assert len(found.split.train) == 6 and len(found.split.val) == 2
    assert set(found.split.train.tolist()) <= set(known.split.train.tolist())
    assert np.array_equal(found.split.test, known.split.test)
    assert not wrong(found, known)


def test_the_set_itself_is_left_as_it_is(known: KnownAnswers) -> None:
    assert known.graphs.y is not None
    before = known.graphs.y.clone()
    spoil(known, flipped=0.4, left=0.5, seed=0)
    assert known.graphs.y.equal(before) and len(known.split.train) == 60
