"""Shapley values of nodes by sampling, and a connected subgraph of every size."""

from itertools import pairwise
from time import monotonic
from typing import Any

import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.frozen import Removal, packed, predictions
from vgib.explain.lift import ranks
from vgib.explain.methods.occlusion import passes


@explainers.register("subgraphx")
class SubgraphX(Explainer):
    r"""Nodes in the order in which greedy pruning by Shapley values gives them up, last is best.

    .. math:: \phi_j = \mathbb E_\pi \bigl[ f(G[\pi_{\le j}]) - f(G[\pi_{<j}]) \bigr]

    Yuan et al., "On Explainability of Graph Neural Networks via Subgraph Explorations", ICML 2021,
    search connected subgraphs with a Monte-Carlo tree, each judged by its Shapley value.

    Note:
        This is a cheaper relative, not their search: Shapley values of single nodes, over random
        orders :math:`\pi` of the graph's nodes and their reversals, then one greedy descent that
        peels off the node of least value whose loss leaves the rest connected. So the best nodes
        are connected at every size, as theirs are, but only one branch of the tree is visited.

    Args:
        samples: Orders, each with its reversal.
        seconds: Time for one call; when it is up, the orders so far must do, but one at least.
            Results are the same for the same seed as long as time is not up.
    """

    removal: Removal = "exact"

    def __init__(
        self, *, samples: int = 8, seconds: float = 60.0, chunk: int = 2048, **rest: Any
    ) -> None:
        super().__init__(**rest)
        self.samples, self.seconds, self.chunk = samples, seconds, chunk

    def explain(self, case: Case) -> Tensor:
        values = case.frozen.importance(self.values(case))
        graphs = packed(case.batch)
        order = peel(graphs, values)
        last = (graphs.sizes - 1).clamp(min=1)[case.batch.graphs.batch]
        return order / last

    def values(self, case: Case) -> Tensor:
        """Shapley values, in units of the margin."""
        graphs = packed(case.batch)
        started, total, count = monotonic(), torch.zeros(graphs.num_nodes), 0
        for _ in range(self.samples):
            place = ranks(torch.rand(graphs.num_nodes), case.batch.graphs)
            last = (graphs.sizes - 1)[case.batch.graphs.batch]
            for order in (place, last - place):
                total += self._marginals(case, graphs, order)
                count += 1
            if monotonic() - started > self.seconds:
                break
        return total / count

    @torch.no_grad()
    def _marginals(self, case: Case, graphs: PackedGraphs, order: Tensor) -> Tensor:
        """What each node adds to those that come before it in the order."""
        of_node = case.batch.graphs.batch
        first = graphs.node_ptr[of_node]
        found = torch.zeros(graphs.num_nodes)
        # Row r is the prefix that ends with the r-th node of its graph in the order.
        for rows in passes(graphs.sizes[of_node], self.chunk):
            copies = graphs[of_node[rows]]
            source = torch.arange(copies.num_nodes) - (
                copies.node_ptr[:-1] - graphs.node_ptr[of_node[rows]]
            ).repeat_interleave(copies.sizes)
            length = (rows - first[rows]).repeat_interleave(copies.sizes)
            output = predictions(
                case.frozen, copies.induced(order[source] <= length), batch_size=self.chunk
            )
            found[rows] = case.frozen.evidence(output, case.goal[of_node[rows]])
        gain = found.clone()
        gain[1:] -= found[:-1]
        starts = graphs.node_ptr[:-1][graphs.sizes > 0]
        # Nothing is known of a graph without nodes: the first node of an order adds nothing.
        gain[starts] = 0.0
        return gain[first + order]


def peel(graphs: PackedGraphs, values: Tensor) -> Tensor:
    """When each node is given up, from 0: always the least of value that is no cut vertex."""
    import networkx as nx  # takes a third of a second, which no other method should wait for

    receivers = torch.arange(graphs.num_nodes).repeat_interleave(graphs.indptr.diff())
    batch = nx.Graph(zip(graphs.senders().tolist(), receivers.tolist(), strict=True))
    batch.add_nodes_from(range(graphs.num_nodes))
    worth = values.tolist()
    order = torch.zeros(graphs.num_nodes)
    for low, high in pairwise(graphs.node_ptr.tolist()):
        left = batch.subgraph(range(low, high)).copy()
        for when in range(high - low):
            free = set(left).difference(nx.articulation_points(left))
            least = min(free, key=lambda node: (worth[node], -node))
            left.remove_node(least)
            order[least] = when
    return order
