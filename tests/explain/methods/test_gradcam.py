"""Grad-CAM against a model whose gradients are known."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.gradcam import GradCAM


class Linear(nn.Module):
    """The margin is linear in the last layer: two logits, w . sum h and nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(5, 4)
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        logit = global_add_pool(self.conv(x, edge_index), batch) @ self.weight
        return torch.stack([torch.zeros_like(logit), logit], dim=1)


def test_of_a_linear_readout_it_is_what_each_node_adds(graphs: PackedGraphs) -> None:
    model = Linear()
    case = Case.of(Frozen(model), graphs.batch())
    found = GradCAM().attributions(case)
    h = model.conv(graphs.x, case.edge_index)
    sign = (2 * case.goal - 1)[case.batch.graphs.batch]
    torch.testing.assert_close(found, sign * (h @ model.weight))


def test_relu_ties_what_speaks_against_the_class(graphs: PackedGraphs) -> None:
    case = Case.of(Frozen(Linear()), graphs.batch())
    against = GradCAM().attributions(case) < 0
    assert against.any()
    scores = GradCAM(relu=True).explain(case)
    assert set(scores[against].tolist()) <= {0.0, 0.5}  # one half where all are against
