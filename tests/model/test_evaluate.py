"""Quality with controls: known models on known graphs must get known numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.model import evaluate as evaluation
from vgib.model.answer import Answer
from vgib.model.evaluate import of_classes, of_explanations, of_values, quality
from vgib.nn.net import Goal
from vgib.select import masks as select

GRAPHS: PackedGraphs = generate_ba2motifs(60)


def asked(
    outputs: Callable[[PackedGraphs], tuple[Tensor, Tensor]], classes: Sequence[int] | None = None
) -> Callable[[PackedGraphs], Answer]:
    """What a model of one member says, by a function for its outputs and scores."""

    def again(graphs: PackedGraphs, members: Sequence[int]) -> Tensor:
        raise AssertionError("nothing is chosen by prediction here")

    def ask(graphs: PackedGraphs) -> Answer:
        values, scores = outputs(graphs)
        return Answer.of(graphs, values[None], scores[None], again, classes=classes)

    return ask


def model(scores: Tensor) -> Callable[[PackedGraphs], Answer]:
    """Right on whole graphs; on a part, the class is 1 when more than 2 motif nodes are in it."""

    def outputs(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
        graph = torch.arange(len(graphs)).repeat_interleave(graphs.sizes)
        truth = graphs.node_truth.float()
        motif = torch.zeros(len(graphs)).index_add(0, graph, truth)
        label = torch.where(motif > 2, graphs.y, 1 - graphs.y)
        logits = 10 * torch.nn.functional.one_hot(label, 2).float()
        return logits, scores if graphs is GRAPHS else torch.zeros(graphs.num_nodes)

    return asked(outputs, classes=(0, 1))


def of_part(ask: Callable[[PackedGraphs], Answer]) -> Callable[[Answer, Tensor], Answer]:
    """What the model says of induced subgraphs."""
    return lambda answer, part: ask(answer.graphs.induced(part))


def judged(ask: Callable[[PackedGraphs], Answer], graphs: PackedGraphs = GRAPHS) -> dict[str, Any]:
    task: Goal = "regression" if ask(graphs).classes is None else "classification"
    return quality(graphs, ask, of_part(ask), task=task, seed=0)


def value(found: dict[str, Any], name: str) -> float:
    return float(found[name]["value"])


def test_a_model_that_sees_the_motif_is_told_from_its_controls() -> None:
    found = judged(model(GRAPHS.node_truth.float()))
    assert value(found, "accuracy") == value(found, "roc_auc") == 1
    assert value(found, "control_commonest_class_accuracy") == 0.5
    assert value(found, "kept_share") == pytest.approx(0.2)
    assert value(found, "subgraph_same_class") == 1
    assert value(found, "control_random_subgraph_same_class") < 0.5
    assert value(found, "node_auc") == value(found, "node_precision") == 1
    assert value(found, "control_random_node_auc") == pytest.approx(0.5, abs=0.1)
    assert value(found, "control_random_node_precision") == pytest.approx(0.2, abs=0.1)


def test_a_model_that_looks_elsewhere_gets_the_opposite() -> None:
    found = judged(model(1 - GRAPHS.node_truth.float()))
    assert value(found, "node_auc") == value(found, "node_precision") == 0
    assert value(found, "kept_share") == pytest.approx(0.8)
    assert value(found, "subgraph_same_class") == 0


def test_the_random_subgraph_is_connected_and_as_large_as_the_recognized_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = torch.rand(GRAPHS.num_nodes, generator=torch.Generator().manual_seed(0))
    parts: list[PackedGraphs] = []

    def outputs(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
        parts.append(graphs)
        return torch.zeros(len(graphs), 1), scores[: graphs.num_nodes]

    ask = asked(outputs)
    evaluation.of_subgraphs(ask(GRAPHS), of_part(ask), seed=0)
    _, recognized, random = parts
    assert torch.equal(recognized.sizes, random.sizes)
    assert not torch.equal(recognized.col, random.col)
    everything = torch.ones(random.num_nodes, dtype=torch.bool)
    assert select.largest_connected(everything, random).all()


def test_the_control_of_classes_is_the_commonest_one() -> None:
    y = torch.tensor([2, 0, 2, 1, 2, 2])
    found = of_classes(torch.eye(3)[[0] * 6], replace(GRAPHS[:6], y=y))
    assert found["accuracy"].value == pytest.approx(1 / 6)
    assert found["control_commonest_class_accuracy"].value == pytest.approx(4 / 6)
    assert found["roc_auc"].value == pytest.approx(0.5)


def test_the_control_of_values_is_the_median() -> None:
    y = torch.tensor([0.0, 1.0, 10.0])
    found = of_values(torch.full((3, 1), 2.0), replace(GRAPHS[:3], y=y))
    assert found["mean_absolute_error"].value == pytest.approx((2 + 1 + 8) / 3)
    assert found["control_median_absolute_error"].value == pytest.approx((1 + 0 + 9) / 3)
    assert found["r_squared"].value < 0
    both = torch.stack([y, -y], dim=1)
    of_two = of_values(both + 1, replace(GRAPHS[:3], y=both))
    assert of_two["mean_absolute_error"].value == pytest.approx(1)
    assert of_two["control_median_absolute_error"].value == pytest.approx(10 / 3)


def test_a_value_that_follows_the_size_changes_with_the_subgraph() -> None:
    def outputs(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
        return graphs.sizes.float().unsqueeze(1), torch.full((graphs.num_nodes,), 0.9)

    graphs = replace(GRAPHS, y=GRAPHS.y.float(), node_truth=None)
    found = judged(asked(outputs), graphs)
    assert value(found, "subgraph_change") == 0 and value(found, "kept_share") == 1
    assert "node_auc" not in found  # nothing is known to compare with


def test_the_known_explanation_is_compared_with_noise_of_the_seed() -> None:
    scores = GRAPHS.node_truth.float().numpy()
    one, other = (of_explanations(GRAPHS, scores, seed=seed) for seed in (0, 1))
    assert one["node_auc"] == other["node_auc"]
    assert one["control_random_node_auc"] != other["control_random_node_auc"]


def test_every_number_is_a_plain_one_with_its_interval() -> None:
    found = judged(model(torch.rand(GRAPHS.num_nodes)))
    for name, estimate in found.items():
        assert set(estimate) == {"value", "low", "high", "n"}, name
        assert estimate["low"] <= estimate["value"] <= estimate["high"], name
        assert isinstance(estimate["value"], float) and np.isfinite(estimate["value"])


def test_a_graph_with_one_known_label_counts_as_much_as_one_with_all() -> None:
    nan = float("nan")
    y = torch.tensor([[1.0, nan, nan], [0.0, 1.0, 1.0], [nan, nan, 0.0]])
    said = np.array([[0.9, 0.9, 0.1], [0.2, 0.8, 0.4], [0.5, 0.5, 0.7]])
    found = evaluation.of_labels(said, replace(generate_ba2motifs(3), y=y))
    assert found["accuracy"].value == pytest.approx((1 + 2 / 3 + 0) / 3)
    # The commoner label of the second column is 1; of the others they are even, which counts as 1.
    expected = (1 + 2 / 3 + 0) / 3
    assert found["control_commoner_label_accuracy"].value == pytest.approx(expected)
