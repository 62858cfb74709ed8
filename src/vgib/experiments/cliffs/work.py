"""Does the jobs: predicts the activity of test molecules, and says which change raised it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestRegressor

from vgib.chem.contributions import circular_counts, crippen_contributions, masked_counts
from vgib.experiments.cliffs.job import CliffsJob
from vgib.experiments.cliffs.pairs import CliffPair, Target, load_target
from vgib.experiments.engine.finished import Finished
from vgib.registry import Registry

Values = npt.NDArray[np.float64]


class CliffMethod(ABC):
    """A method that may predict activities, and gives each atom a signed effect."""

    def fit(self, smiles: Sequence[str], activity: Values, job: CliffsJob) -> Self:
        """Learns from the training molecules; a method without parameters need not."""
        return self

    def predict(self, smiles: Sequence[str]) -> Values | None:
        """The activities; ``None`` for a method that predicts none."""
        return None

    @abstractmethod
    def effects(self, smiles: str) -> Values:
        """By how much each atom raises the activity, ``float [atoms]``."""


methods = Registry[CliffMethod]("method on activity cliffs")
"""Methods by the name of their row; one more is one more class here."""


@methods.register("crippen")
class CrippenMethod(CliffMethod):
    """No model at all: what makes a molecule more lipophilic is said to make it more active."""

    def effects(self, smiles: str) -> Values:
        """The shares of logP."""
        return crippen_contributions(smiles)


@methods.register("forest")
class ForestMethod(CliffMethod):
    """A random forest on counted circular substructures; an atom's effect is the change when it
    becomes a dummy atom."""

    def fit(self, smiles: Sequence[str], activity: Values, job: CliffsJob) -> Self:
        """Trains the forest."""
        self.shape = {"radius": job.radius, "bits": job.bits}
        table = np.stack([circular_counts(text, **self.shape) for text in smiles])
        self.forest = RandomForestRegressor(job.trees, random_state=job.seed).fit(table, activity)
        return self

    def predict(self, smiles: Sequence[str]) -> Values:
        """The mean of the trees."""
        table = np.stack([circular_counts(text, **self.shape) for text in smiles])
        return np.asarray(self.forest.predict(table), dtype=np.float64)

    def effects(self, smiles: str) -> Values:
        """What is predicted of the molecule less what is predicted without the atom."""
        found = self.forest.predict(masked_counts(smiles, **self.shape))
        return np.asarray(found[0] - found[1:], dtype=np.float64)


def run(
    job: CliffsJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains on the target of the job, read from the mirror, and judges its predictions."""
    methods.get(job.method)
    return judge(job, load_target(job.target, mirror))


def judge(job: CliffsJob, target: Target) -> Finished:
    """Does the job on molecules and pairs that are at hand."""
    begun = perf_counter()
    train, test = np.flatnonzero(~target.is_test), np.flatnonzero(target.is_test)
    learned = [target.smiles[place] for place in train]
    method = methods.make(job.method).fit(learned, target.activity[train], job)
    trained = perf_counter()
    predicted = method.predict([target.smiles[place] for place in test])
    result: dict[str, Any] = {"train": len(train), "test": len(test)}
    result |= errors(predicted, target.activity[test], target.is_cliff[test])
    molecules = dict.fromkeys(text for pair in target.pairs for text in pair.smiles)
    right = directions(target.pairs, {text: method.effects(text) for text in molecules})
    both = np.array([all(pair.held_out) for pair in target.pairs], dtype=np.bool_)
    for name, chosen in (("test", both), ("touching", np.ones_like(both))):
        result[f"pairs_{name}"] = int(chosen.sum())
        result[f"right_{name}"] = float(right[chosen].sum())
        result[f"direction_{name}"] = float(right[chosen].mean()) if chosen.any() else None
    seconds = {"training": trained - begun, "job": perf_counter() - begun}
    return Finished(result, {name: round(value, 3) for name, value in seconds.items()})


def errors(
    predicted: Values | None, activity: Values, is_cliff: npt.NDArray[np.bool_]
) -> dict[str, float | None]:
    """The root mean squared error on all test molecules, and on those of cliffs."""
    if predicted is None:
        return {"rmse": None, "cliff_rmse": None}
    squared = (predicted - activity) ** 2
    on_cliffs = float(np.sqrt(squared[is_cliff].mean())) if is_cliff.any() else None
    return {"rmse": float(np.sqrt(squared.mean())), "cliff_rmse": on_cliffs}


def directions(pairs: Sequence[CliffPair], effects: Mapping[str, Values]) -> Values:
    r"""Whether the gain is on the side where it was measured: 1, 0, or one half for a tie.

    .. math:: \operatorname{sign}\Bigl(\sum_{a \in U_i} s_a - \sum_{a \in U_j} s_a\Bigr)
              = \operatorname{sign}(p_i - p_j)

    with :math:`U` the atoms that the other molecule lacks ("global direction", Jiménez-Luna et al.,
    "Benchmarking molecular feature attribution methods with activity cliffs", J. Chem. Inf. Model.
    2022).
    """
    told = [
        sum(
            sign * effects[text][list(atoms)].sum()
            for sign, text, atoms in zip((1, -1), pair.smiles, pair.differing, strict=True)
        )
        for pair in pairs
    ]
    measured = np.sign([pair.difference for pair in pairs])
    return np.asarray((1 + np.sign(told) * measured) / 2, dtype=np.float64)
