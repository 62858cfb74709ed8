"""The quality of a model on labeled graphs: every number with an interval and a control."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib import metrics
from vgib.data.packed import PackedGraphs
from vgib.metrics import Array, Estimate
from vgib.model.answer import Answer
from vgib.model.card import Card
from vgib.nn.net import Goal
from vgib.select import masks as select
from vgib.select.policy import Selection
from vgib.select.random import random_connected

AskModel = Callable[[PackedGraphs], Answer]
AskPart = Callable[[Answer, Tensor], Answer]
"""Gives what the model says of the same graphs when it sees some of their nodes alone."""

KEPT = Selection(rule="nodes")
"""The nodes that score one half, connected or not."""


def quality(
    graphs: PackedGraphs, ask: AskModel, ask_part: AskPart, *, task: Goal, seed: int
) -> dict[str, Any]:
    """Prediction, subgraph and, where it is known, explanation."""
    answer = ask(graphs)
    if task == "multilabel":
        found = of_labels(answer.mean, graphs)
    else:
        found = (of_values if answer.classes is None else of_classes)(answer.output, graphs)
    found |= of_subgraphs(answer, ask_part, seed=seed)
    if graphs.node_truth is not None:
        found |= of_explanations(graphs, answer.node_scores, seed=seed)
    return {name: estimate.to_json() for name, estimate in found.items()}


def tolerances(answer: Answer, graphs: PackedGraphs) -> list[float]:
    """How far a sufficient part may be off: the mean absolute error of each value on these graphs.

    Of classes, what the true one lacks of certainty, a tenth at least; see
    :mod:`vgib.model.sufficient`. NaN where no graph has the value.
    """
    assert graphs.y is not None
    y = graphs.y.numpy()
    if answer.classes is not None:
        return [max(0.1, float(1 - answer.mean[np.arange(len(y)), y].mean()))]
    errors = np.abs(answer.mean - y.reshape(answer.mean.shape))
    return [float(own[~np.isnan(own)].mean()) if (own == own).any() else np.nan for own in errors.T]


def of_classes(logits: Tensor, graphs: PackedGraphs) -> dict[str, Estimate]:
    """Accuracy (control: the commonest class) and ROC AUC (chance is one half)."""
    assert graphs.y is not None
    y = graphs.y.numpy()
    commonest = np.full(len(y), np.bincount(y).argmax())
    return {
        "accuracy": metrics.accuracy(logits.argmax(1).numpy(), y),
        "control_commonest_class_accuracy": metrics.accuracy(commonest, y),
        "roc_auc": metrics.roc_auc(logits.softmax(1).numpy(), y),
    }


def of_labels(probability: Array, graphs: PackedGraphs) -> dict[str, Estimate]:
    """Of labels that are 0, 1 or unknown: the share that is right, and ROC AUC, over all labels.

    The control says of each label what is commoner. An area is that of one label; of those that
    have graphs with and without them the mean counts.
    """
    assert graphs.y is not None
    y = graphs.y.numpy()
    known = ~np.isnan(y)
    commoner = np.broadcast_to(np.nanmean(y, 0) >= 0.5, y.shape)

    def right(said: Array) -> Estimate:
        """Of each graph the share of its known labels, so that a graph counts once."""
        return metrics.mean(((said == y) & known).sum(1) / known.sum(1).clip(min=1))

    def area(index: Array) -> float:
        chosen = [
            metrics.area_under_roc(probability[rows, label], y[rows, label] == 1)
            for label in range(y.shape[1])
            for rows in (index[known[index, label]],)
        ]
        areas = [each for each in chosen if not np.isnan(each)]
        return float(np.mean(areas)) if areas else float("nan")

    return {
        "accuracy": right(probability >= 0.5),
        "control_commoner_label_accuracy": right(commoner),
        "roc_auc": metrics.bootstrap(area, len(y), resamples=200),
    }


def of_values(values: Tensor, graphs: PackedGraphs) -> dict[str, Estimate]:
    """Mean absolute error (control: always the median) and R squared (the mean has 0)."""
    assert graphs.y is not None
    y = graphs.y.reshape(values.shape).numpy()
    return {
        "mean_absolute_error": metrics.mean_absolute_error(values.numpy(), y),
        "control_median_absolute_error": metrics.mean_absolute_error(
            np.broadcast_to(np.nanmedian(y, 0), y.shape), y
        ),
        "r_squared": metrics.r_squared(values.numpy(), y),
    }


def of_subgraphs(answer: Answer, ask_part: AskPart, *, seed: int) -> dict[str, Estimate]:
    """What the model predicts from its subgraph alone, against random ones of the same size.

    The subgraph is that of the paper's rule (scores of at least one half); the control is a
    connected random subgraph of as many nodes in the same graph.
    """
    graphs, scores, predicted = answer.graphs, answer.node_scores, answer.output
    kept = select.threshold(scores, graphs.node_ptr)
    sizes = KEPT.sizes(scores, graphs)[0]
    random = random_connected(graphs, sizes, np.random.default_rng(seed))
    found = {"kept_share": metrics.kept_share(kept, graphs.node_ptr.numpy())}
    for name, mask in (("subgraph", kept), ("control_random_subgraph", random)):
        part = ask_part(answer, torch.from_numpy(mask)).output
        if answer.classes is not None:
            same = (part.argmax(1) == predicted.argmax(1)).numpy()
            found[f"{name}_same_class"] = metrics.mean(same)
        else:
            found[f"{name}_change"] = metrics.mean((part - predicted).abs().mean(1).numpy())
    return found


def of_explanations(graphs: PackedGraphs, scores: Array, *, seed: int) -> dict[str, Estimate]:
    """Node scores against the known explanation; the control is uniform noise."""
    assert graphs.node_truth is not None
    truth, ptr = graphs.node_truth.numpy(), graphs.node_ptr.numpy()
    noise = np.random.default_rng(seed).random(len(truth))
    return {
        "node_auc": metrics.node_auc(scores, truth, ptr),
        "control_random_node_auc": metrics.node_auc(noise, truth, ptr),
        "node_precision": metrics.precision_at_truth(scores, truth, ptr),
        "control_random_node_precision": metrics.precision_at_truth(noise, truth, ptr),
    }


def of_named_values(card: Card, said: Array, wanted: Array) -> dict[str, Any]:
    """How often the interval holds, or the quality of each of several named values."""
    if card.interval is not None:
        held = metrics.mean(np.abs(said.ravel() - wanted.ravel()) <= card.interval)
        return {"interval_coverage": held.to_json()}
    found = {}
    for place, name in enumerate(card.targets or ()):
        there = ~np.isnan(wanted[:, place])
        pair = said[there, place], wanted[there, place]
        if card.task == "multilabel":
            found[f"accuracy_of_{name}"] = metrics.accuracy(*pair).to_json()
        else:
            found[f"r_squared_of_{name}"] = metrics.r_squared(*pair).to_json()
    return found
