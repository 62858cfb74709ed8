"""A model before its training: its card, which graphs it learns from, and what labels tell it."""

import logging
from typing import Any

import torch
from torch import Tensor, nn

from vgib.chem.vocabulary import vocabulary
from vgib.config import Training
from vgib.data.capped import atom_features
from vgib.data.packed import PackedGraphs
from vgib.data.splits import random_split
from vgib.model.card import Card, part_name, versions
from vgib.model.configured import Configured, Resolved
from vgib.model.graphs import as_packed, as_read_by, edge_features
from vgib.model.labels import (
    ClassWeight,
    as_targets,
    bounds_of,
    class_weights,
    labels_each,
    scale_of,
    with_labels,
)
from vgib.nn.net import Goal, SubgraphNet

log = logging.getLogger(__name__)

VALIDATION_SHARE = 0.1
"""The share of the graphs that tell which epoch is the best, where none are given for it."""

USUAL_SIZES = 0.99
"""The share of training molecules that are no larger than what a model is said to know."""


def training_part(
    graphs: PackedGraphs, training: Training, val: Any = None
) -> tuple[Tensor | None, str]:
    """Which graphs to train on (all, when ``None``), and how a card describes that.

    A tenth is left for validation, unless graphs for it were given or nothing is selected by them.
    """
    if val is not None:
        return None, "validation graphs given"
    if training.select == "last" or len(graphs) < 1 / VALIDATION_SHARE:
        return None, "no validation graphs"
    fractions = (1 - VALIDATION_SHARE, VALIDATION_SHARE, 0.0)
    split = random_split(len(graphs), fractions=fractions, seed=training.seed)
    told = f"random {VALIDATION_SHARE:.0%} for validation, seed {training.seed}"
    return torch.from_numpy(split.train), told


def first_card(
    model: Configured,
    graphs: PackedGraphs,
    task: Goal,
    classes: list[int] | None,
    encoder: str | nn.Module,
    settings: Resolved,
    split: str,
) -> Card:
    """The card of a model that begins to learn from these graphs."""
    features = atom_features(graphs)
    return Card(
        task=task,
        outputs=labels_each(graphs) if classes is None else len(classes),
        classes=classes,
        encoder=part_name(encoder),
        bottleneck=part_name(model.bottleneck),
        bottleneck_options=settings.bottleneck,
        architecture=settings.architecture.model_dump(),
        training=settings.training.model_dump(),
        preset=model.preset,
        features=features,
        features_version=vocabulary(features).version if features else None,
        standard=model.standard if features else "none",
        cardinalities=list(graphs.cardinalities) if graphs.cardinalities else None,
        in_channels=graphs.x.shape[1],
        **edge_features(encoder, graphs),
        unit="probability" if task == "multilabel" else "",
        largest=int(graphs.sizes.double().quantile(USUAL_SIZES)) if features else None,
        data={"sha256": graphs.fingerprint(), "graphs": len(graphs), "split": split},
        versions=versions(),
    )


def held_out(
    model: Configured, card: Card, graphs: PackedGraphs, index: Tensor | None, val: Any
) -> PackedGraphs | None:
    """The graphs that tell which epoch is the best: those given, or those not trained on."""
    if val is not None:
        given, labels = val if isinstance(val, tuple) else (val, None)
        read = as_read_by(card, as_packed(given, model.features, model.standard))
        return as_targets(with_labels(read, labels), card.task, card.classes, card.outputs)
    if index is None:
        return None
    is_left = torch.ones(len(graphs), dtype=torch.bool)
    is_left[index] = False
    return graphs[is_left]


def say_when_one_way(graphs: PackedGraphs) -> None:
    """Warns when no edge has its reverse, as where each bond was written down once."""
    if not graphs.num_edges or graphs.is_undirected:
        return
    sender = graphs.senders()
    receiver = torch.arange(graphs.num_nodes).repeat_interleave(graphs.indptr.diff())
    there = sender * graphs.num_nodes + receiver
    back = receiver * graphs.num_nodes + sender
    if not torch.isin(back, there).any():
        log.warning(
            "no edge has its reverse, so that messages go one way only; if edges have no "
            "direction, apply torch_geometric.transforms.ToUndirected()"
        )


def tell_labels(
    net: SubgraphNet,
    card: Card,
    graphs: PackedGraphs,
    index: Tensor | None,
    class_weight: ClassWeight,
) -> None:
    """Tells a network what classes count, or the scale of its values, and the card their range."""
    assert graphs.y is not None
    if card.task != "classification" and class_weight is not None:
        log.warning(
            "class_weight= is for classes; the task is %s, and all count the same", card.task
        )
    if card.task == "classification":
        net.class_weight = class_weights(graphs.y, card.outputs, class_weight, card.classes)
    if card.task != "regression":
        return
    values = graphs.y if index is None else graphs.y[index]
    values = values.reshape(len(values), -1)
    net.has_gaps = bool(values.isnan().any())
    if card.architecture["standardize"]:
        card.bounds = bounds_of(values)
        mean, spread = scale_of(values)
        net.target_mean.copy_(mean)
        net.target_std.copy_(torch.where(spread > 0, spread, 1.0))
