"""Known explanations, found again."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from vgib.data.molecules import from_smiles
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.experiments.ground_truth.job import GroundTruthJob
from vgib.experiments.ground_truth.work import Known, best_matching, compare, load
from vgib.experiments.table3.job import Network


def job(method: str, **changes: Any) -> GroundTruthJob:
    made: GroundTruthJob = GroundTruthJob.of(
        **{
            "dataset": "BA-2Motifs",
            "network": Network(encoder="gin", hidden=8, depth=3),
            "method": method,
            "module": method,
            "seed": 1,
            "epochs": 2,
            "explained": 20,
            "batch_size": 32,
        }
        | changes
    )
    return made


@pytest.fixture(scope="module")
def known() -> Known:
    graphs = generate_ba2motifs(100, seed=0)
    return Known(graphs, torch.ones(100, dtype=torch.bool))


def test_a_record_of_generated_graphs(known: Known, tmp_path: Path) -> None:
    done = compare(job("gradcam"), known, tmp_path)
    result = json.loads(json.dumps(done.result, allow_nan=False))
    assert result["graphs"] == 10
    assert 0 <= result["node_auc"] <= 1 and 0 <= result["edge_auc"] <= 1
    assert result["best"] is None
    assert compare(job("gradcam"), known, tmp_path).result == done.result


def test_only_graphs_with_an_explanation_are_explained(known: Known, tmp_path: Path) -> None:
    none = Known(known.graphs, torch.zeros(100, dtype=torch.bool))
    with pytest.raises(InputError, match="no held-out graph has a known explanation"):
        compare(job("random"), none, tmp_path)


def test_of_several_explanations_the_best_matching_counts() -> None:
    graphs = from_smiles(["CCCC", "CCO"]).graphs
    scores = torch.tensor([0.1, 0.2, 0.8, 0.9, 0.3, 0.2, 0.1])
    matched = best_matching(graphs, [[[0, 1], [2, 3]], [[0]]], scores)
    assert matched.node_truth.tolist() == [False, False, True, True, True, False, False]
    # The bond between the two marked atoms, in both directions.
    assert int(matched.edge_truth.sum()) == 2


def test_generated_graphs_are_known_by_name(tmp_path: Path) -> None:
    found = load("BA-2Motifs", cache=tmp_path)
    assert bool(found.has_truth.all()) and found.alternatives is None


def test_of_mutagenicity_only_marked_mutagens_count(mirror: Path, tmp_path: Path) -> None:
    found = load("Mutagenicity", mirror=mirror, cache=tmp_path)
    assert int(found.has_truth.sum()) == 1015


def test_molecules_come_with_all_their_explanations(mirror: Path, tmp_path: Path) -> None:
    found = load("attribution/fluoride_carbonyl", mirror=mirror, cache=tmp_path)
    assert int(found.has_truth.sum()) == int((found.graphs.y == 1).sum()) == 375
    assert found.alternatives is not None
    assert len(found.alternatives) == len(found.graphs)
