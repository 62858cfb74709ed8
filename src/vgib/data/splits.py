"""Who trains, who validates, who tests: index arrays only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vgib.errors import InputError

Index: TypeAlias = npt.NDArray[np.int64]
Fractions: TypeAlias = tuple[float, float, float]

PAPER_FRACTIONS: Fractions = (0.85, 0.05, 0.10)
FOLD_SEED = 12345
"""The seed of the folds in PyG's ``benchmark/kernel``."""


@dataclass(frozen=True, eq=False)
class Split:
    """Graph numbers (``int64``) for training, validation and test; each graph is in one of them."""

    train: Index
    val: Index
    test: Index

    def __repr__(self) -> str:
        return f"Split(train={len(self.train)}, val={len(self.val)}, test={len(self.test)})"


def random_split(n: int, fractions: Fractions = PAPER_FRACTIONS, *, seed: int = 0) -> Split:
    """A random split of ``n`` graphs; each part is in ascending order."""
    train, val, test = _cut(np.random.default_rng(seed).permutation(n), fractions)
    return Split(np.sort(train), np.sort(val), np.sort(test))


def file_order_split(n: int, fractions: Fractions = PAPER_FRACTIONS) -> Split:
    """The first graphs train, the next validate, the last test."""
    return Split(*_cut(np.arange(n, dtype=np.int64), fractions))


def reference_split(n: int, fractions: Fractions = PAPER_FRACTIONS) -> Split:
    """The split of the paper's published program: the first graphs test, the last ones validate.

    >>> reference_split(20).test
    array([0, 1])
    """
    train, val, test = _cut(np.arange(n, dtype=np.int64), fractions)
    order = np.roll(np.arange(n, dtype=np.int64), -len(test))
    return Split(order[train], order[val], order[test])


def stratified_folds(
    y: npt.ArrayLike, folds: int = 10, *, seed: int = FOLD_SEED
) -> Iterator[Split]:
    """Each fold once as the test set, the fold before it for validation, the rest for training.

    With the defaults these are the folds of PyG's ``benchmark/kernel``, where the first test fold
    validates on the last.

    Raises:
        InputError: there are fewer than three folds, or fewer graphs of a class than folds.
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise InputError(
            f"folds are stratified by one integer class for each graph, got {labels.dtype} of "
            f"shape {list(labels.shape)}; for values use random_split"
        )
    if folds < 3:
        raise InputError(f"folds must be at least 3 (train, validation, test), got {folds}")
    classes, counts = np.unique(labels, return_counts=True)
    if not len(counts) or counts.min() < folds:
        rare = (
            f"class {classes[counts.argmin()]} has {counts.min()}" if len(counts) else "there are 0"
        )
        raise InputError(f"{folds} folds need at least {folds} graphs of each class, but {rare}")
    return _folds(labels, folds, seed)


def _folds(labels: npt.NDArray[np.integer], folds: int, seed: int) -> Iterator[Split]:
    from sklearn.model_selection import StratifiedKFold

    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    tests = [test.astype(np.int64) for _, test in parts.split(np.zeros(len(labels)), labels)]
    for number, test in enumerate(tests):
        val = tests[number - 1]
        is_train = np.ones(len(labels), dtype=bool)
        is_train[test] = is_train[val] = False
        yield Split(np.flatnonzero(is_train), val, test)


def scaffold_split(
    scaffolds: Sequence[str], fractions: Fractions = PAPER_FRACTIONS, *, seed: int | None = None
) -> Split:
    """A split in which molecules of one scaffold stay together; each part is in ascending order.

    Scaffolds are dealt out from the most to the least frequent (with a ``seed``: in random order),
    each to the first of training, validation and test that still has room for all of its molecules,
    and to the part that lacks most when none has. Molecules without a scaffold ("") have no ring
    system in common and are dealt out one by one.

    Raises:
        InputError: the scaffolds are too few or too large to leave something for every part.
    """
    _, first, group = np.unique(
        np.asarray(scaffolds, dtype=str), return_index=True, return_inverse=True
    )
    group = np.asarray(group)
    alone = np.flatnonzero([not scaffold for scaffold in scaffolds])
    group[alone] = len(first) + np.arange(len(alone))
    names, group, sizes = np.unique(group, return_inverse=True, return_counts=True)
    room = _sizes(len(group), fractions)
    wanted = room.copy()
    order = np.argsort(-sizes, kind="stable")
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(names))
    part_of = np.empty(len(names), dtype=np.int64)
    for number in order:
        fitting = np.flatnonzero(room >= sizes[number])
        part_of[number] = fitting[0] if len(fitting) else room.argmax()
        room[part_of[number]] -= sizes[number]
    parts = part_of[group]
    split = Split(*(np.flatnonzero(parts == part) for part in range(3)))
    if any(
        want and not len(got)
        for want, got in zip(wanted, (split.train, split.val, split.test), strict=True)
    ):
        raise InputError(
            f"{len(names)} scaffolds of {len(group)} molecules, the largest with {sizes.max()}, "
            f"leave a part empty ({split}); use random_split or other fractions"
        )
    return split


def _cut(order: Index, fractions: Fractions) -> tuple[Index, Index, Index]:
    train, val, _ = _sizes(len(order), fractions)
    order = order.astype(np.int64)
    return order[:train], order[train : train + val], order[train + val :]


def _sizes(n: int, fractions: Fractions) -> Index:
    """How many of ``n`` go to each part: rounded, but at least one where a share is above 0."""
    shares = np.asarray(fractions, dtype=float)
    if shares.shape != (3,) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise InputError(
            f"fractions must be three shares (train, validation, test) with sum 1, got {fractions}"
        )
    asked = shares > 0
    if n < asked.sum():
        raise InputError(f"{n} graphs are too few for {asked.sum()} parts; give at least that many")
    sizes = np.maximum(np.floor(shares * n + 0.5).astype(np.int64), asked)
    # Rounding may miss n by a few; the largest part can spare or take them.
    sizes[sizes.argmax()] += n - sizes.sum()
    return sizes
