"""The protocol of Table 4: folds, selection, what is recorded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vgib.data import catalog
from vgib.data.packed import PackedGraphs
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table4.work import (
    VIEWS,
    ClassificationJob,
    collapse,
    fold_of,
    mean_kept_share,
    network,
    run,
    run_fold,
    training,
)
from vgib.nn.layers import BatchNorm

ROWS = ["none", "gib", "vgib-paper", "vgib-paper-budget", "none-norm"]


def job(bottleneck: str = "vgib-paper", encoder: str = "gcn", fold: int = 1, **more: Any) -> Any:
    overrides = {"dataset": "TU:Toy", "folds": 3, "epochs": 4, "encoder": encoder, **more}
    subset = {"bottleneck": bottleneck, "readout": "sum", "fold": fold}
    (made,) = recipe("table4").jobs(overrides, subset)
    assert isinstance(made, ClassificationJob)
    return made


@pytest.fixture(scope="module")
def graphs(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> PackedGraphs:
    return catalog.load("TU:Toy", mirror=toy, cache=tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("bottleneck", ROWS)
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_every_row_gives_a_full_result(graphs: PackedGraphs, bottleneck: str, encoder: str) -> None:
    done = run_fold(job(bottleneck, encoder), graphs)
    result = done.result
    assert result["epochs"] == 4 and 1 <= result["best_epoch"] <= 4
    assert 0 <= result["test_accuracy"] <= 1 and 0 <= result["test_kept_share"] <= 1
    assert result["train_graphs"] + result["val_graphs"] + result["test_graphs"] == 24
    assert set(done.seconds) == {"job", "training", "epoch", "cpu"}
    assert set(result["views"]) == set(VIEWS.get(job(bottleneck).module, ()))
    assert "seconds" not in result
    if bottleneck == "none":
        assert result["test_kept_share"] == 1 and result["collapse"] is None


@pytest.mark.parametrize("bottleneck", ROWS)
def test_the_same_job_gives_the_same_result(graphs: PackedGraphs, bottleneck: str) -> None:
    first, second = (run_fold(job(bottleneck), graphs).result for _ in range(2))
    assert first == second


@pytest.mark.parametrize(("bottleneck", "view"), [("gib", "perturbed"), ("vgib-paper", "subgraph")])
def test_the_view_of_the_job_is_the_result_of_the_job(
    graphs: PackedGraphs, bottleneck: str, view: str
) -> None:
    result = run_fold(job(bottleneck), graphs).result
    own = result["views"][view]
    for name in ("best_epoch", "val_accuracy", "test_accuracy", "test_kept_share"):
        assert own[name] == result[name]
    assert own["val_loss"] == pytest.approx(result["val_loss"], rel=1e-6)


@pytest.mark.parametrize("view", ["perturbed", "clean"])
def test_a_view_is_what_a_training_of_its_own_gives(graphs: PackedGraphs, view: str) -> None:
    made = job("vgib-paper")
    other = made.model_copy(update={"options": made.options | {"predict_from": view}})
    own, seen = run_fold(other, graphs).result, run_fold(made, graphs).result["views"][view]
    assert (own["best_epoch"], own["test_accuracy"]) == (seen["best_epoch"], seen["test_accuracy"])
    assert own["val_loss"] == pytest.approx(seen["val_loss"], rel=1e-6)


def test_a_job_loads_its_dataset(toy: Path, tmp_path: Path, graphs: PackedGraphs) -> None:
    at_hand = run_fold(job(), graphs).result
    assert run(job(), mirror=toy, cache=tmp_path).result == at_hand


def test_the_fold_before_validates(graphs: PackedGraphs) -> None:
    splits = [fold_of(graphs, job(fold=fold)) for fold in range(3)]
    for number, split in enumerate(splits):
        assert np.array_equal(split.val, splits[number - 1].test)


def test_the_network_is_that_of_the_protocol(graphs: PackedGraphs) -> None:
    net = network(job(encoder="gin"), graphs, 2)
    assert len(net.encoder.layers) == 2 and net.encoder.out_channels == 16
    assert sum(isinstance(module, BatchNorm) for module in net.modules()) == 2
    kinds = [type(module).__name__ for module in net.head][:4]
    assert kinds == ["Linear", "ReLU", "Dropout", "Linear"]
    assert net.head[2].p == 0.5 and net.head[0].out_features == 16
    gat = network(job(encoder="gat"), graphs, 2).encoder.layers[0]
    assert gat.att_src.shape == (1, 1, 16)


def test_the_published_gib_has_a_critic_as_wide_as_the_encoder(graphs: PackedGraphs) -> None:
    bottleneck: Any = network(job("gib"), graphs, 2).bottleneck
    assert bottleneck.critic.mlp[0].out_features == 16
    assert bottleneck.inner_steps == 50
    assert bottleneck.weights == pytest.approx(
        {"prediction": 0.7, "compression": 0.07, "connectivity": 0.3}
    )


def test_a_tuned_weight_is_the_one_with_the_smallest_validation_loss(graphs: PackedGraphs) -> None:
    tuned = run_fold(job("vgib-paper-tuned"), graphs).result
    options = job("vgib-paper").options
    alone = {
        beta: run_fold(job("vgib-paper", options=options | {"beta": beta}), graphs).result
        for beta in job("vgib-paper-tuned").betas
    }
    best = min(alone, key=lambda beta: alone[beta]["val_loss"])
    assert tuned == alone[best] | {"beta": best}
    assert len({result["val_loss"] for result in alone.values()}) == len(alone)


def test_folds_start_from_weights_of_their_own() -> None:
    assert [training(job(fold=fold, seed=5)).seed for fold in range(3)] == [5, 6, 7]


def test_kept_share_is_the_mean_over_graphs(graphs: PackedGraphs) -> None:
    two = graphs[[0, 1]]  # of 4 and 5 nodes
    scores = torch.tensor([0.9, 0.5, 0.1, 0.2, 0.6, 0.1, 0.1, 0.1, 0.1])
    assert mean_kept_share(scores, two) == pytest.approx((2 / 4 + 1 / 5) / 2)


@pytest.mark.parametrize(
    ("share", "told"), [(1.0, "all"), (0.995, "all"), (0.5, None), (0.0, "none")]
)
def test_collapse_is_told(share: float, told: str | None) -> None:
    assert collapse(share) == told


def test_labels_need_not_start_at_zero(graphs: PackedGraphs) -> None:
    assert graphs.y is not None
    shifted = replace(graphs, y=graphs.y * 2 + 5)
    assert run_fold(job(), shifted).result == run_fold(job(), graphs).result
