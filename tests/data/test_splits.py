"""Splits: each graph in one part, the same for the same seed, and of the sizes asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgib.data.splits import (
    Fractions,
    Split,
    file_order_split,
    random_split,
    scaffold_split,
    stratified_folds,
)
from vgib.errors import InputError

SHARES = st.tuples(st.integers(1, 20), st.integers(0, 20), st.integers(0, 20)).map(
    lambda parts: tuple(part / sum(parts) for part in parts)
)


def check_partition(split: Split, n: int) -> None:
    parts = (split.train, split.val, split.test)
    assert all(part.dtype == np.int64 for part in parts)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))


def equal(one: Split, other: Split) -> bool:
    return all(np.array_equal(getattr(one, p), getattr(other, p)) for p in ("train", "val", "test"))


@given(st.integers(3, 500), SHARES, st.integers(0, 2**32 - 1))
def test_random_parts_are_disjoint_cover_all_and_repeat(
    n: int, shares: Fractions, seed: int
) -> None:
    split = random_split(n, shares, seed=seed)
    check_partition(split, n)
    assert equal(split, random_split(n, shares, seed=seed))
    for part, share in zip((split.train, split.val, split.test), shares, strict=True):
        assert (len(part) > 0) == (share > 0)
        assert abs(len(part) - share * n) <= 2.5
        assert np.array_equal(part, np.sort(part))


def test_the_default_is_the_papers_85_5_10() -> None:
    assert repr(random_split(35_000)) == "Split(train=29750, val=1750, test=3500)"
    assert not equal(random_split(100, seed=0), random_split(100, seed=1))


@given(st.integers(3, 300), SHARES)
def test_file_order_keeps_the_order(n: int, shares: Fractions) -> None:
    split = file_order_split(n, shares)
    check_partition(split, n)
    assert np.array_equal(np.concatenate([split.train, split.val, split.test]), np.arange(n))


@given(
    st.lists(st.integers(10, 25), min_size=1, max_size=4), st.integers(3, 10), st.integers(0, 99)
)
def test_folds_partition_and_each_graph_is_tested_once(
    counts: list[int], folds: int, seed: int
) -> None:
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    splits = list(stratified_folds(y, folds, seed=seed))
    assert len(splits) == folds
    for split in splits:
        check_partition(split, len(y))
    tested = np.concatenate([split.test for split in splits])
    assert np.array_equal(np.sort(tested), np.arange(len(y)))
    for split, before in zip(splits, [splits[-1], *splits[:-1]], strict=True):
        assert np.array_equal(split.val, before.test)
        for label, count in enumerate(counts):
            assert abs((y[split.test] == label).sum() - count / folds) < 1


def test_the_default_folds_are_those_of_pygs_benchmark() -> None:
    from sklearn.model_selection import StratifiedKFold

    y = np.arange(188) % 3 > 0
    expected = StratifiedKFold(10, shuffle=True, random_state=12345).split(np.zeros(188), y)
    for split, (_, test) in zip(stratified_folds(y.astype(int)), expected, strict=True):
        assert np.array_equal(split.test, test)


@given(
    st.lists(st.sampled_from(["", *"abcdefghijklmnop"]), min_size=60, max_size=200),
    st.none() | st.integers(0, 99),
)
def test_a_scaffold_is_never_divided(scaffolds: list[str], seed: int | None) -> None:
    try:
        split = scaffold_split(scaffolds, (0.6, 0.2, 0.2), seed=seed)
    except InputError as error:
        assert "leave a part empty" in str(error)
        return
    check_partition(split, len(scaffolds))
    assert equal(split, scaffold_split(scaffolds, (0.6, 0.2, 0.2), seed=seed))
    parts = [{scaffolds[i] for i in part} - {""} for part in (split.train, split.val, split.test)]
    assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])


def test_frequent_scaffolds_train_and_rare_ones_test() -> None:
    scaffolds = ["common"] * 80 + ["second"] * 10 + list("abcdefghij")
    split = scaffold_split(scaffolds, (0.8, 0.1, 0.1))
    assert np.array_equal(split.train, np.arange(80))
    assert np.array_equal(split.val, np.arange(80, 90))
    assert np.array_equal(split.test, np.arange(90, 100))


def test_molecules_without_a_scaffold_are_dealt_out_one_by_one() -> None:
    assert repr(scaffold_split([""] * 100)) == "Split(train=85, val=5, test=10)"


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.5, 0.5, 0.5), (1.2, -0.1, -0.1), (1, 0, 0, 0)])
def test_impossible_fractions_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="three shares"):
        random_split(100, shares)  # type: ignore[arg-type]


def test_too_few_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="2 graphs are too few for 3 parts"):
        random_split(2)
    with pytest.raises(InputError, match="too few"):
        scaffold_split([])
    with pytest.raises(InputError, match="leave a part empty"):
        scaffold_split(["one"] * 50)
    with pytest.raises(InputError, match=r"10 folds need .* class 1 has 9"):
        stratified_folds([0] * 20 + [1] * 9)
    with pytest.raises(InputError, match="there are 0"):
        stratified_folds(np.empty(0, dtype=int))
    with pytest.raises(InputError, match="at least 3"):
        stratified_folds([0] * 20, 2)
    with pytest.raises(InputError, match="use random_split"):
        stratified_folds([0.5] * 20)
