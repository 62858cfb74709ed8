"""Explanations of node-level models: the neighborhood of a node is the graph that is explained.

What a model of k layers says of a node depends on the nodes within k steps, and on their degrees.
So the nodes within k + 1 steps are a graph of their own, with the node marked as its center, and
the model's answer for that graph is its answer for the center. Every method then works as it does
on graphs.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation
from torch_geometric.utils import k_hop_subgraph

from vgib.config import DEFAULT_EXPLAINER
from vgib.data.from_pyg import one_by_one
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Explainer, as_graphs
from vgib.explain.frozen import CENTER, Frozen, predictions
from vgib.explain.many import explanation_of, made, ready, score

LEARN_FROM = 256
"""Nodes whose neighborhoods a method learns from, when it is not told which."""

NUMBER = "node_number"
"""Tells, among what travels with nodes, which node of the whole graph each is."""

TOLERANCE = 1e-3
"""How far a node's prediction from its neighborhood may be from that from the whole graph."""


def explain_nodes(
    model: nn.Module,
    data: Data,
    nodes: Iterable[int] | Tensor | int,
    method: str | type[Explainer] | Explainer | Any = DEFAULT_EXPLAINER,
    *,
    fit_on: Iterable[int] | Tensor | None = None,
    goal: Tensor | None = None,
    batch_size: int = 256,
    **options: Any,
) -> list[Explanation]:
    """One PyG ``Explanation`` for each of some nodes of a graph.

    Args:
        model: Gives a row for each node; left as it is.
        data: The whole graph.
        nodes: The node or nodes to be explained.
        method: As of :func:`vgib.explain.many.explain_many`.
        fit_on: Nodes that the method learns from, if it learns; :data:`LEARN_FROM` of the graph,
            drawn at random, when ``None``.
        goal: The class to explain of each of these nodes; the predicted ones when ``None``.
        batch_size: Nodes that are explained together.
        options: Of the method, when it is given by name or class.

    Returns:
        The whole graph each time, with ``index`` (the node), ``node_mask`` and ``edge_mask``, which
        are 0 outside of the node's neighborhood, ``prediction`` and ``target``.

    Raises:
        InputError: The model says something else of a node when it sees its neighborhood alone.
    """
    graphs = one_by_one(data)
    if len(graphs) != 1:
        raise InputError(f"nodes of one graph are explained at a time; got {len(graphs)} graphs")
    (whole,) = graphs
    explainer, wanted = made(method, options), _numbers(nodes, whole)
    around = Neighborhoods(explainer.freeze(model), whole)
    asked = around.of(wanted)
    if not explainer.is_ready:
        if fit_on is None:
            generator = torch.Generator().manual_seed(explainer.seed)
            fit_on = torch.randperm(around.size, generator=generator)[:LEARN_FROM]
        ready(explainer, model, around.of(_numbers(fit_on, whole)))
    scores = torch.split(
        score(explainer, model, asked, batch_size=batch_size, goal=goal), asked.sizes.tolist()
    )
    places = torch.split(asked.of_nodes[NUMBER], asked.sizes.tolist())
    frozen = explainer.freeze(model)
    batch = asked.batch()
    run, used = frozen.run(batch), frozen.forward.used(batch)
    targets = torch.split(frozen.target_of(run.output) if goal is None else goal, 1)
    found = []
    for number, own, place, output, target in zip(
        wanted.tolist(), scores, places, torch.split(run.full, 1), targets, strict=True
    ):
        mask = own.new_zeros(around.size).index_copy(0, place, own)
        one = explanation_of(whole, mask, used)
        one.index, one.prediction, one.target = number, output, target
        one.removal = explainer.removal
        found.append(one)
    return found


class Neighborhoods:
    """Cuts the neighborhoods of nodes out of a graph, as many steps wide as a model can see."""

    def __init__(self, frozen: Frozen, whole: Data) -> None:
        self.whole, self.frozen, self.size = whole, frozen, int(whole.num_nodes or 0)
        marked = whole.clone()
        marked[CENTER] = torch.zeros(self.size, dtype=torch.bool)
        batch = as_graphs(marked).batch()
        self._said = frozen.of_nodes(batch)
        if not frozen.layers:
            raise InputError(
                f"{frozen.forward.name} has no message-passing layer, which would tell how far it "
                "sees; single nodes of it cannot be explained"
            )
        self.hops = len(frozen.run(batch).states) + 1

    def of(self, nodes: Tensor) -> PackedGraphs:
        """A graph for each node, checked against what the model says in the whole."""
        found = as_graphs([self._cut(number) for number in nodes.tolist()])
        said = predictions(self.frozen, found, batch_size=256)
        expected = self._said[nodes]
        if not torch.allclose(said, expected, atol=TOLERANCE, rtol=TOLERANCE):
            off = float((said - expected).abs().max())
            raise InputError(
                f"{self.frozen.forward.name} says something else of a node when it sees only the "
                f"{self.hops - 1} steps around it (off by {off:.3g}): it reads the whole graph, "
                "which explain_nodes cannot cut"
            )
        return found

    def _cut(self, number: int) -> Data:
        whole = self.whole
        inside, edges, place, is_inside = k_hop_subgraph(
            number, self.hops, whole.edge_index, relabel_nodes=True, num_nodes=self.size
        )
        part = {}
        for name, value in whole.to_dict().items():
            if name in ("edge_index", "y") or not isinstance(value, Tensor) or not value.dim():
                continue
            if whole.is_node_attr(name):
                part[name] = value[inside]
            elif whole.is_edge_attr(name):
                part[name] = value[is_inside]
        center = torch.zeros(len(inside), dtype=torch.bool)
        center[place] = True
        return Data(edge_index=edges, **part, **{CENTER: center, NUMBER: inside})


def _numbers(nodes: Iterable[int] | Tensor | int, whole: Data) -> Tensor:
    many = nodes if isinstance(nodes, Tensor | Iterable) else [nodes]
    wanted = torch.as_tensor(many if isinstance(many, Tensor) else list(many)).flatten()
    size = int(whole.num_nodes or 0)
    if wanted.dtype == torch.bool:
        wanted = wanted.nonzero().flatten()
    if not len(wanted) or int(wanted.min()) < 0 or int(wanted.max()) >= size:
        raise InputError(f"nodes must be numbers from 0 to {size - 1}; got {wanted.tolist()[:5]}")
    return wanted.long()
