r"""Several models that differ in their seed alone: how far they agree is how far to trust one.

On the disk an ensemble is a model folder with further ones inside:

.. code-block:: text

    qed/                    the main model; ``SubgraphRecognizer.load`` reads it alone
        card.json
        model.safetensors
        members/1/          a further member, a model folder of its own
        members/2/
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.model.guided import AnyRule, choose
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.shipped import find
from vgib.train import loop as train

Array = npt.NDArray[Any]
MEMBERS = "members"


def members(model: str | Path, *, device: torch.device | str = "cpu") -> list[SubgraphRecognizer]:
    """The main model and its further members, by a folder or the name of a shipped model.

    >>> len(members("qed")) > 1
    True
    """
    folder = find(model)
    inside = folder / MEMBERS
    further = sorted(inside.iterdir(), key=lambda p: p.name) if inside.is_dir() else []
    return [SubgraphRecognizer.load(path, device=device) for path in (folder, *further)]


def save_members(
    models: Sequence[SubgraphRecognizer],
    folder: str | Path,
    *,
    summary: str = "",
    metrics: dict[str, Any] | None = None,
) -> Path:
    """Writes an ensemble; the first model is the main one, and the card is for it."""
    if not models:
        raise InputError("an ensemble needs at least one model")
    folder = Path(folder)
    models[0].save(folder, summary=summary, metrics=metrics)
    for number, model in enumerate(models[1:], 1):
        model.save(folder / MEMBERS / str(number))
    return folder


class Prediction(NamedTuple):
    """What an ensemble predicts.

    Attributes:
        mean: ``[graphs]`` values, or class probabilities ``[graphs, classes]``, over the members.
        spread: Their standard deviation over the members; 0 for one member.
    """

    mean: Array
    spread: Array


def predict(models: Sequence[SubgraphRecognizer], graphs: Any) -> Prediction:
    """The mean of the members' values or class probabilities, and how far they lie apart."""
    packed = models[0].pack(graphs)
    is_class = models[0].card_.task == "classification"
    each = np.stack([m.predict_proba(packed) if is_class else m.predict(packed) for m in models])
    return Prediction(each.mean(0), each.std(0))


def outputs(models: Sequence[SubgraphRecognizer], graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """Mean values (or the logarithms of mean probabilities) and mean node scores of the members.

    What :func:`vgib.model.guided.guided_subgraphs` asks of a model: an ensemble can choose as one.
    """
    each = [train.predict(model.network_, graphs, device=model.device) for model in models]
    values = torch.stack([value for value, _ in each])
    if models[0].card_.task == "classification":
        values = values.softmax(2).mean(0).log()
    else:
        values = values.mean(0)
    return values, torch.stack([scores for _, scores in each]).mean(0)


def stability(
    models: Sequence[SubgraphRecognizer],
    graphs: Any,
    *,
    keep_ratio: float = 0.5,
    rule: AnyRule | None = None,
    scores: Tensor | None = None,
) -> Array:
    """How far the members choose the same nodes, for each graph, in [0, 1].

    Each member chooses its best subgraph of the same share of the nodes, by the same rule; see
    :func:`agreement`. ``scores`` are the members' own, ``[members, nodes]``, when at hand.
    """
    packed = models[0].pack(graphs)
    known = [None] * len(models) if scores is None else list(scores.numpy())
    masks = np.stack(
        [
            _chosen(model, packed, keep_ratio, rule, own)
            for model, own in zip(models, known, strict=True)
        ]
    )
    return agreement(masks, packed.node_ptr.numpy())


def _chosen(
    model: SubgraphRecognizer,
    graphs: PackedGraphs,
    keep_ratio: float,
    rule: AnyRule | None,
    scores: Array | None,
) -> Array:
    """The nodes of a member's best subgraphs, ``bool [nodes]``."""

    def of(some: PackedGraphs) -> tuple[Tensor, Tensor]:
        return train.predict(model.network_, some, device=model.device)

    is_class = model.card_.task == "classification"
    found = choose(graphs, of, keep_ratio=keep_ratio, rule=rule, classes=is_class, scores=scores)
    first = graphs.node_ptr[:-1].tolist()
    chosen = np.zeros(graphs.num_nodes, dtype=bool)
    for low, ranked in zip(first, found, strict=True):
        if ranked:  # a graph without nodes has none
            chosen[low + np.array(ranked[0].nodes)] = True
    return chosen


def agreement(masks: Array, ptr: Array) -> Array:
    r"""The mean Jaccard similarity of the chosen nodes over all pairs of members, for each graph.

    .. math:: \frac{2}{M(M-1)} \sum_{a<b} \frac{|S_a \cap S_b|}{|S_a \cup S_b|}

    1 when all members choose the same nodes, or when there is only one member; two random halves of
    a graph have about one third.

    >>> masks = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool)
    >>> agreement(masks, np.array([0, 4])).round(3).tolist()
    [0.333]

    Args:
        masks: ``bool [members, nodes]``; the nodes that each member chooses.
        ptr: ``[graphs + 1]``; graph *g* owns nodes ``ptr[g]:ptr[g + 1]``.
    """
    graph = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    pairs = np.array(list(combinations(range(len(masks)), 2))).reshape(-1, 2)
    total = np.zeros(len(ptr) - 1)
    for a, b in pairs:
        common = np.bincount(graph, weights=masks[a] & masks[b], minlength=len(total))
        union = np.bincount(graph, weights=masks[a] | masks[b], minlength=len(total))
        total += np.where(union > 0, common / np.maximum(union, 1), 1.0)
    return total / len(pairs) if len(pairs) else np.ones(len(total))
