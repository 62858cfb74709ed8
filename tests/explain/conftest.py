"""Small graphs and models that the tests of explainers share."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import (
    GAT,
    GCN,
    GIN,
    GraphSAGE,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from vgib.config import Architecture
from vgib.data.packed import PackedGraphs
from vgib.nn.net import build

CHANNELS = 5
CLASSES = 3
LAYERS = {
    "gcn": GCN,
    "gin": GIN,
    "gat": GAT,
    "gatv2": partial(GAT, v2=True, heads=2),
    "sage": GraphSAGE,
    "maxsage": partial(GraphSAGE, aggr="max"),
}
POOLS = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}


class GraphModel(nn.Module):
    """A user's model: PyG's layers, a pooling, a head with dropout."""

    def __init__(self, layer: str, pool: str = "sum", outputs: int = CLASSES) -> None:
        super().__init__()
        self.gnn = LAYERS[layer](CHANNELS, 8, 2)
        self.pool = POOLS[pool]
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(8, outputs))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        out: Tensor = self.head(self.pool(self.gnn(x, edge_index).relu(), batch))
        return out


def make(name: str) -> nn.Module:
    """A model by name: ``ours-gcn``, ``gcn``, ``gin-mean``, ``value`` ..."""
    torch.manual_seed(3)
    if name.startswith("ours-"):
        return build(
            encoder=name.removeprefix("ours-"),
            bottleneck="none",
            cardinalities=None,
            in_channels=CHANNELS,
            task="classification",
            outputs=CLASSES,
            architecture=Architecture.of(hidden=8, depth=2),
        )
    if name == "value":
        return GraphModel("gcn", outputs=1)
    return GraphModel(*name.split("-"))


def random_graph(nodes: int, generator: torch.Generator) -> Data:
    above = (torch.rand(nodes, nodes, generator=generator) < 0.4).triu(1)
    x = torch.randn(nodes, CHANNELS, generator=generator)
    edge_index = (above | above.T).nonzero().T.contiguous()
    return Data(x=x, edge_index=edge_index, y=torch.tensor([nodes % CLASSES]))


@pytest.fixture
def model_of() -> Callable[[str], nn.Module]:
    return make


@pytest.fixture
def data() -> list[Data]:
    """Seven graphs: one of a single node, one without edges."""
    generator = torch.Generator().manual_seed(1)
    graphs = [random_graph(nodes, generator) for nodes in (6, 1, 4, 9, 7, 8)]
    x = torch.randn(3, CHANNELS, generator=generator)
    bare = Data(x=x, edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0]))
    return [*graphs, bare]


@pytest.fixture
def graphs(data: list[Data]) -> PackedGraphs:
    return PackedGraphs.from_data(data)


@pytest.fixture
def marked() -> PackedGraphs:
    """Paths of six nodes, one of which (any) carries the mark."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    path = torch.cat([ends, ends.flip(0)], dim=1)
    graphs = []
    for _ in range(60):
        mark = torch.zeros(6)
        mark[torch.randint(0, 6, (1,), generator=generator)] = 1
        noise = torch.rand(6, generator=generator)
        truth = mark > 0
        graphs.append(Data(x=torch.stack([mark, noise], 1), edge_index=path, node_truth=truth))
    return PackedGraphs.from_data(graphs)
