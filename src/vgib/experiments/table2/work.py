"""How training goes and how long it takes (Table 2, Figure 1)."""

from typing import Any, Unpack

from torch import Tensor

from vgib.data.sources import Places
from vgib.experiments.engine.finished import Finished
from vgib.experiments.table1.molecules import (
    DividedMolecules,
    parts_of,
    trained,
)
from vgib.experiments.table2.job import DynamicsJob

TERMS = ("prediction", "clean", "subgraph", "compression", "connectivity", "loss", "kept")


class Trace:
    """The terms of training, a mean over every so many steps.

    With 0 steps it keeps nothing but their count.
    """

    def __init__(self, every: int) -> None:
        self.every, self.steps = every, 0
        self.means: list[dict[str, float]] = []
        self.lowest = 0.0
        self.negative = 0
        self._sums: dict[str, float] = {}

    def __call__(self, terms: dict[str, Tensor]) -> None:
        self.steps += 1
        if not self.every:
            return
        values = {name: float(terms[name].detach()) for name in TERMS if name in terms}
        self.negative += values.get("compression", 0.0) < 0
        self.lowest = min(self.lowest, values.get("compression", 0.0))
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        if self.steps % self.every == 0:
            shares = {name: round(total / self.every, 5) for name, total in self._sums.items()}
            self.means.append({"step": self.steps} | shares)
            self._sums = {}

    def told(self) -> dict[str, Any]:
        """How many steps there were, and where the compression term went below zero."""
        told: dict[str, Any] = {"steps": self.steps}
        if self.every:
            told |= {"trace": self.means, "negative_steps": self.negative}
            told["lowest_compression"] = self.lowest
        return told


def run(job: DynamicsJob, **places: Unpack[Places]) -> Finished:
    """Trains a model and watches."""
    return run_on(job, parts_of(job, **places))


def run_on(job: DynamicsJob, parts: DividedMolecules) -> Finished:
    """Runs a job on molecules that are at hand; only training is timed, not reading."""
    trace = Trace(job.every)
    made = trained(job, parts, on_step=trace)
    epochs = len(made.model.history_.epochs)
    result = {"train_molecules": len(made.parts.train), "epochs": epochs, **trace.told()}
    return Finished(result, made.seconds)
