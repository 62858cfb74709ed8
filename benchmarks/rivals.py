"""What a user would write instead: VGIB one graph at a time, and VGIB in idiomatic PyG.

Both train the model that `vgib` trains in the benchmark, with the same layers and loss and with
torch's Adam as it comes, so that a ratio of times compares programs, not models.
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
    """VGIB as the published program works (our preset ``reference``), described, not copied.

    A Python loop over graphs. Each is encoded by itself with PyG's layers; a two-way softmax, a
    Gumbel-softmax draw, the moments of the noisy nodes spelt out, and the connectivity term from a
    dense adjacency matrix.
    """

    def __init__(self, codes: int, outputs: int, head_hidden: int) -> None:
        super().__init__()
        self.conv1 = GCNConv(codes, CHANNELS)
        self.conv2 = GCNConv(CHANNELS, CHANNELS)
        self.dense1 = nn.Linear(CHANNELS, CHANNELS)
        self.dense2 = nn.Linear(CHANNELS, 2)
        self.head = nn.Sequential(head(head_hidden, outputs), nn.ReLU())

    def loss(self, graphs: list[Data]) -> Tensor:
        """The objective of a batch of graphs."""
        results = [self.one_graph(graph.x, graph.edge_index) for graph in graphs]
        clean, noisy, bounds, penalties = (torch.cat(part) for part in zip(*results, strict=True))
        y = torch.cat([graph.y for graph in graphs])
        whole = loss_of(self.head(clean), y)
        return loss_of(self.head(noisy), y) + whole + BETA * bounds.mean() + penalties.mean()

    def one_graph(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Embedding, noisy embedding, compression and connectivity of a single graph."""
        h = self.conv2(self.conv1(x, edge_index).relu(), edge_index)
        assignment = self.dense2(torch.tanh(self.dense1(h))).softmax(dim=1)
        drawn = nn.functional.gumbel_softmax(assignment, tau=1.0, dim=1)
        keep, drop = drawn[:, :1], drawn[:, 1:]
        std, mean = torch.std_mean(h.detach(), dim=0, correction=0)
        std = std.clamp(min=FLOOR)
        noisy_mean = keep * h + drop * mean
        noisy_std = drop * std
        noisy = noisy_mean + torch.rand_like(h) * noisy_std
        bound = 0.5 * (noisy_std / std).square().sum(0) + 0.5 * (
            (noisy_mean - mean) / std
        ).square().sum(0)
        dense = to_dense_adj(edge_index, max_num_nodes=len(x))[0]
        parts = torch.mm(torch.mm(assignment.t(), dense), assignment)
        diagonal = torch.diag(nn.functional.normalize(parts, p=1, dim=1))
        penalty = nn.functional.mse_loss(diagonal, torch.ones(2))
        compression = (bound / len(x)).mean()
        return h.sum(0, True), noisy.sum(0, True), compression.view(1), penalty.view(1)


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
