"""PGExplainer for whole batches."""

from typing import Any

import torch
from torch import Tensor, nn

from vgib.explain.amortized import Amortized
from vgib.explain.explainer import Case, explainers
from vgib.explain.frozen import Removal
from vgib.explain.lift import to_nodes


@explainers.register("pgexplainer")
class PGExplainer(Amortized):
    r"""A network that tells important messages by the states of their two ends.

    .. math:: m_{ij} = \mathrm{MLP}([h_i, h_j]), \quad \min \; \frac1{|\mathcal G|} \sum_G \Bigl[
              \mathcal L(f(G \odot \hat w), \hat y) + a \sum_e \hat w_e + b\,\overline{H(\hat w_e)}
              \Bigr], \quad \hat w = \mathrm{Concrete}_t(\sigma(m))

    Luo et al., "Parameterized Explainer for Graph Neural Network", NeurIPS 2020, arXiv:2011.04573,
    in PyG's form. On one graph it is PyG's step; a batch takes the mean of its graphs' terms, where
    PyG's would let the size term grow with the batch.

    Args:
        edge_size: Weight a of the mask's size.
        edge_entropy: Weight b of its entropy.
        temperatures: Of the relaxation, at the start and at the end.
        bias: Least distance of the uniform draws from 0 and 1.
    """

    removal: Removal = "messages"

    def __init__(
        self,
        *,
        edge_size: float = 0.05,
        edge_entropy: float = 1.0,
        temperatures: tuple[float, float] = (5.0, 2.0),
        bias: float = 0.01,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        self.edge_size, self.edge_entropy = edge_size, edge_entropy
        self.temperatures, self.bias = temperatures, bias

    def build(self, case: Case) -> nn.Module:
        channels = case.clean.states[-1].flatten(1).shape[1]
        return nn.Sequential(nn.Linear(2 * channels, 64), nn.ReLU(), nn.Linear(64, 1))

    def logits(self, case: Case) -> Tensor:
        h, edges = case.clean.states[-1].flatten(1), case.edge_index
        logits: Tensor = self.fitted(torch.cat([h[edges[0]], h[edges[1]]], dim=1))
        return logits.squeeze(1)

    def loss(self, case: Case, step: int) -> Tensor:
        start, end = self.temperatures
        temperature = start * (end / start) ** (step / self.steps)
        logits = self.logits(case)
        u = (1 - 2 * self.bias) * torch.rand_like(logits) + self.bias
        mask = ((u.logit() + logits) / temperature).sigmoid()
        output = case.frozen.run(case.batch, message_weight=mask).output
        loss = case.frozen.losses(output, case.goal).sum()
        inner = 0.99 * mask + 0.005
        entropy = -inner * inner.log() - (1 - inner) * (1 - inner).log()
        graph = case.batch.graphs.batch[case.edge_index[1]]
        count = torch.bincount(graph, minlength=case.batch.num_graphs).clamp(min=1)[graph]
        loss = loss + self.edge_size * mask.sum() + self.edge_entropy * (entropy / count).sum()
        mean: Tensor = loss / case.batch.num_graphs
        return mean

    def explain(self, case: Case) -> Tensor:
        mask = self.logits(case).sigmoid()
        return to_nodes(mask, case.edge_index, case.batch.x.shape[0])
