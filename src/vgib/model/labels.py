"""What the labels of graphs say: the task, the classes, and whether they can be used."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from vgib.data.cells import OPPOSITES
from vgib.data.molecules import Molecules
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.model.words import Wording
from vgib.nn.net import Goal

log = logging.getLogger(__name__)

ClassWeight = Literal["balanced"] | Sequence[float] | Mapping[int, float] | None

FEW = 5
"""Not more whole numbers than these are thought to be classes rather than counts."""

BEYOND = 0.1
"""How far beyond the training values a value may be predicted, as a share of their range."""


def with_labels(graphs: PackedGraphs, y: Any = None) -> PackedGraphs:
    """The graphs with usable labels, their own or ``y``, or an error that says what is wrong."""
    if y is not None:
        graphs = replace(graphs, y=_given(y, len(graphs)))
    if graphs.y is None:
        raise InputError(
            "some or all of the graphs carry no labels; pass y=, or set data.y of every graph"
        )
    if not len(graphs):
        raise InputError("there are no graphs to learn from")
    if graphs.y.dim() == 2 and graphs.y.shape[1] == 1:
        graphs = replace(graphs, y=graphs.y.squeeze(1))
    assert graphs.y is not None
    if graphs.y.is_floating_point():
        _check_values(graphs.y)
    return graphs


def _given(y: Any, graphs: int) -> Tensor:
    """Labels of any kind as a tensor, one or a row of them for each of so many graphs."""
    try:
        labels = np.asarray(y)
        if labels.dtype.kind == "O":  # numbers, as pandas may hold them
            labels = np.asarray(labels.tolist())
    except ValueError:
        raise InputError("rows of labels differ in length; give every graph as many") from None
    if labels.dtype.kind not in "biuf":
        plain = labels.ravel().tolist()
        first = next((value for value in plain if not isinstance(value, int | float)), plain)
        advice = ""
        if isinstance(first, str):
            advice = "; names, y = np.unique(labels, return_inverse=True) numbers classes"
        raise InputError(f"labels must be numbers, classes or values; got {first!r}{advice}")
    if labels.ndim not in (1, 2) or len(labels) != graphs:
        raise InputError(f"{graphs} graphs and labels of shape {labels.shape} do not fit together")
    return torch.from_numpy(labels.copy())  # pandas lends, read-only


def _check_values(y: Tensor) -> None:
    """Refuses what is not finite; of several values some may be missing, but not all of a graph."""
    is_missing = y.isnan() if y.dim() == 2 else torch.zeros_like(y, dtype=torch.bool)
    is_bad = ~y.isfinite() & ~is_missing
    if y.dim() == 2:
        if is_missing.all(0).any():
            raise InputError(f"no graph has a label number {int(is_missing.all(0).nonzero()[0])}")
        is_bad = is_bad.any(1) | is_missing.all(1)
    if is_bad.any():
        raise InputError(
            f"{int(is_bad.sum())} of {len(y)} labels are NaN or infinite, the first of graph "
            f"{int(is_bad.nonzero()[0])}; remove those graphs"
        )


def as_called(molecules: Molecules, words: Wording) -> PackedGraphs:
    """Molecules whose classes were words, with the numbers that a model has for these words."""
    names, graphs = molecules.class_names, molecules.graphs
    if names is None or not words.names:
        return graphs
    known = {name.lower(): number for number, name in words.names.items()}
    if all(name.lower() in known for name in names):
        numbers = [known[name.lower()] for name in names]
    elif len(names) == len(known) == 2 and names[1].lower() in OPPOSITES.values():
        numbers = sorted(known.values())  # yes and no, of what the model calls active
    else:
        told = ", ".join(names)
        raise InputError(f"the classes are called {told}; this model knows {', '.join(known)}")
    assert graphs.y is not None
    return replace(graphs, y=torch.tensor(numbers)[graphs.y])


def task_of(graphs: PackedGraphs, wanted: Goal | None = None) -> tuple[Goal, list[int] | None]:
    """The task (by default by the type of the labels), and for classification the classes."""
    assert graphs.y is not None
    known = graphs.y[~graphs.y.isnan()]
    if graphs.y.dim() == 2 and wanted in (None, "multilabel") and is_zero_or_one(known):
        if wanted is None:
            log.warning("all labels are 0 or 1, several a graph: task='multilabel' is taken")
        return "multilabel", None
    if wanted == "multilabel":
        raise InputError(
            "multilabel needs a row of labels for each graph, each 0, 1 or NaN, where it is not "
            f"known; got {graphs.y.dtype} of shape {list(graphs.y.shape)}"
        )
    is_value = graphs.y.is_floating_point()
    if wanted is None and is_value and _look_like_classes(graphs.y):
        log.warning(
            "all labels are whole numbers from %g to %g, given as floats, and taken for values; "
            "say task='classification' if they are classes",
            graphs.y.min(),
            graphs.y.max(),
        )
    if wanted is None and is_value and graphs.y.dim() == 1 and is_zero_or_one(graphs.y):
        log.warning("all labels are 0.0 or 1.0 and taken for classes; say task='regression' if not")
        is_value = False
    task: Goal = wanted or ("regression" if is_value else "classification")
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


def _look_like_classes(y: Tensor) -> bool:
    """Whether each graph has one of a few whole numbers, not 0 and 1 alone.

    Classes that were read as floats, by pandas for instance, look like this; and so do counts.
    """
    if y.dim() != 1 or is_zero_or_one(y) or not torch.equal(y, y.round()):
        return False
    return 2 <= len(np.unique(y.numpy())) <= min(FEW, len(y) // 4)


def is_zero_or_one(y: Tensor) -> bool:
    """Whether nothing but 0 and 1 occurs, and both do."""
    return bool(((y == 0) | (y == 1)).all() and (y == 0).any() and (y == 1).any())


def class_weights(
    y: Tensor, classes: int, wanted: ClassWeight, names: Sequence[int] | None = None
) -> Tensor | None:
    r"""What a graph of each class counts in training, ``[classes]``.

    ``"balanced"``: :math:`n / (C n_c)`, so that all classes count the same, as in scikit-learn. A
    list holds the weight of each class in their order; a mapping has it under the class's own
    number, one of ``names`` (by default from 0), and a class that it leaves out counts 1.
    """
    if wanted is None:
        return None
    if isinstance(wanted, str):
        if wanted != "balanced":
            raise InputError(f"class_weight must be 'balanced' or numbers; got {wanted!r}")
        return len(y) / (classes * torch.bincount(y, minlength=classes).clamp(min=1))
    if isinstance(wanted, Mapping):
        known = list(range(classes) if names is None else names)
        strange = [name for name in wanted if name not in known]
        if strange:
            raise InputError(
                f"class_weight has a weight of class {strange[0]!r}; the classes are {known}"
            )
        wanted = [wanted.get(name, 1.0) for name in known]
    weights = torch.tensor(list(wanted), dtype=torch.get_default_dtype())
    if len(weights) != classes or not (weights >= 0).all() or not weights.sum() > 0:
        raise InputError(f"class_weight needs {classes} numbers from 0; got {list(wanted)}")
    return weights


def labels_each(graphs: PackedGraphs) -> int:
    """How many labels each graph has."""
    assert graphs.y is not None
    return 1 if graphs.y.dim() == 1 else graphs.y.shape[1]


def as_targets(
    graphs: PackedGraphs, task: Goal, classes: list[int] | None, outputs: int | None = None
) -> PackedGraphs:
    """The graphs with labels as the loss needs them: class numbers from 0, or 32-bit values.

    With ``outputs``, what a model gives for each graph, there must be as many values.
    """
    assert graphs.y is not None
    if task != "classification":
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


def bounds_of(values: Tensor) -> list[tuple[float, float]]:
    """The range of each column and a tenth of it beyond, ``[graphs, targets]``; NaN is left out."""
    known = values.double().numpy()
    low, high = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
    beyond = BEYOND * (high - low)
    return list(zip((low - beyond).tolist(), (high + beyond).tolist(), strict=True))


def scale_of(values: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the spread of each column, ``[graphs, targets]``; NaN is left out."""
    if values.isnan().any():
        mean = values.nanmean(0)
        return mean, (values - mean).square().nanmean(0).sqrt()
    spread, mean = torch.std_mean(values, dim=0, correction=0)
    return mean, spread
