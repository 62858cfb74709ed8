"""The protocol of Table 1: what is selected, judged and compared."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table1.atlas import atlas_of
from vgib.experiments.table1.job import InterpretationJob
from vgib.experiments.table1.molecules import DividedMolecules, trained
from vgib.experiments.table1.work import (
    _shared,
    among_new,
    averaged,
    counted,
    judge,
    nodes_of,
    run,
    run_on,
    thousandths,
)
from vgib.oracles.registry import get
from vgib.select.random import random_connected

METHODS = recipe("table1").grid["method"]


def job(method: str = "vgib-paper", **more: Any) -> Any:
    subset = {"version": "list", "property": "qed", "method": method, "seed": 0}
    overrides = {"epochs": 1, "keeps": [0.3, 0.5, 0.9], "features": "element"} | more
    (made,) = recipe("table1").jobs(overrides, subset)
    assert isinstance(made, InterpretationJob)
    return made


@pytest.mark.parametrize("method", METHODS)
def test_every_row_gives_a_full_result(drugs: DividedMolecules, method: str) -> None:
    done = run_on(job(method), drugs)
    result = done.result
    json.dumps(result, allow_nan=False)
    assert result["test_molecules"] == 8 and result["test_error"] > 0
    assert "seconds" not in result["history"][0]
    assert all(epoch["epoch"] == epoch.get("stage", 1) for epoch in result["history"])
    for part in ("paper", "ring_intact", "half"):
        told = result[part]
        assert told["best"] <= told["random"]
        assert 0 < told["kept_share"] <= 1 and told["valid_share"] == 1 and told["not_judged"] == 0
        assert len(told["each"]) == len(told["each_random"]) == len(told["each_best"]) == 8
        assert np.mean(told["each"]) == pytest.approx(1000 * told["divergence"], abs=1)
        # The best of a size is no better than the best of it and its neighbors.
        assert (np.array(told["each_same_best"]) >= told["each_best"]).all()
        if part != "paper":  # which cuts rings, and may be better than the best that cuts none
            assert told["best"] <= told["divergence"] + 1e-9
            assert (np.array(told["each_same_best"]) <= told["each"]).all()
    assert 0 <= result["paper"]["connected_share"] <= 1
    assert set(done.seconds) == {"job", "training", "epoch", "cpu"}


def test_divergence_falls_with_size_whatever_is_kept(drugs: DividedMolecules) -> None:
    result = run_on(job(), drugs).result
    assert [point["keep"] for point in result["curve"]] == [0.3, 0.5, 0.9]
    for name in ("random", "best"):
        values = [point[name] for point in result["curve"]]
        assert values == sorted(values, reverse=True)
    kept = [point["kept_share"] for point in result["curve"]]
    assert kept == pytest.approx([0.3, 0.5, 0.9], abs=0.12)
    assert len(result["random_connected"]) == 3


def test_a_fixed_share_is_kept_before_repair(drugs: DividedMolecules) -> None:
    result = run_on(job("att07"), drugs).result
    assert result["ring_intact"]["kept_share"] == pytest.approx(0.7, abs=0.1)
    assert result["paper"]["kept_share"] <= 0.75


def test_the_same_job_gives_the_same_result(drugs: DividedMolecules) -> None:
    first, second = (run_on(job(), drugs).result for _ in range(2))
    assert first == second


def test_the_predictor_can_decide_after_training_on_fragments(drugs: DividedMolecules) -> None:
    more = {"rule": "guided", "fragments": 1, "keep": 0.5, "encoder": "gin"}
    result = run_on(job(preset="recommended", **more), drugs).result
    assert result["train_molecules"] == 200 and result["test_molecules"] == 8
    assert result["half"]["kept_share"] == pytest.approx(0.5, abs=0.15)


def test_what_was_trained_on_is_no_candidate_among_the_new_ones(drugs: DividedMolecules) -> None:
    asked = job("none-guided", fragments=1, epochs=1)
    made = trained(asked, drugs)
    assert drugs.test.ids is not None
    atlas = atlas_of(get("qed"), drugs.test.ids)
    assert judge(asked, made).result["new"] == among_new(asked, made.model, made.parts, atlas)
    # Were every part of the first molecule trained on, there would be nothing to choose.
    known = replace(drugs.train, ids=(*atlas.texts[0].values(),))
    learned = among_new(asked, made.model, replace(drugs, train=known), atlas)
    assert learned["each"][0] is None and 1 / 8 <= learned["known_share"] < 1
    # With nothing trained on, the choice and its controls are those of all parts.
    nothing = replace(drugs, train=replace(drugs.train, ids=("",)))
    free, usual = among_new(asked, made.model, nothing, atlas), judge(asked, made).result["half"]
    assert free["known_share"] == 0
    assert np.mean(free["each"]) == pytest.approx(np.mean(usual["each"]), abs=40)
    assert (np.array(free["each_best"]) <= free["each"]).all()


def test_rows_of_one_training_share_it(mirror: Path, tmp_path: Path) -> None:
    asked = {"molecules": 200, "tested": 5, "trained": 50, "epochs": 1, "fragments": 1}
    rows = [job(name, **asked) for name in ("vgib-paper-guided", "vgib-paper-large")]
    _shared.cache_clear()
    guided, scored = (run(row, mirror=mirror, cache=tmp_path) for row in rows)
    assert _shared.cache_info().misses == 1 and _shared.cache_info().hits == 1
    assert guided.seconds["cpu"] == scored.seconds["cpu"]
    assert guided.result["history"] == scored.result["history"]
    assert guided.result["paper"] == scored.result["paper"]
    assert guided.result["half"] != scored.result["half"]
    _shared.cache_clear()
    assert run(rows[1], mirror=mirror, cache=tmp_path).result == scored.result


def test_several_draws_are_averaged_over_what_is_known(drugs: DividedMolecules) -> None:
    graphs = drugs.test
    assert graphs.ids is not None
    atlas = atlas_of(get("qed"), graphs.ids)
    rng = np.random.default_rng(0)
    masks = [random_connected(graphs, 5, rng) for _ in range(2)]
    single = [atlas.judge(nodes_of(mask, graphs)).divergence for mask in masks]
    assert averaged(atlas, graphs, masks).divergence == pytest.approx(np.mean(single, axis=0))
    assert counted(masks[0], graphs).tolist() == [5] * 8


def test_what_is_not_known_is_left_empty() -> None:
    assert thousandths(np.array([0.1234, np.nan, 2.0])) == [123, None, 2000]
