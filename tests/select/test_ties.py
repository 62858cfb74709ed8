"""Values that count as equal."""

import numpy as np

from vgib.select.ties import TIE, best, levels

NOISE = 2e-7


def test_levels_are_ranks_where_nothing_is_a_tie() -> None:
    values = np.random.default_rng(0).permutation(50) / 50
    assert levels(values).tolist() == (-values).argsort().argsort().tolist()


def test_noise_of_a_batch_does_not_change_the_order() -> None:
    draw = np.random.default_rng(0)
    values = draw.integers(0, 5, size=200) / 5
    noisy = values + NOISE * draw.uniform(-1, 1, size=200)
    assert levels(noisy).tolist() == levels(values).tolist()
    assert best(noisy).tolist() == np.argsort(-values, kind="stable").tolist()
    assert best(-noisy, 3).tolist() == np.argsort(values, kind="stable")[:3].tolist()


def test_a_difference_above_a_tie_decides() -> None:
    assert best([0.5, 0.5 + 2 * TIE]).tolist() == [1, 0]
    assert best([0.5, 0.5 + TIE / 2]).tolist() == [0, 1]


def test_groups_come_one_after_the_other_and_have_their_own_ties() -> None:
    assert levels([0.1, 0.9, 0.1, 0.9], [1, 1, 0, 0]).tolist() == [3, 2, 1, 0]
    assert levels([0.5, 0.5], [0, 1]).tolist() == [0, 1]
    assert levels([]).tolist() == [] and levels([3.0]).tolist() == [0]
