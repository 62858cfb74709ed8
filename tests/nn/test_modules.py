"""The paper's bottleneck on node representations, in a training loop of a user's own."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATv2Conv, GINEConv

from vgib.nn.paper_vgib import PaperVGIB


def colored(count: int) -> list[Data]:
    """Paths with a marked node or without; the class says which."""
    ends = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    edges = torch.cat([ends, ends.flip(0)], 1)
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(count):
        x = torch.rand(5, 3, generator=generator) * 0.1
        x[number % 5, 0] += number % 2
        bonds = torch.rand(8, 2, generator=generator)
        graphs.append(Data(x=x, edge_index=edges, edge_attr=bonds, y=torch.tensor([number % 2])))
    return graphs


@pytest.mark.parametrize("layer", ["gine", "gatv2"])
def test_fifteen_lines_train_it(layer: str) -> None:
    torch.manual_seed(0)
    conv: nn.Module = (
        GINEConv(nn.Sequential(nn.Linear(3, 16), nn.ReLU()), edge_dim=2)
        if layer == "gine"
        else GATv2Conv(3, 16, edge_dim=2)
    )
    bottleneck, head = PaperVGIB(16, beta=0.01), nn.Linear(16, 2)
    parts = nn.ModuleList([conv, bottleneck, head])
    adam = torch.optim.Adam(parts.parameters(), lr=0.02)
    for _ in range(30):
        for data in DataLoader(colored(40), batch_size=20, shuffle=True):
            h = conv(data.x, data.edge_index, data.edge_attr)
            out = bottleneck(h, data.batch)
            loss = nn.functional.cross_entropy(head(out.graph), data.y) + out.loss
            adam.zero_grad()
            loss.backward()
            adam.step()
    parts.eval()
    data = next(iter(DataLoader(colored(40), batch_size=40)))
    out = bottleneck(conv(data.x, data.edge_index, data.edge_attr), data.batch)
    assert (head(out.graph).argmax(1) == data.y).float().mean() > 0.9
    assert out.scores.shape == (200,)


def test_nodes_without_noise_are_their_own_sum() -> None:
    bottleneck = PaperVGIB(4, beta=0.5)
    h, batch = torch.randn(6, 4), torch.tensor([0, 0, 0, 1, 1, 1])
    nn.init.constant_(bottleneck.gate.mlp[-1].bias, 40.0)  # every gate is open
    out = bottleneck(h, batch)
    expected: Tensor = torch.stack([h[:3].sum(0), h[3:].sum(0)])
    assert out.z is not None and out.graph is not None and out.loss is not None
    torch.testing.assert_close(out.z, h, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(out.graph, expected, atol=1e-4, rtol=1e-4)
    assert out.loss == 0.5 * out.terms["compression"]
    still = bottleneck.eval()(h)
    assert still.graph is not None and still.graph.shape == (1, 4)
    assert still.loss == 0
