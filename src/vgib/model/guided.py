"""The bottleneck proposes, the predictor decides: parts that are predicted like the whole."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.chem.blocks import blocks_of
from vgib.chem.mol import Mol
from vgib.data.molecules import capped_parts
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.model.recognition import (
    Rule,
    Subgraph,
    as_subgraphs,
    atom_features,
    find_rationales,
    wanted_sizes,
)
from vgib.select.blocktree import (
    BlockTree,
    best_unions,
    block_trees,
    connected_unions,
    nearest_size,
)
from vgib.select.masks import Rationale

AnyRule = Rule | Literal["guided"]
Outputs = Callable[[PackedGraphs], tuple[Tensor, Tensor]]
Mask = npt.NDArray[np.bool_]

MOST_CANDIDATES = 64
MOST_VISITED = 20_000


def choose(
    graphs: PackedGraphs,
    outputs: Outputs,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    rule: AnyRule | None = None,
    classes: bool = False,
    slack: int = 1,
    whole: tuple[Tensor, Tensor] | None = None,
    scores: npt.NDArray[Any] | None = None,
) -> list[list[Rationale]]:
    """The ranked parts of each graph by any rule: by their scores, or guided by the prediction.

    Args:
        rule: As for :func:`vgib.model.recognition.find_subgraphs`, or ``"guided"``.
        whole: What ``outputs`` gave for the graphs, when it is at hand.
        scores: The scores to go by, when they are at hand or come from elsewhere.

    The others are as for :func:`guided_subgraphs`.
    """
    if rule == "guided":
        return guided_rationales(
            graphs, outputs, n, keep_ratio=keep_ratio, classes=classes, slack=slack, whole=whole
        )
    if scores is None:
        scores = (outputs(graphs) if whole is None else whole)[1].numpy()
    return find_rationales(graphs, scores, n, keep_ratio=keep_ratio, rule=rule)


def guided_subgraphs(
    graphs: PackedGraphs,
    outputs: Outputs,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    classes: bool = False,
    candidates: int = MOST_CANDIDATES,
    slack: int = 1,
    whole: tuple[Tensor, Tensor] | None = None,
    mols: Sequence[Mol] | None = None,
) -> list[list[Subgraph]]:
    r"""For each molecule the ring-intact parts whose predicted property is nearest to its own.

    .. math:: S^* = \arg\min_{S \in \mathcal C(G)} |f(G_S) - f(G)|

    :math:`\mathcal C` holds the connected unions of whole rings, multiply bonded groups and single
    atoms within ``slack`` atoms of the wanted size; where there are more than ``candidates``, those
    of the highest mean score. :math:`f` is the model itself, on the part capped with hydrogen, so
    it should have seen fragments in training (:mod:`vgib.model.augment`). No oracle is asked.

    Args:
        graphs: Molecules.
        outputs: Gives a set of graphs its values or class logits, and its node scores.
        n: How many at each size.
        keep_ratio: As for :func:`vgib.model.recognition.find_subgraphs`.
        classes: Whether the outputs are class logits; then their probabilities are compared.
        candidates: The most that are tried for each molecule and size.
        slack: By how many atoms a part may miss the reachable size nearest to the wanted one.
        whole: What ``outputs`` gave for the graphs, when it is at hand.
        mols: The molecules themselves, where they were kept, so that no SMILES is read again.
    """
    found = guided_rationales(
        graphs,
        outputs,
        n,
        keep_ratio=keep_ratio,
        classes=classes,
        candidates=candidates,
        slack=slack,
        whole=whole,
    )
    return as_subgraphs(graphs, found, mols)


def guided_rationales(
    graphs: PackedGraphs,
    outputs: Outputs,
    n: int = 1,
    *,
    keep_ratio: float | Sequence[float] | None = None,
    classes: bool = False,
    candidates: int = MOST_CANDIDATES,
    slack: int = 1,
    whole: tuple[Tensor, Tensor] | None = None,
) -> list[list[Rationale]]:
    """The same without the SMILES, which cost as much as the search."""
    features = atom_features(graphs)
    if features is None:
        raise InputError("only molecules can be searched for parts that are predicted alike")
    predicted, scores = outputs(graphs) if whole is None else whole
    sizes = wanted_sizes(graphs, scores.numpy(), keep_ratio, connected=True)
    tried = candidate_parts(graphs, scores.numpy(), sizes, candidates, slack)
    # All parts of all molecules and sizes are predicted at once, sizes innermost.
    counts = torch.tensor([len(masks) for masks in tried])
    owner = torch.arange(len(graphs)).repeat_interleave(len(sizes)).repeat_interleave(counts)
    flat = torch.from_numpy(np.concatenate([masks.reshape(-1) for masks in tried]))
    values, _ = outputs(capped_parts(replace(graphs, ids=None)[owner], flat, features))
    far = torch.split(_distance(values, predicted[owner], classes), counts.tolist())
    found: list[dict[tuple[int, ...], Rationale]] = [{} for _ in range(len(graphs))]
    own = torch.split(scores, graphs.sizes.tolist())
    for number, (masks, distance) in enumerate(zip(tried, far, strict=True)):
        molecule = number // len(sizes)
        for choice in distance.argsort(stable=True)[:n].tolist():
            mask = masks[choice]
            nodes = tuple(np.flatnonzero(mask).tolist())
            score = float(own[molecule].numpy()[mask].mean())
            found[molecule].setdefault(nodes, Rationale(nodes, score, len(nodes) / len(mask)))
    return [list(of_molecule.values()) for of_molecule in found]


def candidate_parts(
    graphs: PackedGraphs,
    scores: npt.NDArray[Any],
    sizes: Sequence[npt.NDArray[Any]],
    most: int = MOST_CANDIDATES,
    slack: int = 1,
) -> list[Mask]:
    """The parts to try, ``bool [parts, atoms]``: for each molecule, one array for each size.

    Args:
        graphs: Molecules.
        scores: One number for each atom.
        sizes: Arrays of wanted numbers of atoms, one entry for each molecule.
        most: Of more parts than these, those of the highest mean score.
        slack: By how many atoms a part may miss its size.
    """
    trees = block_trees(graphs, blocks_of(graphs, graphs.edge_attr))
    wanted = np.stack(sizes, axis=1).tolist()
    chosen = []
    for tree, (low, high), each in zip(
        trees, pairwise(graphs.node_ptr.tolist()), wanted, strict=True
    ):
        own = scores[low:high]
        chosen += [_parts_of_size(tree, own, int(size), most, slack) for size in each]
    return chosen


def _parts_of_size(
    tree: BlockTree, own: npt.NDArray[Any], size: int, most: int, slack: int
) -> Mask:
    near = nearest_size(tree, size)
    unions = connected_unions(tree, max(1, near - slack), near + slack, cap=MOST_VISITED).masks
    if not unions:  # the enumeration ended before it reached the size
        unions = [union for _, union in best_unions(tree, tree.sums(own), limit=near)[near]]
    masks = tree.nodes(unions)
    if len(masks) > most:
        means = masks @ own / masks.sum(1)
        masks = masks[np.sort(np.argsort(-means, kind="stable")[:most])]
    return masks


def _distance(tried: Tensor, predicted: Tensor, classes: bool) -> Tensor:
    if classes:
        tried, predicted = tried.softmax(1), predicted.softmax(1)
    return (tried - predicted).abs().sum(1)
