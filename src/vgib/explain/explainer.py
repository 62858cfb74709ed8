"""The contract of every post-hoc method: a model and graphs in, one score for each node out."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data

from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError
from vgib.explain.frozen import Frozen, ModelTask, Removal, Returns, Run
from vgib.registry import Registry
from vgib.train.loop import seeded

log = logging.getLogger(__name__)

Graphs = PackedGraphs | Iterable[Data]
"""What every function here takes for "graphs": ours, or PyG's in any iterable or loader."""


@dataclass(eq=False)
class Case:
    """What is to be explained.

    Attributes:
        frozen: A private copy of the model.
        batch: The graphs.
        clean: The model's own forward pass over them.
        goal: The class (``[num_graphs]``) or values to explain; the model's own unless asked.
    """

    frozen: Frozen
    batch: Batch
    clean: Run
    goal: Tensor

    @classmethod
    def of(cls, frozen: Frozen, batch: Batch, goal: Tensor | None = None) -> Self:
        """The case of these graphs."""
        with torch.no_grad():
            clean = frozen.run(batch)
            return cls(frozen, batch, clean, frozen.goal(clean.output) if goal is None else goal)

    @property
    def edge_index(self) -> Tensor:
        """The edges, in the order of every edge weight."""
        return self.batch.adj.edge_index


class Explainer:
    """Scores the nodes of graphs by what they mean to a model.

    Args:
        seed: Of everything random; the same seed, the same scores.
        task: What the model predicts; see :class:`vgib.explain.frozen.Frozen`.
        returns: What the outputs of a classifier are: logits, probabilities or their logarithm.
    """

    removal: Removal = "none"
    needs_fit: bool = False

    def __init__(
        self, *, seed: int = 0, task: ModelTask | None = None, returns: Returns = "raw"
    ) -> None:
        self.seed = seed
        self.task: ModelTask | None = task
        self.returns: Returns = returns

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns from graphs, where there is something to learn; here: nothing."""
        return self

    def scores(self, model: nn.Module, batch: Batch | Data, goal: Tensor | None = None) -> Tensor:
        """One number in [0, 1] for each node, higher is more important.

        Args:
            model: Called as ``model(x, edge_index, batch)``; left as it is.
            batch: Some graphs side by side: ours, or a PyG ``Batch`` or ``Data``.
            goal: The class of each graph to explain; the predicted one when ``None``.
        """
        frozen = self.freeze(model)
        with seeded(self.seed, "cpu"):
            case = Case.of(frozen, as_batch(batch), goal)
            scores = self.explain(case)
        return scores.detach().clamp(0, 1)

    def explain(self, case: Case) -> Tensor:
        """The scores, ``[num_nodes]``; what each method defines."""
        raise TypeError(f"{type(self).__name__} must define explain(case) -> Tensor")

    def freeze(self, model: nn.Module) -> Frozen:
        """The private copy that this method works on."""
        return Frozen(model, task=self.task, returns=self.returns)


explainers: Registry[Explainer] = Registry("explainer")


@explainers.register("random")
class RandomScores(Explainer):
    """The control: uniform scores."""

    def explain(self, case: Case) -> Tensor:
        """Drawn, not computed."""
        return torch.rand(case.batch.x.shape[0])


def as_graphs(graphs: Any) -> PackedGraphs:
    """A set from ours, or from PyG's ``Data`` in any iterable, dataset or loader."""
    if isinstance(graphs, PackedGraphs):
        return graphs
    if isinstance(graphs, Data):
        graphs = [graphs]
    items: list[Data] = []
    for item in graphs:
        if not isinstance(item, Data):
            raise InputError(f"expected PyG Data objects; got {type(item).__name__}")
        items += item.to_data_list() if isinstance(item, PygBatch) else [item]
    found = PackedGraphs.from_data(Data(x=item.x, edge_index=item.edge_index) for item in items)
    given = sum(item.num_edges for item in items)
    if found.num_edges != given:
        log.warning("%d self-loops and duplicate edges were left out", given - found.num_edges)
    return found


def as_batch(batch: Any) -> Batch:
    """A batch from ours, from packed graphs, or from a PyG ``Batch`` or ``Data``."""
    return batch if isinstance(batch, Batch) else as_graphs(batch).batch()
