"""GNNExplainer for a whole batch at once."""

from math import sqrt
from typing import Any

import torch
from torch import Tensor

from vgib.explain.explainer import Case, Explainer, explainers
from vgib.explain.frozen import Removal
from vgib.explain.lift import to_nodes

LOG_FLOOR = 1e-15
"""PyG's guard of the logarithm in the entropy."""


EDGE_SIZE, EDGE_ENTROPY = 0.005, 1.0
NODE_SIZE, NODE_ENTROPY = 1.0, 0.1
"""PyG's weights of the regularizers."""


@explainers.register("gnnexplainer")
class GNNExplainer(Explainer):
    r"""Learns a mask of nodes and one of messages for each graph, by gradient descent.

    .. math:: \min_m \sum_G \Bigl[ \mathcal L(f(G \odot \sigma(m)), \hat y)
              + a \sum_e \sigma(m_e) + b\, \overline{H(\sigma(m_e))}
              + c\, \overline{\sigma(m_j)} + d\, \overline{H(\sigma(m_j))} \Bigr]

    Ying et al., "GNNExplainer: Generating Explanations for Graph Neural Networks", NeurIPS 2019,
    arXiv:1903.03894, in PyG's form. The graphs of a batch share no edge, the terms are normalized
    graph by graph and summed, and Adam moves each mask by its own gradient alone: so the masks are
    those that PyG finds graph by graph, from the same random start, in one run for all.

    Args:
        edges: Whether messages are masked. Without a node mask the scores are lifted from it.
    """

    removal: Removal = "messages"

    def __init__(
        self,
        *,
        epochs: int = 100,
        lr: float = 0.01,
        nodes: bool = True,
        edges: bool = True,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.epochs, self.lr = epochs, lr
        self.nodes, self.edges = nodes, edges

    def explain(self, case: Case) -> Tensor:
        """The node mask, or the edge mask lifted to nodes."""
        node, edge = self.masks(case)
        if node is not None:
            return node
        assert edge is not None
        return to_nodes(edge, case.edge_index, case.batch.x.shape[0])

    def masks(self, case: Case) -> tuple[Tensor | None, Tensor | None]:
        """Masks in [0, 1] of the nodes and of the directed edges."""
        masks = self._start(case)
        optimizer = torch.optim.Adam([mask.logits for mask in masks if mask is not None], self.lr)
        node, edge = masks
        inputs = case.clean.inputs
        for step in range(self.epochs):
            optimizer.zero_grad()
            run = case.frozen.run(
                case.batch,
                inputs=None if node is None else inputs * node.logits.sigmoid().unsqueeze(1),
                message_weight=None if edge is None else edge.logits.sigmoid(),
            )
            loss = case.frozen.losses(run.output, case.goal).sum()
            if step > 0:
                if edge is not None:
                    loss = loss + edge.cost(EDGE_SIZE, EDGE_ENTROPY)
                if node is not None:
                    loss = loss + node.cost(NODE_SIZE, NODE_ENTROPY, mean=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step == 0:
                for mask in (node, edge):
                    if mask is not None:
                        mask.watch()
        return tuple(None if mask is None else mask.result() for mask in masks)  # type: ignore[return-value]

    def _start(self, case: Case) -> "tuple[_Mask | None, _Mask | None]":
        """Draws for one graph after the other, as PyG does: the same seed, the same start."""
        graphs, edges = case.batch.graphs, case.batch.adj.csr
        num_nodes = graphs.ptr.diff().tolist()
        ends = edges.indptr[graphs.ptr.long()]
        num_edges = ends.diff().tolist()
        node, edge = [], []
        for n, e in zip(num_nodes, num_edges, strict=True):
            if self.nodes:
                node.append(torch.randn(n, 1).squeeze(1) * 0.1)
            if self.edges:
                edge.append(torch.randn(e) * (sqrt(2.0) * sqrt(2.0 / (2 * n))))
        of_edge = graphs.batch[edges.row.long()]
        return (
            _Mask(torch.cat(node), graphs.batch, graphs.num_graphs) if self.nodes else None,
            _Mask(torch.cat(edge), of_edge, graphs.num_graphs) if self.edges else None,
        )


class _Mask:
    """Mask logits, and which of them the prediction feels at all."""

    def __init__(self, start: Tensor, graph: Tensor, num_graphs: int) -> None:
        self.logits = start.requires_grad_()
        self.graph = graph
        self.num_graphs = num_graphs
        self.is_felt = torch.ones_like(start, dtype=torch.bool)

    def watch(self) -> None:
        """Remembers what had no gradient in the first step: it is left out, and masked with 0."""
        grad = self.logits.grad
        self.is_felt = torch.zeros_like(self.is_felt) if grad is None else grad != 0
        felt = torch.bincount(self.graph[self.is_felt], minlength=self.num_graphs)
        self.share = (self.is_felt / felt.clamp(min=1)[self.graph]).float()

    def cost(self, size: float, entropy: float, *, mean: bool = False) -> Tensor:
        """Size (its sum or mean) and mean entropy of each graph's mask, summed over graphs."""
        m = self.logits.sigmoid()
        h = -m * (m + LOG_FLOOR).log() - (1 - m) * (1 - m + LOG_FLOOR).log()
        amount = (self.share if mean else self.is_felt) * m
        return size * amount.sum() + entropy * (self.share * h).sum()

    def result(self) -> Tensor:
        """The mask in [0, 1]; 0 where the loss did not depend on it."""
        return self.logits.detach().sigmoid() * self.is_felt
