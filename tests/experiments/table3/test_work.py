"""A job of Table 3 at toy size, on embedded drugs."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vgib.data.loading import split_graphs
from vgib.data.molecules import from_smiles, load_drugs
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table3.job import ExplanationJob, Network
from vgib.experiments.table3.work import Setting, explain_molecules, packed_bits


@pytest.fixture(scope="module")
def setting() -> Setting:
    """Drugs with a nitrogen in a ring, and without."""
    drugs = from_smiles(load_drugs()["smiles"]).graphs
    assert drugs.ids is not None
    y = torch.tensor([int("n" in smiles or "N1" in smiles) for smiles in drugs.ids])
    graphs = replace(drugs, y=y)
    return Setting(graphs, split_graphs(graphs, "random", seed=1), 0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks")


def job(method: str, **changes: Any) -> ExplanationJob:
    made: ExplanationJob = ExplanationJob.of(
        **{
            "property": "qed",
            "gnn": "tiny",
            "network": Network(hidden=8, depth=2),
            "judge": Network(hidden=4, depth=1, readout="mean"),
            "method": method,
            "module": method,
            "seed": 1,
            "epochs": 2,
            "batch_size": 32,
            "keep_ratios": (0.3, 0.5),
            "robust_samples": 1,
        }
        | changes
    )
    return made


@pytest.mark.parametrize("method", ["random", "gradcam", "vgib"])
def test_a_record_holds_what_the_tables_need(method: str, setting: Setting, folder: Path) -> None:
    options = {"steps": 2} if method == "vgib" else {}
    done = explain_molecules(job(method, options=options), setting, folder)
    result = json.loads(json.dumps(done.result, allow_nan=False))
    assert result["molecules"] == len(setting.split.test)
    assert result["fidelity_plus"] == result["plus"][1]
    assert result["composition_accuracy"] == 0.5
    for part in (result, result["judge"], result["capped"]):
        assert len(part["plus"]) == len(part["minus"]) == 2
    assert set(result["fine_tuned"]) == set(result["robust"])
    assert 0 <= result["self_consistency"] <= 1
    assert done.seconds["per_graph"] > 0
    assert explain_molecules(job(method, options=options), setting, folder).result == done.result


def test_options_are_chosen_on_validation_molecules(setting: Setting, folder: Path) -> None:
    tried = ({"steps": 1}, {"steps": 2, "lr": 0.1})
    asked = job("pgexplainer", options={"steps": 1, "edge_size": 1.0}, tried=tried)
    chosen = explain_molecules(asked, setting, folder).result
    assert chosen["options"] in [asked.options, *(asked.options | more for more in tried)]
    alone = explain_molecules(job("pgexplainer", options=chosen["options"]), setting, folder)
    assert alone.result == chosen
    # Whatever the test molecules say: with other ones the choice is the same.
    fewer = replace(setting, split=replace(setting.split, test=setting.split.test[:5]))
    assert explain_molecules(asked, fewer, folder).result["options"] == chosen["options"]


def test_bits_and_means_say_the_same(setting: Setting, folder: Path) -> None:
    result = explain_molecules(job("gradcam"), setting, folder).result
    count = result["molecules"]

    def bits(text: str) -> Any:
        raw = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
        return np.unpackbits(raw, count=count).astype(float)

    right = result["right"]
    whole = bits(right["whole"])
    assert whole.mean() == pytest.approx(result["accuracy"])
    for at in range(2):
        alone, without = bits(right["alone"][at]), bits(right["without"][at])
        assert (whole - alone).mean() == pytest.approx(result["minus"][at], abs=1e-6)
        assert (whole - without).mean() == pytest.approx(result["plus"][at], abs=1e-6)


def test_flags_survive_packing() -> None:
    flags = torch.tensor([True, False, True] * 5)
    raw = np.frombuffer(base64.b64decode(packed_bits(flags)), dtype=np.uint8)
    assert np.unpackbits(raw, count=15).astype(bool).tolist() == flags.tolist()


def test_no_more_are_explained_than_asked_and_another_part_if_asked(
    setting: Setting, folder: Path
) -> None:
    assert explain_molecules(job("random", explained=5), setting, folder).result["molecules"] == 5
    val = explain_molecules(job("random", part="val"), setting, folder).result
    assert val["molecules"] == len(setting.split.val)


def test_a_method_without_chance_is_perfectly_stable(setting: Setting, folder: Path) -> None:
    result = explain_molecules(job("gradcam", repeats=2), setting, folder).result
    assert result["stability"]["jaccard"] == 1.0
    assert result["stability"]["random_jaccard"] < 0.6
    assert explain_molecules(job("gradcam"), setting, folder).result["stability"] is None


def test_table3_uses_seeds_of_its_own_and_figure4_is_drawn_from_it() -> None:
    jobs = recipe("table3").jobs()
    assert {job.model_dump()["seed"] for job in jobs} == {101, 102, 103}
    assert [job.key() for job in recipe("figure4").jobs()] == [job.key() for job in jobs]
    assert recipe("figure4").folder == "table3"
