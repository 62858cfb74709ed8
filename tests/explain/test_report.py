"""Explanations of a trained model, measured and written."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError, UnknownNameError
from vgib.explain.adapter import PosthocGSAT
from vgib.explain.fidelity import fidelity
from vgib.explain.methods.gradcam import GradCAM
from vgib.explain.report import FILES, explain_graphs, write_explained
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.masks import keep_ratio

MOTIFS = generate_ba2motifs(40, seed=1)
DRUGS = load_drugs()["smiles"].tolist()[:24]


@pytest.fixture(scope="module")
def classifier() -> SubgraphRecognizer:
    return SubgraphRecognizer("gin", "none", epochs=8, hidden=16).fit(MOTIFS)


@pytest.fixture(scope="module")
def regressor() -> SubgraphRecognizer:
    model = SubgraphRecognizer(epochs=1, hidden=8, depth=1)
    return model.fit(DRUGS, np.linspace(0, 1, len(DRUGS)))


def test_classes_are_explained_and_measured_by_every_definition(
    classifier: SubgraphRecognizer,
) -> None:
    told: list[tuple[str, int, int | None]] = []
    found = explain_graphs(
        classifier, MOTIFS, "gradcam", keep_ratio=0.2, tell=lambda *stage: told.append(stage)
    )
    metrics = found.metrics
    assert metrics["rule"] == "connected" and metrics["graphs"] == 40
    assert {row["definition"] for row in metrics["fidelity"]} == {
        "accuracy",
        "agreement",
        "probability",
    }
    assert {row["keep_ratio"] for row in metrics["fidelity"]} >= {0.2, 0.3, 0.6}
    assert ("explaining", 40, 40) in told and "measuring" in {stage[0] for stage in told}
    assert [one.prediction for one in found.found] == classifier.predict(MOTIFS).tolist()
    assert metrics["ground_truth"]["node_auc"]["n"] == 40
    assert "node_auc" in found.headline() and "control_random_accuracy_plus" in found.headline()
    assert all(len(one.subgraphs[0].nodes) == 5 for one in found.found)


def test_the_scores_are_the_methods_own_and_the_best_are_measured(
    classifier: SubgraphRecognizer,
) -> None:
    found = explain_graphs(classifier, MOTIFS, "gradcam", rule="nodes")
    scores = torch.tensor([score for one in found.found for score in one.scores])
    own = GradCAM().scores(classifier.net_, classifier.pack(MOTIFS).batch())
    torch.testing.assert_close(scores, own, rtol=1e-4, atol=1e-5)
    graphs = replace(MOTIFS, y=None)
    measured = fidelity(classifier.net_, graphs, scores, keep_ratios=[0.5], definition="agreement")
    row = next(
        row
        for row in found.metrics["fidelity"]
        if (row["definition"], row["keep_ratio"]) == ("agreement", 0.5)
    )
    assert row == measured[0].to_json()
    # By the rule of the best nodes, the chosen subgraphs are what that row is about.
    chosen = next(row for row in found.metrics["subgraphs"] if row["definition"] == "agreement")
    assert (chosen["plus"], chosen["minus"]) == (row["plus"], row["minus"])
    kept = keep_ratio(scores, MOTIFS.node_ptr, 0.5)
    own_nodes = [
        low + n
        for low, one in zip(MOTIFS.node_ptr.tolist(), found.found, strict=False)
        for n in one.subgraphs[0].nodes
    ]
    assert own_nodes == kept.nonzero().flatten().tolist()


def test_values_are_explained_with_whole_rings_and_rows_of_their_file(
    regressor: SubgraphRecognizer,
) -> None:
    molecules = from_smiles(["oops", *DRUGS], workers=1)
    found = explain_graphs(regressor, molecules, "ig")
    assert found.metrics["rule"] == "ring_intact"
    assert found.numbers.tolist() == list(range(1, 25))
    assert found.metrics["refused"][0]["line"] == 1
    assert [row["definition"] for row in found.metrics["subgraphs"]] == ["change"]
    assert all(one.subgraphs[0].smiles for one in found.found)


def test_methods_that_learn_do_so_on_the_graphs_they_are_given(
    classifier: SubgraphRecognizer,
) -> None:
    alone, taught, again = (
        explain_graphs(classifier, MOTIFS[:3], PosthocGSAT(steps=3), fit_on=graphs)
        for graphs in (None, MOTIFS[10:], MOTIFS[10:])
    )
    assert [one.scores for one in taught.found] == [one.scores for one in again.found]
    assert [one.scores for one in taught.found] != [one.scores for one in alone.found]


def odd_graphs() -> PackedGraphs:
    """One node; three nodes without an edge; none at all; a path."""
    return PackedGraphs(
        x=MOTIFS.x[:7],
        node_ptr=torch.tensor([0, 1, 4, 4, 7]),
        indptr=torch.tensor([0, 0, 0, 0, 0, 1, 3, 4]),
        col=torch.tensor([1, 0, 2, 1], dtype=torch.int32),
        cardinalities=MOTIFS.cardinalities,
    )


@pytest.mark.parametrize("method", ["pgexplainer", "gradcam", "occlusion"])
def test_odd_graphs_are_explained_or_left_out(
    method: str, classifier: SubgraphRecognizer, tmp_path: Path
) -> None:
    found = explain_graphs(classifier, odd_graphs(), method)
    assert found.numbers.tolist() == [0, 1, 3] and found.metrics["without_nodes"] == 1
    assert all(np.isfinite(one.scores).all() for one in found.found)
    write_explained(found, tmp_path / "out", source="odd")
    empty = odd_graphs()[[2]]
    with pytest.raises(InputError, match="none of the 1 graphs has a node"):
        explain_graphs(classifier, empty, method)


def test_mistakes_are_answered_before_the_work(classifier: SubgraphRecognizer) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'gradcam'"):
        explain_graphs(classifier, MOTIFS, "grad-cam")
    with pytest.raises(UnknownNameError, match="did you mean 'connected'"):
        explain_graphs(classifier, MOTIFS, "random", rule="conected")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="keep_ratio is 2"):
        explain_graphs(classifier, MOTIFS, "random", keep_ratio=2)
    with pytest.raises(InputError, match="not molecules"):
        explain_graphs(classifier, ["CCO"], "random")


def test_everything_is_written_and_can_be_read_again(
    classifier: SubgraphRecognizer, tmp_path: Path
) -> None:
    found = explain_graphs(classifier, MOTIFS[:6], "gradcam", keep_ratio=0.2)
    folder = tmp_path / "new" / "out"
    for _ in range(2):  # a second run replaces the first
        write_explained(found, folder, source="motifs <b>", pictures=4)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [path.name for path in folder.parent.iterdir()] == ["out"]
    scores = pd.read_csv(folder / "scores.csv")
    assert scores["score"].tolist() == pytest.approx(
        [score for one in found.found for score in one.scores], abs=1e-6
    )
    assert scores.groupby("graph").size().tolist() == MOTIFS[:6].sizes.tolist()
    table = pd.read_csv(folder / "subgraphs.csv")
    assert [row.split() for row in table["nodes"]] == [
        [str(node) for node in one.subgraphs[0].nodes] for one in found.found
    ]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["source"] == "motifs <b>" and metrics["method"] == "gradcam"
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 4 and "the first 4 of 6 graphs" in page
    assert "motifs &lt;b&gt;" in page
    assert "http" not in page.replace("http://www.w3.org", "") and "<script" not in page
