"""What is settled before a model learns: its card, who judges it, and the scale of values."""

import logging
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from vgib.config import Training
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.model.card import Card, network_of
from vgib.model.configured import Configured
from vgib.model.untrained import first_card, held_out, say_when_one_way, tell_labels, training_part
from vgib.nn.net import Goal

MOTIFS = generate_ba2motifs(20)


def labeled(y: Tensor) -> PackedGraphs:
    return replace(MOTIFS, y=y)


def card_of(graphs: PackedGraphs, task: Goal, classes: list[int] | None = None) -> Card:
    model = Configured("gin", "none", hidden=4, depth=1)
    return first_card(model, graphs, task, classes, "gin", model.settings("gin"), "none")


def test_a_tenth_is_left_to_choose_the_epoch_and_all_others_train() -> None:
    index, told = training_part(MOTIFS, Training(seed=3))
    assert index is not None and len(index) == 18
    assert told == "random 10% for validation, seed 3"
    model, card = Configured("gin", "none"), card_of(labeled(torch.zeros(20)), "regression")
    rest = held_out(model, card, MOTIFS, index, None)
    assert rest is not None and len(rest) == 2
    assert rest.num_nodes + MOTIFS[index].num_nodes == MOTIFS.num_nodes


@pytest.mark.parametrize(
    ("graphs", "training", "val", "told"),
    [
        (MOTIFS, Training(), MOTIFS, "validation graphs given"),
        (MOTIFS, Training(select="last"), None, "no validation graphs"),
        (MOTIFS[:9], Training(), None, "no validation graphs"),
    ],
)
def test_all_graphs_train_where_none_is_needed_to_choose(
    graphs: PackedGraphs, training: Training, val: PackedGraphs | None, told: str
) -> None:
    assert training_part(graphs, training, val) == (None, told)


def test_graphs_for_validation_bring_their_labels_or_are_handed_them() -> None:
    model, card = Configured("gin", "none"), card_of(labeled(torch.zeros(20)), "regression")
    for val in (labeled(torch.ones(20)), (MOTIFS, torch.ones(20))):
        found = held_out(model, card, MOTIFS, None, val)
        assert found is not None and found.y is not None and found.y.tolist() == [1.0] * 20
    assert held_out(model, card, MOTIFS, None, None) is None


@pytest.mark.parametrize("has_gap", [False, True])
def test_values_are_scaled_by_those_that_are_known_among_the_training_graphs(has_gap: bool) -> None:
    y = torch.stack([torch.arange(20.0), torch.full((20,), 5.0)], dim=1)
    y[3, 1] = torch.nan if has_gap else 5.0
    index = torch.arange(11)
    graphs = labeled(y)
    card = card_of(graphs, "regression")
    net = network_of(card)
    tell_labels(net, card, graphs, index, None)
    assert net.has_gaps == has_gap
    assert net.target_mean.tolist() == [5.0, 5.0]
    # A column that never changes has no spread to be divided by.
    assert net.target_std.tolist() == pytest.approx([10**0.5, 1.0])
    assert card.bounds == [(-1.0, 11.0), (5.0, 5.0)]


def test_weights_of_classes_are_said_to_count_for_nothing_where_there_are_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graphs = labeled(torch.arange(20.0))
    card = card_of(graphs, "regression")
    with caplog.at_level(logging.WARNING):
        tell_labels(network_of(card), card, graphs, None, "balanced")
    assert "class_weight= is for classes; the task is regression" in caplog.text


@pytest.mark.parametrize(
    ("edges", "is_said"),
    [([[0, 1], [1, 2]], True), ([[0, 1, 1], [1, 2, 0]], False), ([[0, 1], [1, 0]], False)],
)
def test_graphs_whose_edges_all_go_one_way_are_told(
    edges: list[list[int]], is_said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    data = Data(x=torch.ones(3, 1), edge_index=torch.tensor(edges))
    with caplog.at_level(logging.WARNING):
        say_when_one_way(PackedGraphs.from_data([data] * 3))
        say_when_one_way(PackedGraphs.from_data([Data(x=torch.ones(3, 1))]))
    assert ("no edge has its reverse" in caplog.text) == is_said


def test_classes_are_weighed_and_have_no_scale() -> None:
    graphs = labeled(torch.tensor([0] * 15 + [1] * 5))
    card = card_of(graphs, "classification", [0, 1])
    net = network_of(card)
    tell_labels(net, card, graphs, None, "balanced")
    assert net.class_weight is not None
    assert net.class_weight.tolist() == pytest.approx([20 / 30, 2.0])
    assert card.bounds is None
