"""Explanations of many graphs at batch speed."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation

from vgib.config import DEFAULT_EXPLAINER
from vgib.data.packed import Batch
from vgib.explain.explainer import Explainer, Graphs, as_graphs, explainers
from vgib.explain.lift import to_edges
from vgib.model.answer import find_subgraphs
from vgib.model.results import Recognitions, recognitions
from vgib.select.policy import Rule


def explain_many(
    model: nn.Module,
    graphs: Graphs,
    method: str | type[Explainer] | Explainer = DEFAULT_EXPLAINER,
    *,
    fit_on: Graphs | None = None,
    batch_size: int = 1024,
    **options: Any,
) -> list[Explanation]:
    """One PyG ``Explanation`` for each graph.

    Args:
        model: Any PyG graph model, called as ``model(x, edge_index, batch)``; left as it is.
        graphs: PyG ``Data`` in any iterable, dataset or loader, or packed graphs.
        method: A name, class or instance. An instance that is fitted already is used as it is.
        fit_on: Graphs that the method learns from, if it learns; ``graphs`` when ``None``.
        batch_size: Graphs that are explained together.
        options: Of the method, when it is given by name or class.

    Returns:
        ``node_mask`` (``[nodes, 1]``), ``edge_mask`` (one score for both directions of an edge),
        ``x``, ``edge_index``, ``prediction``, ``target`` (the predicted class, or the values) and
        ``removal``: how the method took nodes away while it looked.

    >>> from torch_geometric.nn import GCN, global_add_pool
    >>> class Net(nn.Module):
    ...     def __init__(self) -> None:
    ...         super().__init__()
    ...         self.gnn, self.head = GCN(3, 8, 2), nn.Linear(8, 2)
    ...
    ...     def forward(self, x, edge_index, batch):
    ...         return self.head(global_add_pool(self.gnn(x, edge_index), batch))
    >>> from torch_geometric.data import Data
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> explain_many(Net(), [Data(x=torch.eye(3), edge_index=path)], "occlusion")[0].node_mask.shape
    torch.Size([3, 1])
    """
    data = as_graphs(graphs)
    explainer = explainers.make(method, **options)
    if explainer.needs_fit and getattr(explainer, "module_", None) is None:
        explainer.fit(model, data if fit_on is None else fit_on)
    scores = score(explainer, model, data, batch_size=batch_size)
    frozen = explainer.freeze(model)
    with torch.no_grad():
        outputs = torch.cat([frozen.run(batch).output for batch in data.batches(batch_size)])
        goals = frozen.goal(outputs)
    edge_index = torch.cat([_local_edges(batch) for batch in data.batches(batch_size)], dim=1)
    sizes, counts = data.sizes.tolist(), data.edge_ptr.diff().tolist()
    parts = zip(
        torch.split(data.x, sizes),
        torch.split(edge_index, counts, dim=1),
        torch.split(scores, sizes),
        torch.split(outputs, 1),
        torch.split(goals, 1),
        strict=True,
    )
    return [
        Explanation(
            x=x,
            edge_index=edges,
            node_mask=own.unsqueeze(1),
            edge_mask=to_edges(own, edges),
            prediction=output,
            target=goal,
            removal=explainer.removal,
        )
        for x, edges, own, output, goal in parts
    ]


def _local_edges(batch: Batch) -> Tensor:
    """The edges of a batch, their nodes numbered within each graph."""
    edges = batch.adj.edge_index
    return edges - batch.graphs.ptr.long()[batch.graphs.batch[edges[1]]]


def score(
    explainer: Explainer, model: nn.Module, graphs: Graphs, *, batch_size: int = 1024
) -> Tensor:
    """Node scores of a whole set, ``[nodes]``, batch by batch."""
    batches = as_graphs(graphs).batches(batch_size)
    return torch.cat([explainer.scores(model, batch) for batch in batches])


def show(
    explanations: Iterable[Explanation], *, keep_ratio: float = 0.5, rule: Rule | None = None
) -> Recognitions:
    """Explanations as pictures: nodes colored by score, the chosen subgraph in an outline.

    In a notebook the result shows itself; elsewhere ``show(...)[0].svg()`` is a picture.

    Args:
        explanations: What :func:`explain_many` gave, or PyG's own, with one number for each node.
        keep_ratio: The share of the nodes in the subgraph.
        rule: A name of :data:`vgib.select.policy.RULES`.
    """
    given = list(explanations)
    graphs = as_graphs(given)
    scores = torch.cat([one.node_mask.view(one.num_nodes) for one in given]).numpy()
    chosen = find_subgraphs(graphs, scores, keep_ratio=keep_ratio, rule=rule)
    targets = [one.target.flatten().tolist() for one in given]
    said = [target[0] if len(target) == 1 else target for target in targets]
    return recognitions(graphs, said, scores, chosen)
