"""Cross-validation of a model on a user's own graphs: every graph is in one test fold."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from vgib.data.packed import PackedGraphs
from vgib.data.splits import FOLD_SEED, Split, stratified_folds
from vgib.errors import InputError
from vgib.model.labels import task_of, with_labels
from vgib.model.recognizer import SubgraphRecognizer

Fold = dict[str, Any]


def cross_validate(
    model: SubgraphRecognizer,
    graphs: PackedGraphs,
    folds: int = 10,
    *,
    seed: int = FOLD_SEED,
    on_fold: Callable[[Fold], None] | None = None,
) -> list[Fold]:
    """Trains a fresh copy of the model for each fold and judges it on that fold.

    The fold before the test fold is for validation, as in Table 4. Classes are stratified.

    Returns:
        For each fold its sizes, and every metric of :meth:`SubgraphRecognizer.evaluate`.
    """
    found = []
    for number, split in enumerate(splits(with_labels(graphs), folds, model, seed)):
        fresh = SubgraphRecognizer(**model.get_params())
        fresh.fit(graphs[split.train], val=graphs[split.val])
        metrics = fresh.evaluate(graphs[split.test])
        fold = {
            "fold": number,
            "train_graphs": len(split.train),
            "test_graphs": len(split.test),
            "best_epoch": fresh.history_.best_epoch + 1,
            "metrics": {name: estimate["value"] for name, estimate in metrics.items()},
        }
        found.append(fold)
        if on_fold is not None:
            on_fold(fold)
    return found


def splits(
    graphs: PackedGraphs, folds: int, model: SubgraphRecognizer, seed: int
) -> Iterator[Split]:
    """Stratified folds of classes, random folds of values."""
    task, _ = task_of(graphs, model.task)
    assert graphs.y is not None
    if task == "classification":
        return stratified_folds(graphs.y.long().numpy(), folds, seed=seed)
    if not 3 <= folds <= len(graphs):
        raise InputError(f"folds must be from 3 to {len(graphs)}, one graph each; got {folds}")
    n = len(graphs)
    parts = np.array_split(np.random.default_rng(seed).permutation(n), folds)
    return iter(
        Split(np.setdiff1d(np.arange(n), [*test, *val]), np.sort(val), np.sort(test))
        for val, test in pairwise([parts[-1], *parts])
    )
