"""The contract of every post-hoc method: a model and graphs in, one score for each node out."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from vgib.data.from_pyg import one_by_one
from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError, unknown_name
from vgib.explain.frozen import Frozen, Removal, Run
from vgib.explain.outputs import ModelTask, Returns
from vgib.registry import Registry, option_names
from vgib.train.loop import seeded

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
        with torch.no_grad():
            clean = frozen.run(batch)
            is_bad = ~clean.full.isfinite().all(1).cpu()
            if is_bad.any():
                raise InputError(
                    f"the model gives NaN or infinite outputs for {int(is_bad.sum())} graphs, the "
                    f"first of them graph {int(batch.index[is_bad][0])}; mend or remove them"
                )
            wanted = frozen.goal(clean.output) if goal is None else goal.to(batch.x.device)
            return cls(frozen, batch, clean, wanted)

    @property
    def edge_index(self) -> Tensor:
        """The edges, in the order of every edge weight."""
        return self.batch.adj.edge_index


class Explainer:
    """Scores the nodes of graphs by what they mean to a model.

    Args:
        seed: Of everything random; the same seed, the same scores.
        task: What the model predicts; see :class:`vgib.explain.outputs.Outputs`.
        returns: What the outputs of a classifier are: logits, probabilities or their logarithm.
        target: The class, label or value to explain, by its number; what is predicted when
            ``None``.
        pick: Which part of a tuple or dict that the model gives is its output.
    """

    removal: Removal = "none"
    needs_fit: bool = False

    def __init__(
        self,
        *,
        seed: int = 0,
        task: ModelTask | None = None,
        returns: Returns = "raw",
        target: int | None = None,
        pick: int | str | None = None,
        **rest: Any,
    ) -> None:
        for name in rest:
            raise unknown_name(f"option of {type(self).__name__}", name, option_names(type(self)))
        if not hasattr(seed, "__index__"):
            raise InputError(f"seed must be a whole number; got {seed!r}")
        self.seed = seed
        self.task: ModelTask | None = task
        self.returns: Returns = returns
        self.target, self.pick = target, pick

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing to learn, or it has been learned."""
        return not self.needs_fit or getattr(self, "module_", None) is not None

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns from graphs, where there is something to learn; here: nothing."""
        return self

    def scores(self, model: nn.Module, batch: Batch | Data, goal: Tensor | None = None) -> Tensor:
        """One number in [0, 1] for each node, higher is more important.

        Args:
            model: Called with whatever its ``forward`` names; left as it is.
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
        return Frozen(
            model, task=self.task, returns=self.returns, target=self.target, pick=self.pick
        )


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> None:
    """Refuses an option that is no number, or one below what it can be."""
    if not isinstance(value, Real) or value < 0 or (value == 0 and not or_zero):
        wanted = "zero or positive" if or_zero else "positive"
        raise InputError(f"{name} must be {wanted}; got {value!r}")


explainers: Registry[Explainer] = Registry("explainer")


@explainers.register("random")
class RandomScores(Explainer):
    """The control: uniform scores."""

    def explain(self, case: Case) -> Tensor:
        return torch.rand(case.batch.x.shape[0])


def as_graphs(graphs: Any) -> PackedGraphs:
    """A set from ours, or from PyG's ``Data`` in any iterable, dataset or loader."""
    if isinstance(graphs, PackedGraphs):
        return graphs
    return PackedGraphs.from_data(one_by_one(graphs), as_is=True)


def as_batch(batch: Any) -> Batch:
    """A batch from ours, from packed graphs, or from a PyG ``Batch`` or ``Data``."""
    return batch if isinstance(batch, Batch) else as_graphs(batch).batch()
