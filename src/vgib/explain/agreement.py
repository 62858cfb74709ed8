"""Node scores against the known explanation, and against themselves from another seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.lift import to_edges
from vgib.metrics import Estimate, mean, node_auc, precision_at_truth
from vgib.select.masks import keep_ratio


@dataclass(frozen=True)
class GroundTruth:
    """How well scores find the known explanation, beside random scores.

    Attributes:
        node_auc: Area under the ROC curve over all nodes.
        edge_auc: Over all directed edges, node scores lifted; ``None`` without marked edges.
        precision: Of as many nodes as the explanation has, the share that belongs to it.
        random_node_auc: ``node_auc`` of random scores.
        random_precision: ``precision`` of random scores.
    """

    node_auc: Estimate
    edge_auc: Estimate | None
    precision: Estimate
    random_node_auc: Estimate
    random_precision: Estimate


def ground_truth(graphs: PackedGraphs, scores: Tensor, *, seed: int = 0) -> GroundTruth:
    """Scores against ``graphs.node_truth`` and ``graphs.edge_truth``."""
    if graphs.node_truth is None:
        raise InputError("these graphs carry no node_truth to compare with")
    truth, ptr = graphs.node_truth.numpy(), graphs.node_ptr.numpy()
    values = scores.numpy()
    chance = np.random.default_rng(seed).random(len(values))
    edges = None
    if graphs.edge_truth is not None:
        lifted = to_edges(scores, graphs.batch().adj.edge_index).numpy()
        edges = node_auc(lifted, graphs.edge_truth.numpy(), graphs.edge_ptr.numpy())
    return GroundTruth(
        node_auc(values, truth, ptr),
        edges,
        precision_at_truth(values, truth, ptr),
        node_auc(chance, truth, ptr),
        precision_at_truth(chance, truth, ptr),
    )


@dataclass(frozen=True)
class Stability:
    """How alike explanations from several seeds are, beside random ones.

    Attributes:
        keep_ratio: The share of nodes in the explanation.
        jaccard: Nodes in common of all nodes chosen by either, averaged over pairs of seeds.
        random_jaccard: Of random explanations of the same sizes.
    """

    keep_ratio: float
    jaccard: Estimate
    random_jaccard: Estimate


def stability(
    runs: Sequence[Tensor], ptr: Tensor, *, keep_ratios: Sequence[float] = (0.5,), seed: int = 0
) -> list[Stability]:
    """Of scores of the same nodes from two or more seeds, at each share."""
    if len(runs) < 2:
        raise InputError(f"stability compares at least two runs; got {len(runs)}")
    generator = torch.Generator().manual_seed(seed)
    chance = [torch.rand(len(runs[0]), generator=generator) for _ in runs]
    return [
        Stability(ratio, _alike(runs, ptr, ratio), _alike(chance, ptr, ratio))
        for ratio in keep_ratios
    ]


def _alike(runs: Sequence[Tensor], ptr: Tensor, ratio: float) -> Estimate:
    graph = torch.arange(len(ptr) - 1).repeat_interleave(ptr.diff())
    masks = [keep_ratio(run, ptr, ratio) for run in runs]
    pairs = []
    for a, b in combinations(masks, 2):
        both = torch.zeros(len(ptr) - 1).index_add(0, graph, (a & b).float())
        either = torch.zeros(len(ptr) - 1).index_add(0, graph, (a | b).float())
        pairs.append(both / either)
    return mean(torch.stack(pairs).mean(0).numpy())
