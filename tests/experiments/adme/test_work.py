"""Models on measured molecules, at toy size."""

import json
from pathlib import Path

import numpy as np
import pytest

from vgib.chem.properties import qed
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.experiments.adme.job import AdmeJob
from vgib.experiments.adme.work import CHEMPROP, judge


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    smiles = [text for text in load_drugs()["smiles"] if 10 <= len(text) <= 50][:60]
    return from_smiles(smiles, qed(smiles), workers=1).graphs


def job(kind: str, **changes: object) -> AdmeJob:
    given = {"split": "random", "target": "hlm", "method": kind, "kind": kind, "seed": 0}
    made: AdmeJob = AdmeJob.of(**given | {"trees": 20} | changes)
    return made


def test_the_forest_predicts_held_out_molecules_and_its_record_has_them(
    graphs: PackedGraphs,
) -> None:
    first, second = (judge(job("forest"), graphs) for _ in range(2))
    assert json.dumps(first.result) == json.dumps(second.result)
    told = first.result
    assert told["train"] == 51 and told["test"] == len(told["predicted"]) == 6
    errors = np.abs(np.subtract(told["predicted"], told["measured"]))
    assert told["mean_absolute_error"] == pytest.approx(errors.mean(), abs=1e-4)
    assert set(first.seconds) == {"job", "cpu"}


def test_molecules_of_one_scaffold_stay_together(graphs: PackedGraphs) -> None:
    random, scaffold = (
        judge(job("forest", split=split), graphs).result for split in ("random", "scaffold")
    )
    assert random["measured"] != scaffold["measured"]


def test_our_members_are_those_of_vgib_train(
    graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vgib.config import PRESETS

    monkeypatch.setitem(PRESETS["recommended"].training, "steps", 4)
    monkeypatch.setitem(PRESETS["recommended"].training, "epochs", 1)
    told = judge(job("vgib", members=2), graphs).result
    assert told["r_squared"] != told["r_squared_first"]
    assert 0 <= told["sufficient_share"] <= told["small_part_share"] <= 1


def test_without_chemprop_it_is_said_how_to_get_it(
    graphs: PackedGraphs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="`make chemprop` sets it up"):
        judge(job("chemprop"), graphs)


@pytest.mark.slow
@pytest.mark.skipif(not CHEMPROP.is_file(), reason="chemprop is not here: make chemprop")
def test_chemprop_predicts_the_same_molecules(graphs: PackedGraphs) -> None:
    forest = judge(job("forest"), graphs).result
    told = judge(job("chemprop", epochs=3, members=2), graphs).result
    assert told["measured"] == forest["measured"] and told["chemprop"].startswith("2.")
    assert len(told["predicted"]) == 6 and told["r_squared"] != told["r_squared_first"]
