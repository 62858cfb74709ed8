"""What the labels of graphs say: the task, the classes, and whether they can be used."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.nn.bottleneck import Task


def with_labels(graphs: PackedGraphs, y: Any = None) -> PackedGraphs:
    """The graphs with usable labels, their own or ``y``, or an error that says what is wrong."""
    if y is not None:
        labels = np.asarray(y)
        if labels.dtype.kind not in "biuf":
            plain = labels.ravel().tolist()
            first = next((value for value in plain if not isinstance(value, int | float)), plain)
            raise InputError(f"labels must be numbers, classes or values; got {first!r}")
        if labels.ndim not in (1, 2) or len(labels) != len(graphs):
            raise InputError(
                f"{len(graphs)} graphs and labels of shape {labels.shape} do not fit together"
            )
        graphs = replace(graphs, y=torch.from_numpy(labels.copy()))  # pandas lends, read-only
    if graphs.y is None:
        raise InputError("the graphs carry no labels; pass y=, or set data.y")
    if not len(graphs):
        raise InputError("there are no graphs to learn from")
    if graphs.y.dim() == 2 and graphs.y.shape[1] == 1:
        graphs = replace(graphs, y=graphs.y.squeeze(1))
    assert graphs.y is not None
    if graphs.y.is_floating_point():
        is_bad = (~graphs.y.isfinite()).reshape(len(graphs), -1).any(1)
        if is_bad.any():
            raise InputError(
                f"{int(is_bad.sum())} of {len(graphs)} labels are NaN or infinite, the first of "
                f"graph {int(is_bad.nonzero()[0])}; remove those graphs"
            )
    return graphs


def task_of(graphs: PackedGraphs, wanted: Task | None = None) -> tuple[Task, list[int] | None]:
    """The task (by default by the type of the labels), and for classification the classes."""
    assert graphs.y is not None
    is_value = graphs.y.is_floating_point()
    task: Task = wanted or ("regression" if is_value else "classification")
    if task == "regression":
        return task, None
    if is_value and not torch.equal(graphs.y, graphs.y.round()):
        raise InputError("classification needs integer labels; got values that are not whole")
    if graphs.y.dim() > 1:
        raise InputError("classification needs one label for each graph; got several")
    classes: list[int] = np.unique(graphs.y.long().numpy()).tolist()
    if len(classes) < 2:
        raise InputError(f"classification needs at least two classes; all are {classes[0]}")
    return task, classes


def labels_each(graphs: PackedGraphs) -> int:
    """How many labels each graph has."""
    assert graphs.y is not None
    return 1 if graphs.y.dim() == 1 else graphs.y.shape[1]


def as_targets(
    graphs: PackedGraphs, task: Task, classes: list[int] | None, outputs: int | None = None
) -> PackedGraphs:
    """Labels as the loss wants them: class numbers from zero, or 32-bit values.

    With ``outputs``, what a model gives for each graph, there must be as many values.
    """
    assert graphs.y is not None
    if task == "regression":
        if outputs is not None and labels_each(graphs) != outputs:
            raise InputError(
                f"the graphs have {labels_each(graphs)} labels each; this model predicts {outputs}"
            )
        return replace(graphs, y=graphs.y.float())
    if graphs.y.dim() > 1:
        raise InputError("classification needs one label for each graph; got several")
    known = torch.tensor(classes)
    number = torch.searchsorted(known, graphs.y.long()).clamp(max=len(known) - 1)
    if not torch.equal(known[number].to(graphs.y.dtype), graphs.y):
        raise InputError(f"some graphs have classes beyond {classes}, which were trained on")
    return replace(graphs, y=number)
