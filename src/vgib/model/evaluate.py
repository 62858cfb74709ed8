"""The quality of a model on labeled graphs: every number with an interval and a control."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib import metrics
from vgib.data.packed import PackedGraphs
from vgib.metrics import Estimate
from vgib.model.recognition import wanted_sizes
from vgib.select import masks as select

Outputs = Callable[[PackedGraphs], tuple[Tensor, Tensor]]


def quality(graphs: PackedGraphs, outputs: Outputs, *, classes: bool, seed: int) -> dict[str, Any]:
    """Prediction, subgraph and, where it is known, explanation.

    Args:
        graphs: Graphs with targets (class numbers from zero, or values).
        outputs: Gives a set of graphs its class logits or values, and its node scores.
        classes: Whether the outputs are class logits.
        seed: Of the random controls.
    """
    predicted, scores = outputs(graphs)
    judge = of_classes if classes else of_values
    found = judge(predicted, graphs)
    found |= of_subgraphs(graphs, predicted, scores, outputs, classes=classes, seed=seed)
    if graphs.node_truth is not None:
        found |= of_explanations(graphs, scores, seed=seed)
    return {name: estimate.to_json() for name, estimate in found.items()}


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


def of_values(values: Tensor, graphs: PackedGraphs) -> dict[str, Estimate]:
    """Mean absolute error (control: always the median) and R squared (the mean has 0)."""
    assert graphs.y is not None
    y = graphs.y.reshape(values.shape).numpy()
    return {
        "mean_absolute_error": metrics.mean_absolute_error(values.numpy(), y),
        "control_median_absolute_error": metrics.mean_absolute_error(
            np.broadcast_to(np.median(y, 0), y.shape), y
        ),
        "r_squared": metrics.r_squared(values.numpy(), y),
    }


def of_subgraphs(
    graphs: PackedGraphs,
    predicted: Tensor,
    scores: Tensor,
    outputs: Outputs,
    *,
    classes: bool,
    seed: int,
) -> dict[str, Estimate]:
    """What the model predicts from its subgraph alone, against random ones of the same size.

    The subgraph is that of the paper's rule (scores of at least one half); the control is a
    connected random subgraph of as many nodes in the same graph.
    """
    kept = select.threshold(scores.numpy(), graphs.node_ptr)
    sizes = wanted_sizes(graphs, scores.numpy(), None)[0]
    random = select.random_connected(graphs, sizes, np.random.default_rng(seed))
    found = {"kept_share": metrics.kept_share(kept, graphs.node_ptr.numpy())}
    for name, mask in (("subgraph", kept), ("control_random_subgraph", random)):
        part, _ = outputs(graphs.induced(torch.from_numpy(mask)))
        if classes:
            same = (part.argmax(1) == predicted.argmax(1)).numpy()
            found[f"{name}_same_class"] = metrics.mean(same)
        else:
            found[f"{name}_change"] = metrics.mean((part - predicted).abs().mean(1).numpy())
    return found


def of_explanations(graphs: PackedGraphs, scores: Tensor, *, seed: int) -> dict[str, Estimate]:
    """Node scores against the known explanation; the control is uniform noise."""
    assert graphs.node_truth is not None
    truth, ptr = graphs.node_truth.numpy(), graphs.node_ptr.numpy()
    noise = np.random.default_rng(seed).random(len(truth))
    return {
        "node_auc": metrics.node_auc(scores.numpy(), truth, ptr),
        "control_random_node_auc": metrics.node_auc(noise, truth, ptr),
        "node_precision": metrics.precision_at_truth(scores.numpy(), truth, ptr),
        "control_random_node_precision": metrics.precision_at_truth(noise, truth, ptr),
    }
