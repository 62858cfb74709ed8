"""What a user would write instead: VGIB one graph at a time, and VGIB in idiomatic PyG.

Both train the model that `vgib` trains in the benchmark, with the same layers, loss and optimiser,
so that a ratio of times compares programs, not models.
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, global_add_pool
from torch_geometric.utils import scatter, to_dense_adj

CHANNELS = 16
BETA = 1e-3
FLOOR = 1e-2


def gate() -> nn.Sequential:
    """The MLP of the keep-probability."""
    return nn.Sequential(nn.Linear(CHANNELS, CHANNELS), nn.Tanh(), nn.Linear(CHANNELS, 1))


def head(hidden: int, outputs: int) -> nn.Sequential:
    """The MLP of the prediction."""
    return nn.Sequential(nn.Linear(CHANNELS, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def loss_of(output: Tensor, y: Tensor) -> Tensor:
    """Squared error for values, cross-entropy for classes."""
    if y.is_floating_point():
        return nn.functional.mse_loss(output.squeeze(1), y)
    return nn.functional.cross_entropy(output, y)


class GraphByGraph(nn.Module):
    """VGIB as the published program works: a Python loop over graphs, dense adjacency matrices."""

    def __init__(self, codes: int, outputs: int, head_hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(codes, CHANNELS)
        self.layers = nn.ModuleList(nn.Linear(CHANNELS, CHANNELS) for _ in range(2))
        self.gate, self.head = gate(), head(head_hidden, outputs)

    def loss(self, graphs: list[Data]) -> Tensor:
        """The objective of a batch of graphs."""
        clean, noisy, bounds = [], [], []
        for graph in graphs:
            a = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0]
            a = a + torch.eye(graph.num_nodes)
            scale = a.sum(1).rsqrt()
            a = scale[:, None] * a * scale[None, :]
            h = self.embedding(graph.x[:, 0])
            for layer in self.layers:
                h = (a @ layer(h)).relu()
            logits = self.gate(h)
            u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
            keep = torch.sigmoid(logits + torch.logit(u))
            mean = h.detach().mean(0)
            std = h.detach().std(0, correction=0).clamp(min=FLOOR)
            z = keep * h + (1 - keep) * (mean + std * torch.randn_like(h))
            power = (1 - keep).square().sum()
            signal = (keep * (h - mean) / std).sum(0).square().mean()
            bounds.append((power + signal) / (2 * len(h)) - 0.5 * power.clamp(min=FLOOR).log())
            clean.append(h.sum(0))
            noisy.append(z.sum(0))
        y = torch.cat([graph.y for graph in graphs])
        prediction = loss_of(self.head(torch.stack(noisy)), y)
        whole = loss_of(self.head(torch.stack(clean)), y)
        return prediction + whole + BETA * torch.stack(bounds).mean()


class WithPyG(nn.Module):
    """VGIB as a PyG user would write it: a DataLoader, PyG's layers, PyG's scatter."""

    def __init__(self, layer: str, codes: int, outputs: int, head_hidden: int) -> None:
        super().__init__()
        conv = {"gcn": GCNConv, "gat": GATConv}[layer]
        self.embedding = nn.Embedding(codes, CHANNELS)
        self.convs = nn.ModuleList(conv(CHANNELS, CHANNELS) for _ in range(2))
        self.gate, self.head = gate(), head(head_hidden, outputs)

    def loss(self, batch: Data) -> Tensor:
        """The objective of a PyG batch."""
        h = self.embedding(batch.x[:, 0])
        for conv in self.convs:
            h = conv(h, batch.edge_index).relu()
        which, fixed = batch.batch, h.detach()
        logits = self.gate(h)
        u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
        keep = torch.sigmoid(logits + torch.logit(u))
        mean = scatter(fixed, which, reduce="mean")[which]
        variance = scatter((fixed - mean).square(), which, reduce="mean")
        std = variance.sqrt().clamp(min=FLOOR)[which]
        z = keep * h + (1 - keep) * (mean + std * torch.randn_like(h))
        power = scatter((1 - keep).square(), which).squeeze(1)
        signal = scatter(keep * (h - mean) / std, which).square().mean(1)
        size = scatter(torch.ones_like(which), which)
        bound = (power + signal) / (2 * size) - 0.5 * power.clamp(min=FLOOR).log()
        prediction = loss_of(self.head(global_add_pool(z, which)), batch.y)
        whole = loss_of(self.head(global_add_pool(h, which)), batch.y)
        return prediction + whole + BETA * bound.mean()
