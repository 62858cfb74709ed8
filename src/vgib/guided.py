"""The bottleneck proposes, the predictor decides: parts that are predicted like the whole."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.blocktree import BlockTree, best_unions, block_trees, connected_unions, nearest_size
from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.data.molecules import capped_parts
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.recognition import Subgraph, atom_features, wanted_sizes

Outputs = Callable[[PackedGraphs], tuple[Tensor, Tensor]]
Mask = npt.NDArray[np.bool_]

MOST_CANDIDATES = 64
MOST_VISITED = 20_000


def guided_subgraphs(
    graphs: PackedGraphs,
    outputs: Outputs,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    classes: bool = False,
    candidates: int = MOST_CANDIDATES,
) -> list[list[Subgraph]]:
    r"""For each molecule the ring-intact parts whose predicted property is nearest to its own.

    .. math:: S^* = \arg\min_{S \in \mathcal C(G)} |f(G_S) - f(G)|

    :math:`\mathcal C` holds the connected unions of whole rings, multiply bonded groups and single
    atoms within one atom of the wanted size; where there are more than ``candidates``, those of the
    highest mean score. :math:`f` is the model itself, on the part capped with hydrogen, so it
    should have seen fragments in training. No oracle is asked.

    Args:
        graphs: Molecules.
        outputs: Gives a set of graphs its values or class logits, and its node scores.
        n: How many at each size.
        keep_ratio: As for :func:`vgib.recognition.find_subgraphs`.
        classes: Whether the outputs are class logits; then their probabilities are compared.
        candidates: The most that are tried for each molecule and size.
    """
    features = atom_features(graphs)
    if features is None or graphs.ids is None:
        raise InputError("only molecules can be searched for parts that are predicted alike")
    predicted, scores = outputs(graphs)
    blocks = blocks_of(graphs, graphs.edge_attr)
    trees = block_trees(graphs, blocks)
    sizes = wanted_sizes(graphs, scores.numpy(), keep_ratio, connected=True)
    found: list[dict[tuple[int, ...], Subgraph]] = [{} for _ in trees]
    parts = torch.split(scores, graphs.sizes.tolist())
    for wanted in sizes:
        masks = _candidates(trees, scores.numpy(), graphs.node_ptr.tolist(), wanted, candidates)
        of_graph = torch.tensor([len(m) for m in masks])
        index = torch.arange(len(masks)).repeat_interleave(of_graph)
        flat = torch.from_numpy(np.concatenate([m.reshape(-1) for m in masks]))
        tried, _ = outputs(capped_parts(graphs[index], flat, features))
        far = torch.split(_distance(tried, predicted[index], classes), of_graph.tolist())
        for number, (mask, distance) in enumerate(zip(masks, far, strict=True)):
            for choice in distance.argsort(stable=True)[:n].tolist():
                nodes = tuple(np.flatnonzero(mask[choice]).tolist())
                found[number].setdefault(
                    nodes, _subgraph(nodes, parts[number].numpy(), graphs.ids[number])
                )
    return [list(of_molecule.values()) for of_molecule in found]


def _candidates(
    trees: list[BlockTree], scores: npt.NDArray[Any], ptr: list[int], wanted: Any, most: int
) -> list[Mask]:
    """The parts to try, ``bool [candidates, atoms]`` for each molecule."""
    chosen = []
    for tree, (low, high), size in zip(trees, pairwise(ptr), wanted, strict=True):
        own = scores[low:high]
        near = nearest_size(tree, int(size))
        unions = connected_unions(tree, max(1, near - 1), near + 1, cap=MOST_VISITED).masks
        if not unions:  # the enumeration ended before it reached the size
            best = best_unions(tree, tree.sums(own), limit=near)
            unions = [union for _, union in best[near]]
        masks = tree.nodes(unions)
        if len(masks) > most:
            means = masks @ own / masks.sum(1)
            masks = masks[np.sort(np.argsort(-means, kind="stable")[:most])]
        chosen.append(masks)
    return chosen


def _distance(tried: Tensor, predicted: Tensor, classes: bool) -> Tensor:
    if classes:
        tried, predicted = tried.softmax(1), predicted.softmax(1)
    return (tried - predicted).abs().sum(1)


def _subgraph(nodes: tuple[int, ...], scores: npt.NDArray[Any], smiles: str) -> Subgraph:
    return Subgraph(
        nodes,
        float(scores[list(nodes)].mean()),
        len(nodes) / len(scores),
        fragment(smiles, nodes, capped=False).smiles,
    )
