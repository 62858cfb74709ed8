"""Methods on activity cliffs, at toy size."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.cliffs.toy import write_mirror

from vgib.config import PRESETS
from vgib.errors import UnknownNameError
from vgib.experiments.cliffs.job import CliffsJob
from vgib.experiments.cliffs.pairs import CliffPair
from vgib.experiments.cliffs.work import directions, errors, methods, run
from vgib.experiments.engine.recipe import recipe


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks are trained for a moment."""
    for name, value in {"steps": 4, "epochs": 1}.items():
        monkeypatch.setitem(PRESETS["recommended"].training, name, value)


def job(method: str, **changes: object) -> CliffsJob:
    made: CliffsJob = CliffsJob.of(
        **{"method": method, "target": "T_Ki", "seed": 0, "trees": 20, "bits": 256} | changes
    )
    return made


def test_the_forest_learns_the_rule_and_puts_the_gain_where_it_is(tmp_path: Path) -> None:
    done = run(job("forest"), mirror=write_mirror(tmp_path))
    assert done.result["train"] == 8 and done.result["test"] == 4
    assert done.result["rmse"] < 0.7 and done.result["cliff_rmse"] == done.result["rmse"]
    assert done.result["pairs_test"] == 1 and done.result["pairs_touching"] == 2
    assert done.result["direction_test"] == done.result["right_test"] == 1
    assert done.result["right_touching"] == 2
    assert done.seconds["job"] >= done.seconds["training"]


def test_crippen_predicts_nothing_and_has_a_direction(tmp_path: Path) -> None:
    done = run(job("crippen"), mirror=write_mirror(tmp_path))
    assert done.result["rmse"] is done.result["cliff_rmse"] is None
    # Nitrogen is the more polar of the two: right by chance.
    assert done.result["direction_test"] == 1


@pytest.mark.parametrize("method", methods.names())
def test_the_same_seed_gives_the_same_record(method: str, tmp_path: Path) -> None:
    mirror = write_mirror(tmp_path)
    first, second = (run(job(method), mirror=mirror).result for _ in range(2))
    assert json.dumps(first) == json.dumps(second)


@pytest.mark.parametrize("method", methods.names())
def test_every_atom_has_an_effect(method: str) -> None:
    made = methods.make(method).fit(["CCO", "CCN", "CCC"], np.array([1.0, 2.0, 3.0]), job(method))
    assert made.effects("CC(=O)O").shape == (4,) and made.effects("C").shape == (1,)


def test_the_rows_of_one_model_differ_in_how_they_explain_it() -> None:
    smiles, activity = ["CCO", "CCN", "CCC"], np.array([1.0, 2.0, 3.0])
    found = {
        name: methods.make(name).fit(smiles, activity, job(name)).effects("CC(=O)O")
        for name in ("vgib", "vgib-myerson", "vgib-occlusion", "vgib-ig")
    }
    assert (np.sign(found["vgib"]) == np.sign(found["vgib-myerson"])).all()
    assert np.abs(found["vgib"]).max() <= 1
    one, other = found["vgib-occlusion"], found["vgib-ig"]
    assert np.isfinite(one).all() and np.isfinite(other).all() and not np.allclose(one, other)


def test_every_method_of_the_recipe_is_there() -> None:
    assert set(recipe("cliffs").grid["method"]) <= set(methods.names())


def test_directions_are_right_wrong_or_tied() -> None:
    effects = {"CO": np.array([0.1, 0.5]), "CN": np.array([0.3, -0.2])}

    def pair(difference: float, *differing: tuple[int, ...]) -> CliffPair:
        return CliffPair(("CO", "CN"), difference, (differing[0], differing[1]), (True, True))

    pairs = [
        pair(1.0, (1,), (1,)),
        pair(-1.0, (1,), (1,)),
        pair(1.0, (0,), (0,)),
        pair(-1.0, (), (0,)),
        pair(1.0, (), ()),
    ]
    assert directions(pairs, effects).tolist() == [1, 0, 0, 1, 0.5]


def test_errors_are_root_mean_squares() -> None:
    found = errors(np.array([1.0, 2.0]), np.array([1.0, 4.0]), np.array([False, True]))
    assert found == {"rmse": pytest.approx(2**0.5), "cliff_rmse": 2.0}
    assert errors(np.ones(1), np.ones(1), np.zeros(1, dtype=bool))["cliff_rmse"] is None


def test_an_unknown_method_is_named_before_anything_is_read() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'forest'"):
        run(job("forrest"))
