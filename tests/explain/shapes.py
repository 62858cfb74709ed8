"""Thirty shapes of graph networks as people write them, and a planted task for all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GCN,
    AttentiveFP,
    ChebConv,
    DenseGCNConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GPSConv,
    GraphConv,
    JumpingKnowledge,
    PNAConv,
    SAGEConv,
    SAGPooling,
    Sequential,
    Set2Set,
    TopKPooling,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.nn.aggr import AttentionalAggregation
from torch_geometric.utils import add_self_loops, to_dense_adj, to_dense_batch

TYPES, BONDS, WIDTH = 5, 3, 32


def planted(count: int, seed: int = 0) -> list[Data]:
    """Random trees with some more edges; in half of them nodes of types 1, 2, 1 form a chain.

    The other half has the same three nodes apart, so that no network can do without the edges.
    """
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    while len(graphs) < count:
        wanted = len(graphs) % 2
        n = int(torch.randint(12, 19, (1,), generator=generator))
        parent = [int(torch.randint(0, max(i, 1), (1,), generator=generator)) for i in range(n)]
        pairs = {(parent[i], i) for i in range(1, n)}
        for _ in range(3):
            a, b = sorted(torch.randperm(n, generator=generator)[:2].tolist())
            pairs.add((a, b))
        kinds = torch.randint(3, TYPES, (n,), generator=generator)
        near: list[set[int]] = [set() for _ in range(n)]
        for a, b in pairs:
            near[a].add(b)
            near[b].add(a)
        middle = int(torch.randint(0, n, (1,), generator=generator))
        if len(near[middle]) < 2:
            continue
        if wanted:
            chain = [*sorted(near[middle])[:2], middle]
        else:
            apart = [v for v in range(n) if v != middle and v not in near[middle]]
            apart = [v for v in apart if not near[v] & {middle}]
            if len(apart) < 2 or apart[-1] in near[apart[0]]:
                continue
            chain = [apart[0], apart[-1], middle]
        kinds[chain] = torch.tensor([1, 1, 2])
        edges = torch.tensor(sorted(pairs)).T
        bond = torch.randint(0, BONDS, (edges.shape[1],), generator=generator).repeat(2)
        truth = torch.zeros(n, dtype=torch.bool)
        truth[chain] = bool(wanted)
        graphs.append(
            Data(
                x=nn.functional.one_hot(kinds, TYPES).float(),
                edge_index=torch.cat([edges, edges.flip(0)], dim=1),
                edge_attr=nn.functional.one_hot(bond, BONDS).float(),
                edge_weight=0.5 + 0.5 * torch.rand(edges.shape[1], generator=generator).repeat(2),
                pos=torch.rand(n, 3, generator=generator),
                y=torch.tensor([wanted]),
                node_truth=truth,
                smiles=f"graph {len(graphs)}",
            )
        )
    return graphs


def mlp(inputs: int, outputs: int = WIDTH) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, outputs))


class Net(nn.Module):
    """Two layers, a readout and a head; children say how they are called."""

    def __init__(
        self,
        conv: Callable[[int, int], nn.Module] = GCNConv,
        pool: Callable[..., Tensor] = global_add_pool,
        outputs: int = 2,
        inputs: int = TYPES,
    ) -> None:
        super().__init__()
        self.first, self.second = conv(inputs, WIDTH), conv(WIDTH, WIDTH)
        self.pool, self.head = pool, mlp(WIDTH, outputs)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        h = self.first(x, edge_index).relu()
        return self.head(self.pool(self.second(h, edge_index).relu(), batch))


class LinearFirst(Net):
    def __init__(self) -> None:
        super().__init__(inputs=WIDTH)
        self.start = nn.Linear(TYPES, WIDTH)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(self.start(x).relu(), edge_index, batch)


class BatchNormed(Net):
    def __init__(self) -> None:
        super().__init__(lambda i, o: GINConv(mlp(i, o)))
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in range(2))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        h = self.norms[0](self.first(x, edge_index)).relu()
        h = self.norms[1](self.second(h, edge_index)).relu()
        return self.head(self.pool(h, batch))


class BatchLast(Net):
    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
    ) -> Any:
        h = self.first(x, edge_index, edge_weight).relu()
        return self.head(self.pool(self.second(h, edge_index, edge_weight).relu(), batch))


class TakesData(Net):
    def forward(self, data: Data) -> Any:  # type: ignore[override]
        return super().forward(data.x, data.edge_index, data.batch)


class OtherNames(Net):
    def forward(self, features: Tensor, adj: Tensor, ids: Tensor) -> Any:
        return super().forward(features, adj, ids)


class Bonds(Net):
    """Layers that read edge features."""

    def forward(  # type: ignore[override]
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor
    ) -> Any:
        h = self.first(x, edge_index, edge_attr).relu()
        return self.head(self.pool(self.second(h, edge_index, edge_attr).relu(), batch))


class GPS(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(TYPES, WIDTH)
        self.layers = nn.ModuleList(
            GPSConv(WIDTH, GINEConv(mlp(WIDTH), edge_dim=BONDS), heads=2) for _ in range(2)
        )
        self.head = mlp(WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Any:
        h = self.start(x)
        for layer in self.layers:
            h = layer(h, edge_index, batch, edge_attr=edge_attr)
        return self.head(global_add_pool(h, batch))


class Pooled(nn.Module):
    """Nodes are pooled away between the layers."""

    def __init__(self, pool: type[nn.Module]) -> None:
        super().__init__()
        self.first, self.second = GraphConv(TYPES, WIDTH), GraphConv(WIDTH, WIDTH)
        self.third = GraphConv(WIDTH, WIDTH)
        self.pool, self.head = pool(WIDTH, ratio=0.6), mlp(WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        h = self.first(x, edge_index).relu()
        h = self.second(h, edge_index).relu()
        whole = global_add_pool(h, batch)
        h, edge_index, _, batch, _, _ = self.pool(h, edge_index, batch=batch)
        h = self.third(h, edge_index).relu()
        return self.head(global_add_pool(h, batch, size=len(whole)) + whole)


class Jumping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GCNConv(TYPES if i == 0 else WIDTH, WIDTH) for i in range(3))
        self.jump, self.head = JumpingKnowledge("cat"), mlp(3 * WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        states = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            states.append(x)
        return self.head(global_add_pool(self.jump(states), batch))


class Codes(Net):
    """Integer types, one for each node, looked up in a table."""

    def __init__(self) -> None:
        super().__init__(inputs=WIDTH)
        self.table = nn.Embedding(TYPES, WIDTH)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(self.table(x), edge_index, batch)


class FloatCodes(Codes):
    """The same, from a float column that holds whole numbers."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(x[:, 0].long(), edge_index, batch)


class Gives(Net):
    """Gives a tuple or a dict."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        h = self.second(self.first(x, edge_index).relu(), edge_index).relu()
        out = self.head(self.pool(h, batch))
        return (out, h) if self.what == "tuple" else {"nodes": h, "logits": out}


class ByHand(nn.Module):
    """Message passing without PyG: no layer to be hooked."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = mlp(2 * TYPES), mlp(2 * WIDTH)
        self.head = mlp(WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        for layer in (self.first, self.second):
            heard = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
            x = layer(torch.cat([x, heard], dim=1)).relu()
        return self.head(global_add_pool(x, batch))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = DenseGCNConv(TYPES, WIDTH), DenseGCNConv(WIDTH, WIDTH)
        self.head = mlp(WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        adj = to_dense_adj(edge_index, batch)
        h, mask = to_dense_batch(x, batch)
        adj = nn.functional.pad(adj, [0, h.shape[1] - adj.shape[1]] * 2)
        h = self.first(h, adj, mask).relu()
        h = self.second(h, adj, mask).relu()
        return self.head(h.sum(1))


class OwnLoops(Net):
    """Adds self-loops before the layers see the edges."""

    def __init__(self) -> None:
        super().__init__(GraphConv)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(x, add_self_loops(edge_index, num_nodes=len(x))[0], batch)


class Places(Net):
    """Reads positions."""

    def __init__(self) -> None:
        super().__init__(inputs=TYPES + 3)

    def forward(self, x: Tensor, edge_index: Tensor, pos: Tensor, batch: Tensor) -> Any:  # type: ignore[override]
        return super().forward(torch.cat([x, 0.1 * pos], dim=1), edge_index, batch)


class Recurrent(nn.Module):
    """One layer, three times."""

    def __init__(self) -> None:
        super().__init__()
        self.start, self.conv = nn.Linear(TYPES, WIDTH), GraphConv(WIDTH, WIDTH)
        self.head = mlp(WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        h = self.start(x)
        for _ in range(3):
            h = h + self.conv(h, edge_index).relu()
        return self.head(global_add_pool(h, batch))


class Readout(nn.Module):
    """A backbone of PyG's and a readout that learns."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.gnn = GCN(TYPES, WIDTH, 2)
        self.pool: nn.Module = (
            Set2Set(WIDTH, 2)
            if kind == "set2set"
            else AttentionalAggregation(nn.Linear(WIDTH, 1), mlp(WIDTH))
        )
        self.head = mlp(2 * WIDTH if kind == "set2set" else WIDTH, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return self.head(self.pool(self.gnn(x, edge_index).relu(), batch))


class Attentive(nn.Module):
    """AttentiveFP, whose arguments are all positional."""

    def __init__(self) -> None:
        super().__init__()
        self.net = AttentiveFP(TYPES, WIDTH, 2, BONDS, num_layers=2, num_timesteps=2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Any:
        return self.net(x, edge_index, edge_attr, batch)


class OneLogit(Net):
    def __init__(self) -> None:
        super().__init__(outputs=1)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(x, edge_index, batch).squeeze(1)


class LogProbabilities(Net):
    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Any:
        return super().forward(x, edge_index, batch).log_softmax(1)


def pna(inputs: int, outputs: int) -> nn.Module:
    degrees = torch.tensor([1, 5, 5, 3, 2, 1])
    return PNAConv(inputs, outputs, ["mean", "max"], ["identity", "amplification"], degrees)


def sequential() -> nn.Module:
    return Sequential(
        "x, edge_index, batch",
        [
            (GCNConv(TYPES, WIDTH), "x, edge_index -> x"),
            nn.ReLU(),
            (GCNConv(WIDTH, WIDTH), "x, edge_index -> x"),
            nn.ReLU(),
            (global_add_pool, "x, batch -> x"),
            mlp(WIDTH, 2),
        ],
    )


SHAPES: dict[str, tuple[Callable[[], nn.Module], dict[str, Any]]] = {
    "GCN, sum": (Net, {}),
    "GCN, mean": (lambda: Net(pool=global_mean_pool), {}),
    "GIN, maximum": (lambda: Net(lambda i, o: GINConv(mlp(i, o)), global_max_pool), {}),
    "SAGE": (lambda: Net(SAGEConv), {}),
    "GAT": (lambda: Net(GATConv), {}),
    "GATv2, two heads": (lambda: Net(lambda i, o: GATv2Conv(i, o // 2, heads=2)), {}),
    "TransformerConv": (lambda: Net(TransformerConv), {}),
    "ChebConv": (lambda: Net(lambda i, o: ChebConv(i, o, K=2)), {}),
    "PNA": (lambda: Net(pna), {}),
    "Linear before the first layer": (LinearFirst, {}),
    "GIN with batch norm": (BatchNormed, {}),
    "edge_weight, batch last": (BatchLast, {}),
    "forward(data)": (TakesData, {}),
    "arguments of other names": (OtherNames, {}),
    "GINE": (lambda: Bonds(lambda i, o: GINEConv(mlp(i, o), edge_dim=BONDS)), {}),
    "GATv2 with bonds": (lambda: Bonds(lambda i, o: GATv2Conv(i, o, edge_dim=BONDS)), {}),
    "GPS": (GPS, {}),
    "AttentiveFP": (Attentive, {}),
    "TopKPooling": (lambda: Pooled(TopKPooling), {}),
    "SAGPooling": (lambda: Pooled(SAGPooling), {}),
    "JumpingKnowledge": (Jumping, {}),
    "integer codes": (Codes, {}),
    "codes in a float column": (FloatCodes, {}),
    "gives a tuple": (lambda: Gives("tuple"), {}),
    "gives a dict": (lambda: Gives("dict"), {"pick": "logits"}),
    "message passing by hand": (ByHand, {}),
    "dense layers": (Dense, {}),
    "self-loops of its own": (OwnLoops, {}),
    "positions": (Places, {}),
    "one layer, three times": (Recurrent, {}),
    "Set2Set": (lambda: Readout("set2set"), {}),
    "attentional readout": (lambda: Readout("attention"), {}),
    "torch_geometric.nn.Sequential": (sequential, {}),
    "one logit": (OneLogit, {"task": "binary"}),
    "logarithms of probabilities": (LogProbabilities, {"returns": "log_probs"}),
}


def graphs_for(name: str, count: int, seed: int = 0) -> list[Data]:
    """The planted graphs, as this network reads them."""
    graphs = planted(count, seed)
    for graph in graphs:
        if name == "integer codes":
            graph.x = graph.x.argmax(1)
        elif name == "codes in a float column":
            graph.x = graph.x.argmax(1, keepdim=True).float()
    return graphs


def called(model: nn.Module, name: str, batch: Batch) -> Tensor:
    """The network's own output, called as its author would."""
    match name:
        case "forward(data)":
            out = model(batch)
        case "edge_weight, batch last":
            out = model(batch.x, batch.edge_index, batch.edge_weight, batch.batch)
        case "GINE" | "GATv2 with bonds" | "GPS" | "AttentiveFP":
            out = model(batch.x, batch.edge_index, batch.edge_attr, batch.batch)
        case "positions":
            out = model(batch.x, batch.edge_index, batch.pos, batch.batch)
        case _:
            out = model(batch.x, batch.edge_index, batch.batch)
    out = out[0] if isinstance(out, tuple) else out["logits"] if isinstance(out, dict) else out
    return out.unsqueeze(1) if out.dim() == 1 else out


def areas(found: list[Any], graphs: list[Data]) -> float:
    """The mean area under the ROC curve of node scores, over the graphs that have a chain."""
    pairs = zip(found, graphs, strict=True)
    each = [roc_auc_score(g.node_truth, f.node_mask[:, 0]) for f, g in pairs if int(g.y)]
    return float(np.mean(each))


def trained(name: str, *, epochs: int = 40, count: int = 400, seed: int = 0) -> nn.Module:
    """A network that knows the task."""
    torch.manual_seed(seed)
    model = SHAPES[name][0]()
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, epochs)
    loader = DataLoader(graphs_for(name, count), batch_size=50, shuffle=True)
    for _ in range(epochs):
        for batch in loader:
            out = called(model, name, batch)
            loss = (
                nn.functional.binary_cross_entropy_with_logits(out[:, 0], batch.y.float())
                if out.shape[1] == 1
                else nn.functional.cross_entropy(out, batch.y)
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
        falling.step()
    return model.eval()
