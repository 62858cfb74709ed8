"""Our methods as PyG's own: ``Explainer(model, algorithm=VGIBExplainer(), ...)``."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelMode, ModelTaskLevel

from vgib.config import DEFAULT_EXPLAINER
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, unknown_name
from vgib.explain.adapter import Adapted
from vgib.explain.explainer import Case, Graphs, as_graphs, explainers
from vgib.explain.judged import say_how_good
from vgib.explain.lift import to_edges
from vgib.explain.nodes import explain_nodes
from vgib.explain.outputs import ModelTask

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

    methods: ClassVar[tuple[str, ...]] = ()

    def __init__(self, method: str | None = None, **options: Any) -> None:
        super().__init__()
        method = method or self.methods[0]
        if method not in self.methods:
            raise unknown_name(f"method of {type(self).__name__}", method, self.methods)
        explainer = explainers.make(method, **options)
        assert isinstance(explainer, Adapted)
        self.explainer = explainer

    def save(self, path: str | Path) -> None:
        """Writes what was learned into one safetensors file, without pickles."""
        self.explainer.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads what :meth:`save` wrote; it explains the model that it was fitted to, no other."""
        found = Adapted.load(path)
        if found.bottleneck not in cls.methods:
            raise InputError(f"{str(path)!r} holds a fitted {found.bottleneck}, not {cls.__name__}")
        made = cls()
        made.explainer = found
        return made

    def fit(self, model: nn.Module, graphs: Graphs) -> Self:
        """Learns to explain this model from these graphs; labels are not asked for."""
        self._take_settings()
        data = as_graphs(graphs)
        self.explainer.fit(model, data)
        say_how_good(self.explainer, model, data)
        return self

    @property
    def removal(self) -> str:
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
        """Masks of nodes and edges, as far as they are asked for.

        Whatever else the model takes (``edge_attr``, ``pos``, ...) is handed on by name.
        """
        self._take_settings()
        there, (x, edge_index, target) = x.device, (each.cpu() for each in (x, edge_index, target))
        kwargs = {k: v.cpu() if isinstance(v, Tensor) else v for k, v in kwargs.items()}
        if self.model_config.task_level == ModelTaskLevel.node:
            data = Data(x=x, edge_index=edge_index, **kwargs)
            scores, shares = self._of_nodes(model, data, index, target)
        else:
            graphs = side_by_side(x, edge_index, None if batch is None else batch.cpu(), kwargs)
            scores, shares = self._of_graphs(model, graphs, index, target)
        return self._masks(scores, edge_index, shares, there)

    def _of_graphs(
        self, model: nn.Module, graphs: PackedGraphs, index: int | Tensor | None, target: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Scores of nodes; those of the graphs of ``index`` alone, if it is given."""
        if self.explainer.module_ is None:
            log.warning("fitting on the %d graph(s) to be explained", len(graphs))
            self.fit(model, graphs)
        goal, batch = self._goal(target), graphs.batch()
        scores = self.explainer.scores(model, batch, goal)
        if index is not None:
            asked = torch.isin(batch.graphs.batch, torch.as_tensor(index).cpu())
            scores = scores * asked.to(scores)
        if not self._wants_features:
            return scores, None
        return scores, feature_shares(Case.of(self.explainer.freeze(model), batch, goal))

    def _goal(self, target: Tensor) -> Tensor | None:
        """The classes that are asked for; of values there is nothing to choose."""
        return target.view(-1) if self.explainer.task in ("binary", "classification") else None

    @property
    def _wants_features(self) -> bool:
        wanted = self.explainer_config.node_mask_type
        return wanted in (MaskType.attributes, MaskType.common_attributes)

    def _masks(
        self, scores: Tensor, edge_index: Tensor, shares: Tensor | None, device: torch.device
    ) -> Explanation:
        """Node scores in the forms that PyG's settings ask for."""
        node, wanted = scores.unsqueeze(1), self.explainer_config
        if shares is not None:
            node = node * shares
        if wanted.node_mask_type == MaskType.common_attributes:
            node = node.mean(0, keepdim=True)
        edge = None if wanted.edge_mask_type is None else to_edges(scores, edge_index).to(device)
        return Explanation(
            node_mask=None if wanted.node_mask_type is None else node.to(device), edge_mask=edge
        )

    def _of_nodes(
        self, model: nn.Module, data: Data, index: int | Tensor | None, target: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Scores around the nodes of ``index``; of several nodes, the best score of each node."""
        if index is None:
            raise InputError("say which node is to be explained: explainer(..., index=10)")
        numbers, goal = torch.as_tensor(index).cpu().flatten(), self._goal(target)
        if goal is not None and len(goal) != len(data.x):
            raise InputError(
                f"target has {len(goal)} classes; give one for each of {len(data.x)} nodes"
            )
        asked = None if goal is None else goal[numbers]
        found = explain_nodes(model, data, numbers, self.explainer, goal=asked)
        scores = torch.stack([one.node_mask.squeeze(1) for one in found]).amax(0)
        return scores, data.x.new_ones(data.x.shape) if self._wants_features else None

    def supports(self) -> bool:
        """Graphs and nodes, in every combination of masks that GNNExplainer takes."""
        if self.model_config.task_level == ModelTaskLevel.edge:
            raise InputError(
                f"{type(self).__name__} does not support the given explanation settings: it "
                "explains models of graphs and of nodes, not of edges"
            )
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

    methods = (DEFAULT_EXPLAINER, "vgib-paper")

    def __init__(
        self, preset: Literal["recommended", "paper"] = "recommended", **options: Any
    ) -> None:
        if preset not in ("recommended", "paper"):
            raise InputError(f"preset must be 'recommended' or 'paper'; got {preset!r}")
        super().__init__(DEFAULT_EXPLAINER if preset == "recommended" else "vgib-paper", **options)


class GIBExplainer(_Algorithm):
    """The graph information bottleneck; options of :class:`vgib.nn.gib.GIB`."""

    methods = ("gib",)


class GSATExplainer(_Algorithm):
    """Graph stochastic attention; options of :class:`vgib.nn.gsat.GSAT`."""

    methods = ("gsat",)


def side_by_side(
    x: Tensor, edge_index: Tensor, batch: Tensor | None, named: dict[str, Any]
) -> PackedGraphs:
    """The graphs of a disjoint batch, with whatever else there is of nodes, edges and graphs."""
    of_node = torch.zeros(len(x), dtype=torch.int64) if batch is None else batch
    if (of_node.diff() < 0).any():
        raise InputError("the batch vector must be sorted: the nodes of a graph stand together")
    sizes = torch.bincount(of_node)
    rows = {"of_nodes": len(x), "of_edges": edge_index.shape[1], "of_graphs": len(sizes)}
    further: dict[str, Any] = {group: {} for group in rows}
    for name, value in named.items():
        if value is None:
            continue
        count = len(value) if isinstance(value, Tensor) and value.dim() else None
        fits = [group for group, size in rows.items() if size == count]
        if "edge" in name and "of_edges" in fits:
            fits = ["of_edges"]
        if not fits:
            raise InputError(f"{name} is neither of nodes nor of edges nor of graphs: {value!r}")
        further[fits[0]][name] = value
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return PackedGraphs.from_edges(x, edge_index, ptr, every_edge=True, **further)


def feature_shares(case: Case) -> Tensor:
    r"""How much of a node's say each of its features has, ``[num_nodes, features]``, at most 1.

    .. math:: a_{jc} = \left| x_{jc} \, \partial f / \partial x_{jc} \right|, \quad
              a_{jc} / \max_k a_{jk}

    Features that the model looks up in a table, of which there is no gradient, share alike.
    """
    x = case.batch.x
    alike = torch.ones(len(x), 1 if x.dim() == 1 else x.shape[1], device=x.device)
    if not x.is_floating_point():
        return alike
    inputs = x.detach().clone().requires_grad_()
    output = case.frozen.run(replace(case.batch, x=inputs)).output
    if not output.requires_grad:
        return alike
    (grad,) = torch.autograd.grad(case.frozen.evidence(output, case.goal).sum(), inputs)
    found = (inputs.detach() * grad).abs()
    return found / found.amax(1, keepdim=True).clamp(min=1e-12)
