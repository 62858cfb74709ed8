"""Training as it goes: steps, terms, seconds."""

from typing import Any

import pytest
import torch

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table1.molecules import DividedMolecules
from vgib.experiments.table2.job import DynamicsJob
from vgib.experiments.table2.work import Trace, run_on


def job(name: str, method: str, **more: Any) -> Any:
    (made,) = recipe(name).jobs(
        {"epochs": 1, **more}, {"version": "list", "seed": 0, "method": method}
    )
    assert isinstance(made, DynamicsJob)
    return made


def test_a_trace_holds_means_and_counts_what_is_below_zero() -> None:
    trace = Trace(2)
    for value in (1.0, -3.0, 5.0, -1.0, 7.0):
        trace({"compression": torch.tensor(value), "prediction": torch.tensor(2.0)})
    told = trace.told()
    assert told["steps"] == 5 and told["negative_steps"] == 2 and told["lowest_compression"] == -3
    assert [point["compression"] for point in told["trace"]] == [-1, 2]
    assert [point["step"] for point in told["trace"]] == [2, 4]


def test_without_a_trace_only_the_time_is_taken(drugs: DividedMolecules) -> None:
    done = run_on(job("table2", "att05"), drugs)
    assert done.result == {"train_molecules": 100, "epochs": 1, "steps": 4}
    assert done.seconds["cpu"] > 0


@pytest.mark.parametrize("method", ["vgib-paper", "gib"])
def test_training_is_followed_step_by_step(drugs: DividedMolecules, method: str) -> None:
    result = run_on(job("figure1", method, every=1), drugs).result
    assert result["steps"] == len(result["trace"]) == (4 if method == "vgib-paper" else 1)
    assert {"prediction", "compression", "loss", "kept"} <= set(result["trace"][0])
