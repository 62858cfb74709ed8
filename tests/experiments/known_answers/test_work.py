"""One method on graphs with known explanations, at toy size."""

import json
from pathlib import Path
from typing import Any

import pytest

from vgib.data.known import KnownAnswers
from vgib.data.splits import random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.experiments.known_answers.job import KnownAnswersJob
from vgib.experiments.known_answers.work import by_protocol, compare, options_of, training_of


def job(module: str, life: str = "trained", **changes: Any) -> KnownAnswersJob:
    made: KnownAnswersJob = KnownAnswersJob.of(
        **{
            "life": life,
            "dataset": "BA-2Motifs",
            "method": module,
            "module": module,
            "seed": 1,
            "hidden": 8,
            "epochs": 2,
            "steps": 2,
            "authors_epochs": 2,
            "batch_size": 32,
        }
        | changes
    )
    return made


@pytest.fixture(scope="module")
def known() -> KnownAnswers:
    graphs = generate_ba2motifs(60, seed=0)
    motif = ((20, 21, 22, 23, 24),)
    # The house is the absence of a cycle here, so that some graphs have no explanation.
    alternatives = tuple(motif if number % 2 == 0 else () for number in range(60))
    return KnownAnswers(graphs, alternatives, random_split(60, (0.5, 0.25, 0.25), seed=0))


@pytest.mark.parametrize(
    ("module", "changes"),
    [
        ("none", {}),
        ("attention", {}),
        ("vgib", {"own_cut": True}),
        ("gsat", {"authors": True}),
        ("gmt-sam", {"authors": True, "options": {"draws": 2}}),
    ],
)
def test_a_record_of_a_method_that_is_trained_with_the_network(
    known: KnownAnswers, module: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    done = compare(job(module, **changes), known, tmp_path)
    result = json.loads(json.dumps(done.result, allow_nan=False))
    assert result["graphs"] == 15
    shares = ("iou", "iou_true", "node_auc", "edge_auc", "accuracy", "part_accuracy", "share")
    assert all(0 <= result[name] <= 1 for name in shares)
    assert result["wrongly_marked"] is not None
    assert done.seconds["training"] > 0
    own = result["by_cut"]["half" if changes.get("own_cut") else "sufficient"]
    assert result["iou"] == own["iou"]


@pytest.mark.parametrize("module", ["gradcam", "random", "random-connected"])
def test_a_record_of_a_method_on_a_frozen_network(
    known: KnownAnswers, module: str, tmp_path: Path
) -> None:
    done = compare(job(module, "posthoc"), known, tmp_path)
    again = compare(job(module, "posthoc"), known, tmp_path)
    assert done.result == again.result
    assert done.result["by_cut"]["sufficient"]["kept"] > 0


def test_only_attention_is_told_where_to_look() -> None:
    assert options_of(job("gsat", attention_on="nodes", keep_rate=0.7)) == {
        "on": "nodes",
        "rate": 0.7,
    }
    assert options_of(job("vgib", options={"beta": 0.0}, keep_rate=0.7)) == {"beta": 0.0}


def test_small_sets_are_trained_for_as_many_steps() -> None:
    assert training_of(job("none", steps=30, batch_size=8), 80).epochs == 3
    assert training_of(job("none", steps=3, batch_size=8), 80).epochs == 2


def test_by_protocol_unmarked_mutagens_are_left_out_and_all_marked_ones_are_tested() -> None:
    graphs = generate_ba2motifs(10)
    alternatives = (None, (), ((1, 2),), (), None, (), ((3,),), (), ((4,),), ())
    found = by_protocol(KnownAnswers(graphs, alternatives, random_split(10)), seed=0).split
    assert found.test.tolist() == [2, 6, 8]
    assert sorted([*found.train, *found.val]) == [1, 2, 3, 5, 6, 7, 8, 9]
