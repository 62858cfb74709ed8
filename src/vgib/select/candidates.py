"""Which ring-intact parts of a molecule are worth asking a model about: near a size, best-scored.

The parts themselves do not depend on the scores, so that they are listed once for all who choose
among them.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vgib.select.blocktree import (
    Array,
    Graphs,
    Mask,
    best_subgraphs,
    block_trees,
    connected_subgraphs,
    nearest_size,
)
from vgib.select.ties import best, levels

MOST_CANDIDATES = 64
"""Parts of one molecule and size that a model is asked about; of more, the best-scored."""

MOST_VISITED = 20_000
"""Parts that are looked at while those near a size are listed."""


class Candidates:
    """The connected parts of whole blocks near wanted sizes, of each graph.

    Args:
        blocks: ``int [nodes]``, the indivisible blocks; see :func:`vgib.chem.blocks.blocks_of`.
    """

    def __init__(self, graphs: Graphs, blocks: Any) -> None:
        self.trees = block_trees(graphs, blocks)
        self.bounds = list(pairwise(np.asarray(graphs.node_ptr).tolist()))
        self._listed: dict[tuple[int, int, int], Mask] = {}

    def near(
        self,
        scores: Array,
        sizes: Sequence[Array],
        *,
        most: int = MOST_CANDIDATES,
        slack: int = 1,
    ) -> list[list[Mask]]:
        """The parts to try, ``bool [parts, nodes]``: for each graph one array for each size.

        Args:
            sizes: Arrays of wanted numbers of nodes, one entry for each graph.
            most: Of more parts than these, those of the highest mean score.
            slack: By how many nodes a part may miss the reachable size nearest to the wanted one.
        """
        wanted = np.stack(sizes, axis=1).tolist()
        listed = self._listed
        found = []
        for graph, ((low, high), each) in enumerate(zip(self.bounds, wanted, strict=True)):
            if any((graph, size, slack) not in listed for size in each):
                self._list(graph, each, slack)
            tried = [listed[graph, size, slack] for size in each]
            if any(not 0 < len(masks) <= most for masks in tried):
                own = scores[low:high]
                tried = [
                    self._best(graph, size, masks, own, most)
                    for size, masks in zip(each, tried, strict=True)
                ]
            found.append(tried)
        return found

    def by_size(
        self, scores: Array, share: float, most: int = 0, only: Collection[int] | None = None
    ) -> list[Mask]:
        """The best-scored part of each size up to a share of the nodes, the smallest first.

        ``bool [parts, nodes]`` for each graph; with up to ``most`` others, of one size the
        better-scored first. Of graphs that are not among ``only`` there are none.
        """
        found = []
        for graph, (tree, (low, high)) in enumerate(zip(self.trees, self.bounds, strict=True)):
            if only is not None and graph not in only:
                found.append(np.zeros((0, high - low), dtype=bool))
                continue
            limit = int(share * (high - low))
            of_size = best_subgraphs(tree, tree.sums(scores[low:high]), limit=limit)
            ranked = [subgraph for ((_, subgraph),) in of_size.values()]
            if most:
                others = connected_subgraphs(tree, 1, limit, cap=most).masks
                ranked = list(dict.fromkeys([*ranked, *others]))
            masks = tree.nodes(ranked) if ranked else np.zeros((0, high - low), dtype=bool)
            if most:
                counts = masks.sum(1)
                means = masks @ scores[low:high] / np.maximum(counts, 1)
                masks = masks[np.argsort(levels(means, counts), kind="stable")]
            found.append(masks)
        return found

    def _list(self, graph: int, sizes: Sequence[int], slack: int) -> None:
        """Lists the parts near several sizes at once where they are few, else size by size."""
        tree = self.trees[graph]
        near = {size: nearest_size(tree, size) for size in sizes}
        low, high = max(1, min(near.values()) - slack), max(near.values()) + slack
        subgraphs, complete = connected_subgraphs(tree, low, high, cap=MOST_VISITED)
        masks = tree.nodes(subgraphs)
        counts = masks.sum(1)
        for size, at in near.items():
            if high - low <= 2 * slack:
                own = masks
            elif complete:
                own = masks[np.abs(counts - at) <= slack]
            else:
                subgraphs = connected_subgraphs(
                    tree, max(1, at - slack), at + slack, cap=MOST_VISITED
                ).masks
                own = tree.nodes(subgraphs)
            self._listed.setdefault((graph, size, slack), own)

    def _best(self, graph: int, wanted: int, masks: Mask, own: Array, most: int) -> Mask:
        """Of many parts the best-scored; where the listing ended too early, the best-scored one."""
        if not len(masks):
            tree = self.trees[graph]
            size = nearest_size(tree, wanted)
            subgraphs = best_subgraphs(tree, tree.sums(own), limit=size)[size]
            return tree.nodes([subgraph for _, subgraph in subgraphs])
        if len(masks) <= most:
            return masks
        means = masks @ own / masks.sum(1)
        return masks[np.sort(best(means, most))]
