"""Occlusion: what the model says when a node is not there."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.frozen import Removal, packed, predictions
from vgib.explain.lift import scaled


@explainers.register("occlusion")
class Occlusion(Explainer):
    r"""The drop of the class margin when one node is taken out of the graph.

    .. math:: a_j = f(G) - f(G \setminus j)

    Exact for every model: the graph without the node is built and predicted.

    Args:
        chunk: Copies of graphs, each without one node, in one forward pass at most; fewer where
            the graphs are large.
    """

    removal: Removal = "exact"

    def __init__(self, *, chunk: int = 1024, **rest: Any) -> None:
        super().__init__(**rest)
        self.chunk = chunk

    def explain(self, case: Case) -> Tensor:
        """The drops, scaled graph by graph; the only node of a graph gets one half."""
        found = single_drops(case, chunk=self.chunk)
        return scaled(case.frozen.importance(found), case.batch.graphs)


NODES_A_COPY = 256
"""A pass holds as many nodes as its copies of graphs of this size would have."""


def passes(sizes: Tensor, chunk: int) -> Iterator[Tensor]:
    """The numbers of graphs that go through a model together: few of the large ones.

    Args:
        chunk: How many there are at most; large ones are fewer, one at least.
    """
    for numbers in torch.split(torch.arange(len(sizes)), chunk):
        place = (sizes[numbers].cumsum(0) - 1) // (chunk * NODES_A_COPY)
        yield from torch.split(
            numbers, torch.unique_consecutive(place, return_counts=True)[1].tolist()
        )


@torch.no_grad()
def single_drops(case: Case, *, chunk: int = 1024) -> Tensor:
    """The drop of the margin for each node that is taken out alone, ``[num_nodes]``."""
    graphs, of_node = packed(case.batch), case.batch.graphs.batch
    drops = []
    whole = case.frozen.evidence(case.clean.output, case.goal)
    for nodes in passes(graphs.sizes[of_node], chunk):
        copies = graphs[of_node[nodes]]
        mask = torch.ones(copies.num_nodes, dtype=torch.bool)
        mask[copies.node_ptr[:-1] + nodes - graphs.node_ptr[of_node[nodes]]] = False
        rest = copies.induced(mask)
        if not rest.num_nodes:
            drops.append(torch.zeros(len(nodes)))
            continue
        output = predictions(case.frozen, rest, batch_size=chunk)
        left = case.frozen.evidence(output, case.goal[of_node[nodes]])
        drops.append(whole[of_node[nodes]] - left)
    # What is left of a one-node graph says nothing.
    return torch.cat(drops).nan_to_num(0.0)
