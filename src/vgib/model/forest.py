"""The honest baseline: a random forest on fingerprints, trained on what a model was trained on.

On a few thousand measured molecules a forest on counted circular substructures is hard to beat, and
it takes seconds. Its quality stands in the model's card; the forest itself is not kept.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vgib import metrics
from vgib.chem.contributions import circular_counts
from vgib.data.packed import PackedGraphs
from vgib.metrics import Array, Estimate
from vgib.model.labels import as_targets

if TYPE_CHECKING:
    from vgib.model.recognizer import SubgraphRecognizer

TREES = 100
FEATURES = 0.1
"""The share of the substructures that are tried at a branch."""

MOST_IN_A_TREE = 5_000
"""Molecules that one tree learns from, so that a large set takes no longer than a small one."""

MOST_MOLECULES = 20_000
"""Training molecules whose fingerprints are held in memory; of more, a random choice."""


class _Value(NamedTuple):
    """One number that model and forest predict of test molecules."""

    name: str
    measure: str
    train: Array
    test: Array
    said: Array


class BesideForest(NamedTuple):
    """A model beside the forest.

    Attributes:
        metrics: For the card: the forest's quality, and how much better it is, with its interval.
        caution: A sentence for people where the forest is better, else empty.
    """

    metrics: dict[str, Any]
    caution: str


def beside_forest(
    model: "SubgraphRecognizer", train: PackedGraphs, test: PackedGraphs, *, seed: int = 0
) -> BesideForest:
    """Trains the forest on the same molecules and judges both on the same others.

    Args:
        train: Labeled molecules; those that the model was validated on may be among them.
        test: Labeled molecules that neither has seen.
    """
    assert train.ids is not None and test.ids is not None
    chosen = np.random.default_rng(seed).permutation(len(train))[:MOST_MOLECULES]
    table = _counts([train.ids[row] for row in chosen.tolist()])
    new = _counts(test.ids)
    found: dict[str, Any] = {}
    better = []
    for one in _values(model, train[chosen], test):
        known, judged = ~np.isnan(one.train), ~np.isnan(one.test)
        if known.sum() < 2 or judged.sum() < 2:
            continue
        forest = _fitted(table[known], one.train[known], one.measure, seed)
        own, y = one.said[judged], one.test[judged]
        ask = forest.predict_proba if one.measure == "roc_auc" else forest.predict
        told = ask(new[judged]).reshape(len(y), -1)[:, -1]
        quality, before, gain = _compared(_SCORES[one.measure], told, own, y)
        found[f"control_forest_{one.name}"] = quality.to_json()
        found[f"forest_gain_{one.name}"] = gain.to_json()
        if gain.value > 0:
            better.append(_sentence(one.name, quality, before, gain))
    return BesideForest(found, " ".join(better))


def _values(
    model: "SubgraphRecognizer", train: PackedGraphs, test: PackedGraphs
) -> Iterator[_Value]:
    card = model.card_
    train, test = (as_targets(some, card.task, card.classes) for some in (train, test))
    assert train.y is not None and test.y is not None
    old, new = train.y.numpy().astype(float), test.y.numpy().astype(float)
    if card.classes is not None:
        chances = model.predict_proba(test)
        if len(card.classes) == 2:
            yield _Value("roc_auc", "roc_auc", old, new, chances[:, 1])
        else:
            yield _Value("accuracy", "accuracy", old, new, chances.argmax(1))
        return
    said = model.predict(test).reshape(len(test), -1)
    for place in range(card.outputs):
        name = f"r_squared_of_{card.targets[place]}" if card.targets else "r_squared"
        before, after = (values.reshape(len(values), -1)[:, place] for values in (old, new))
        yield _Value(name, "r_squared", before, after, said[:, place])


def _counts(smiles: "list[str] | tuple[str, ...]") -> Array:
    return np.stack([circular_counts(text) for text in smiles])


def _fitted(table: Array, y: Array, measure: str, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor  # slow to import

    shape = {"max_features": FEATURES, "max_samples": min(1.0, MOST_IN_A_TREE / len(y))}
    kind = RandomForestRegressor if measure == "r_squared" else RandomForestClassifier
    return kind(TREES, random_state=seed, **shape).fit(table, y)


def _share_explained(said: Array, y: Array) -> float:
    spread = np.square(y - y.mean()).sum()
    return float(1 - np.square(y - said).sum() / spread) if spread > 0 else float("nan")


_SCORES: dict[str, Callable[[Array, Array], float]] = {
    "accuracy": lambda said, y: float((said == y).mean()),
    "roc_auc": lambda said, y: metrics.area_under_roc(said, y > 0),
    "r_squared": _share_explained,
}


def _compared(
    score: Callable[[Array, Array], float], forest: Array, own: Array, y: Array
) -> tuple[Estimate, Estimate, Estimate]:
    """The forest's score, the model's, and the difference, each on the same resampled molecules."""

    def of(said: Array) -> Callable[[Array], float]:
        return lambda index: score(said[index], y[index])

    first, second = of(forest), of(own)
    either = (first, second, lambda index: first(index) - second(index))
    forests, owns, gains = (metrics.bootstrap(one, len(y)) for one in either)
    return forests, owns, gains


def _sentence(name: str, forest: Estimate, own: Estimate, gain: Estimate) -> str:
    sure = "" if gain.low > 0 else "; the difference is within chance"
    return (
        f"A random forest on fingerprints predicts the same {own.n} held-out molecules better: "
        f"{metrics.in_words(name)} {forest.value:.2f} against {own.value:.2f}{sure}."
    )
