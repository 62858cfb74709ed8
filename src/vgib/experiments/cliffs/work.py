"""Does the jobs: predicts the activity of test molecules, and says which change raised it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestRegressor
from torch import Tensor

from vgib.chem.contributions import circular_counts, crippen_contributions, masked_counts
from vgib.data.sources import Places
from vgib.experiments.cliffs.job import CliffsJob
from vgib.experiments.cliffs.pairs import CliffPair, Target, load_target
from vgib.experiments.engine.finished import Finished
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.ig import IntegratedGradients
from vgib.explain.methods.occlusion import single_drops
from vgib.model.recognizer import SubgraphRecognizer
from vgib.registry import Registry

Values = npt.NDArray[np.float64]

MEMBERS = 3
"""Networks that ``vgib train`` trains."""


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
        return crippen_contributions(smiles)


@methods.register("forest")
class ForestMethod(CliffMethod):
    """A random forest on counted circular substructures; an atom's effect is the change when it
    becomes a dummy atom."""

    def fit(self, smiles: Sequence[str], activity: Values, job: CliffsJob) -> Self:
        self.shape = {"radius": job.radius, "bits": job.bits}
        table = np.stack([circular_counts(text, **self.shape) for text in smiles])
        self.forest = RandomForestRegressor(job.trees, random_state=job.seed).fit(table, activity)
        return self

    def predict(self, smiles: Sequence[str]) -> Values:
        table = np.stack([circular_counts(text, **self.shape) for text in smiles])
        return np.asarray(self.forest.predict(table), dtype=np.float64)

    def effects(self, smiles: str) -> Values:
        """What is predicted of the molecule less what is predicted without the atom."""
        found = self.forest.predict(masked_counts(smiles, **self.shape))
        return np.asarray(found[0] - found[1:], dtype=np.float64)


class TrainedMethod(CliffMethod):
    """Networks as ``vgib train`` makes them; how they are explained is each row's own."""

    def fit(self, smiles: Sequence[str], activity: Values, job: CliffsJob) -> Self:
        """Trains the networks, or takes those that the row before has trained."""
        self.model = _trained(tuple(smiles), tuple(activity.tolist()), job.seed)
        return self

    def predict(self, smiles: Sequence[str]) -> Values:
        """The mean of the networks."""
        return np.asarray(self.model.predict(list(smiles)), dtype=np.float64).ravel()


@lru_cache(maxsize=1)
def _trained(smiles: tuple[str, ...], activity: tuple[float, ...], seed: int) -> SubgraphRecognizer:
    """The same networks for every row: targets stand before methods in the recipe."""
    labels = np.array(activity)
    untrained = SubgraphRecognizer(seed=seed).copies(MEMBERS)
    return SubgraphRecognizer.together([one.fit(list(smiles), labels) for one in untrained])


@methods.register("vgib")
class GateMethod(TrainedMethod):
    """The scores of the gate, with the sign of the effect that the model tells of each atom."""

    def effects(self, smiles: str) -> Values:
        """Scores, negative where the atom lowers the prediction."""
        answer = self.model.answer([smiles])
        return np.asarray(answer.node_scores * np.sign(answer.effects), dtype=np.float64)


@methods.register("vgib-myerson")
class MyersonMethod(TrainedMethod):
    """The effects that every verb tells: Myerson values of rings, groups and chains."""

    def effects(self, smiles: str) -> Values:
        """The value of each piece, shared equally by its atoms."""
        return np.asarray(self.model.answer([smiles]).effects, dtype=np.float64)


class AttributedMethod(TrainedMethod):
    """A post-hoc method that gives each atom a signed number, averaged over the networks."""

    def effects(self, smiles: str) -> Values:
        """The mean over the networks."""
        found = []
        for member in self.model.members():
            frozen = Frozen(member.net_, task="regression")
            case = Case.of(frozen, member.pack([smiles]).batch())
            found.append(self.attributed(case).detach().double().numpy())
        return np.asarray(np.mean(found, 0), dtype=np.float64)

    @abstractmethod
    def attributed(self, case: Case) -> Tensor:
        """What each atom adds to the output of one network."""


@methods.register("vgib-occlusion")
class OcclusionMethod(AttributedMethod):
    """What is predicted of the molecule less what is predicted without the atom."""

    def attributed(self, case: Case) -> Tensor:
        return single_drops(case)


@methods.register("vgib-ig")
class GradientsMethod(AttributedMethod):
    """Integrated gradients of the prediction."""

    def attributed(self, case: Case) -> Tensor:
        return IntegratedGradients().attributions(case)


def run(job: CliffsJob, **places: Unpack[Places]) -> Finished:
    """Trains on the target of the job, read from the mirror, and judges its predictions."""
    methods.get(job.method)
    return judge(job, load_target(job.target, places.get("mirror")))


def judge(job: CliffsJob, target: Target) -> Finished:
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
