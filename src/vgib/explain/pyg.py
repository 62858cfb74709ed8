"""Our methods as PyG's own: ``Explainer(model, algorithm=VGIBExplainer(), ...)``."""

import logging
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelMode, ModelTaskLevel

from vgib.config import DEFAULT_EXPLAINER
from vgib.errors import InputError
from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Graphs, as_batch, as_graphs, explainers
from vgib.explain.frozen import ModelTask
from vgib.explain.lift import to_edges

log = logging.getLogger(__name__)

TASKS: dict[ModelMode, ModelTask] = {
    ModelMode.binary_classification: "binary",
    ModelMode.multiclass_classification: "classification",
    ModelMode.regression: "regression",
}


class _Algorithm(ExplainerAlgorithm):  # type: ignore[misc]  # PyG ships no types
    """One of our explainers in PyG's clothes.

    ``fit`` it once on a set of graphs; else it learns from what it is first asked to explain, which
    is quick to type and, for a single graph, a poor teacher.
    """

    def __init__(self, method: str, **options: Any) -> None:
        super().__init__()
        explainer = explainers.make(method, **options)
        assert isinstance(explainer, Amortized)
        self.explainer = explainer

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns to explain this model from these graphs; labels are not asked for."""
        self._take_settings()
        self.explainer.fit(model, graphs)
        return self

    @property
    def removal(self) -> str:
        """How nodes are taken away while it learns."""
        return self.explainer.removal

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        batch: Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        """Masks of nodes and edges, as far as they are asked for."""
        if kwargs:
            names = ", ".join(sorted(kwargs))
            raise InputError(
                f"models are explained as model(x, edge_index, batch); got {names} besides"
            )
        self._take_settings()
        graphs = _as_data_list(x, edge_index, batch)
        if self.explainer.module_ is None:
            log.warning("fitting on the %d graph(s) to be explained", len(graphs))
            self.explainer.fit(model, graphs)
        goal = target.view(-1) if self.explainer.task != "regression" else None
        scores = self.explainer.scores(model, as_batch(as_graphs(graphs)), goal)
        if index is not None:
            of_node = torch.zeros(len(x), dtype=torch.int64) if batch is None else batch
            scores = scores * torch.isin(of_node, torch.as_tensor(index)).to(scores)
        wants_nodes = self.explainer_config.node_mask_type is not None
        wants_edges = self.explainer_config.edge_mask_type is not None
        return Explanation(
            node_mask=scores.unsqueeze(1) if wants_nodes else None,
            edge_mask=to_edges(scores, edge_index) if wants_edges else None,
        )

    def supports(self) -> bool:
        """Graph-level models; one number for a node or an edge."""
        level = self.model_config.task_level
        if level != ModelTaskLevel.graph:
            log.error("%s explains graph-level models, not %r", type(self).__name__, level.value)
            return False
        for name in ("node_mask_type", "edge_mask_type"):
            kind = getattr(self.explainer_config, name)
            if kind not in (None, MaskType.object):
                log.error(
                    "%s scores whole nodes and edges: %s must be 'object' or None, not %r",
                    type(self).__name__,
                    name,
                    kind.value,
                )
                return False
        return True

    def _take_settings(self) -> None:
        """What the connected ``Explainer`` says of the model."""
        if hasattr(self, "_model_config"):
            self.explainer.task = TASKS[self.model_config.mode]
            self.explainer.returns = self.model_config.return_type.value


class VGIBExplainer(_Algorithm):
    """What :func:`vgib.explain_many` does by default, or the paper's bottleneck.

    Args:
        preset: ``"recommended"`` (:data:`vgib.config.DEFAULT_EXPLAINER`) or ``"paper"``
            (:class:`vgib.nn.paper_vgib.PaperVGIB` on the frozen model).
        options: Of that method.
    """

    def __init__(
        self, preset: Literal["recommended", "paper"] = "recommended", **options: Any
    ) -> None:
        if preset not in ("recommended", "paper"):
            raise InputError(f"preset must be 'recommended' or 'paper'; got {preset!r}")
        super().__init__(DEFAULT_EXPLAINER if preset == "recommended" else "vgib-paper", **options)


class GIBExplainer(_Algorithm):
    """The graph information bottleneck; options of :class:`vgib.nn.gib.GIB`."""

    def __init__(self, **options: Any) -> None:
        super().__init__("gib", **options)


class GSATExplainer(_Algorithm):
    """Graph stochastic attention; options of :class:`vgib.nn.gsat.GSAT`."""

    def __init__(self, **options: Any) -> None:
        super().__init__("gsat", **options)


def _as_data_list(x: Tensor, edge_index: Tensor, batch: Tensor | None) -> list[Data]:
    """The graphs of a disjoint batch, one by one."""
    if batch is None:
        return [Data(x=x, edge_index=edge_index)]
    if (batch.diff() < 0).any():
        raise InputError("the batch vector must be sorted: the nodes of a graph stand together")
    sizes = torch.bincount(batch)
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    of_edge = batch[edge_index[0]]
    order = torch.argsort(of_edge, stable=True)
    counts = torch.bincount(of_edge, minlength=len(sizes))
    edges = torch.split(edge_index[:, order], counts.tolist(), dim=1)
    nodes = torch.split(x, sizes.tolist())
    return [
        Data(x=n, edge_index=e - low)
        for n, e, low in zip(nodes, edges, ptr[:-1].tolist(), strict=True)
    ]
