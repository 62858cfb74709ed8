"""Explanations of many graphs at batch speed."""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation

from vgib.config import DEFAULT_EXPLAINER
from vgib.data.from_pyg import one_by_one
from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Explainer, Graphs, as_graphs, explainers
from vgib.explain.judged import say_how_good
from vgib.explain.lift import to_edges
from vgib.model.results import Recognitions, edges, recognitions
from vgib.model.subgraphs import find_subgraphs
from vgib.select.policy import Rule


def explain_many(
    model: nn.Module,
    graphs: Graphs,
    method: str | type[Explainer] | Explainer | Any = DEFAULT_EXPLAINER,
    *,
    fit_on: Graphs | None = None,
    batch_size: int = 1024,
    **options: Any,
) -> list[Explanation]:
    """One PyG ``Explanation`` for each graph.

    Args:
        model: Any PyG graph model; left as it is. Its ``forward`` is handed, by keyword, whatever
            it names and the graphs carry, or one ``Data``; see :mod:`vgib.explain.calling`.
        graphs: PyG ``Data`` in any iterable, dataset or loader, or packed graphs.
        method: A name, class or instance, or an algorithm such as
            :class:`vgib.explain.pyg.VGIBExplainer`. One that is fitted already is used as it is.
        fit_on: Graphs that the method learns from, if it learns; ``graphs`` when ``None``.
        batch_size: Graphs that are explained together.
        options: Of the method, when it is given by name or class, such as ``target=`` (the class,
            label or value to explain, by its number), ``task=``, ``returns=`` and ``pick=``.

    Returns:
        All that the ``Data`` carried, its edges in their order, with ``node_mask``
        (``[nodes, 1]``), ``edge_mask`` (the smaller score of an edge's ends), ``prediction`` (all
        that the model gives), ``target`` (the class, or the values) and ``removal``: how the method
        took nodes away while it looked. A graph without a node has no prediction and no target.

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
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1; got {batch_size}")
    items = _items(graphs) if isinstance(graphs, PackedGraphs) else one_by_one(graphs)
    data = graphs if isinstance(graphs, PackedGraphs) else as_graphs(items)
    explainer = made(method, options)
    ready(explainer, model, data if fit_on is None else fit_on)
    scores = score(explainer, model, data, batch_size=batch_size)
    frozen = explainer.freeze(model)
    said: dict[int, tuple[Tensor, Tensor]] = {}
    used: list[str] = []
    with torch.no_grad():
        for batch in present_batches(data, batch_size):
            run = frozen.run(batch)
            targets = frozen.target_of(run.output)
            parts = zip(torch.split(run.full, 1), torch.split(targets, 1), strict=True)
            said |= dict(zip(batch.index.tolist(), parts, strict=True))
            used = used or frozen.forward.used(batch)
    found = []
    each = torch.split(scores, data.sizes.tolist())
    for number, (item, own) in enumerate(zip(items, each, strict=True)):
        one = explanation_of(item, own, used)
        one.prediction, one.target = said.get(number, (None, None))
        one.removal = explainer.removal
        found.append(one)
    return found


def made(method: Any, options: dict[str, Any]) -> Explainer:
    """The explainer of a name, class or instance; also of one in PyG's clothes."""
    return explainers.make(getattr(method, "explainer", method), **options)


def ready(explainer: Explainer, model: nn.Module, graphs: Graphs) -> None:
    """Fits a method that learns and has not learned yet, and says so when it learned little."""
    if not explainer.is_ready:
        data = as_graphs(graphs)
        explainer.fit(model, data)
        say_how_good(explainer, model, data)


def explanation_of(item: Data, scores: Tensor, used: list[str]) -> Explanation:
    """What a ``Data`` carried, with masks; ``used`` names what PyG shall hand to the model."""
    one = Explanation(**item.to_dict())
    one.node_mask = scores.unsqueeze(1)
    one.edge_mask = to_edges(scores, item.edge_index) if item.edge_index is not None else None
    if "batch" in used:
        one.batch = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    one._model_args = [name for name in used if name in one]
    return one


def _items(graphs: PackedGraphs) -> list[Data]:
    """Packed graphs one by one, without a search for each."""
    counts = graphs.edge_ptr.diff().tolist()
    attr = (
        [None] * len(graphs) if graphs.edge_attr is None else torch.split(graphs.edge_attr, counts)
    )
    x = torch.split(graphs.x, graphs.sizes.tolist())
    parts = zip(x, edges(graphs), attr, strict=True)
    return [Data(x=x, edge_index=torch.from_numpy(own.T), edge_attr=a) for x, own, a in parts]


def score(
    explainer: Explainer,
    model: nn.Module,
    graphs: Graphs,
    *,
    batch_size: int = 1024,
    goal: Tensor | None = None,
) -> Tensor:
    """Node scores of a whole set, ``[nodes]``, batch by batch.

    ``goal`` is the class of each graph to explain; the predicted one when ``None``.
    """
    data = as_graphs(graphs)
    found = [
        explainer.scores(model, batch, None if goal is None else goal[batch.index])
        for batch in present_batches(data, batch_size)
    ]
    return torch.cat(found) if found else torch.zeros(0)


def present_batches(graphs: PackedGraphs, batch_size: int) -> Iterator[Batch]:
    """The graphs that have a node, batch by batch; nothing where there is none."""
    present = (graphs.sizes > 0).nonzero().flatten()
    if len(present):
        yield from graphs.batches(batch_size, index=present)


def show(
    explanations: Iterable[Explanation] | Explanation,
    *,
    keep_ratio: float = 0.5,
    rule: Rule | None = None,
) -> Recognitions:
    """Explanations as pictures: nodes colored by score, the chosen subgraph in an outline.

    In a notebook the result shows itself; elsewhere ``show(...)[0].svg()`` is a picture.

    Args:
        explanations: What :func:`explain_many` gave, or one of them, or PyG's own, with one number
            for each node.
        keep_ratio: The share of the nodes in the subgraph.
        rule: A name of :data:`vgib.select.policy.RULES`.
    """
    given = [explanations] if isinstance(explanations, Data) else list(explanations)
    graphs = as_graphs(given)
    scores = torch.cat([one.node_mask.view(one.num_nodes) for one in given]).numpy()
    chosen = find_subgraphs(graphs, scores, keep_ratio=keep_ratio, rule=rule)
    # A graph without a node has no target; its picture shows an empty prediction.
    targets = [one.target.flatten().tolist() if "target" in one else [] for one in given]
    said = [target[0] if len(target) == 1 else target for target in targets]
    return recognitions(graphs, said, scores, chosen)
