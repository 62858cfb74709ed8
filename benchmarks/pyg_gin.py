"""Does the recognizer predict as well as PyG's own GIN example? Ten folds of two datasets.

    python -m benchmarks.pyg_gin --mirror FOLDER    # a record a fold: results/benchmarks/pyg_gin
    python -m benchmarks.pyg_gin --table            # what the records say

*Ours* is ``SubgraphRecognizer("gin")`` as it is, of which the network alone is trained: predictor
of parts and gate come after it and move nothing that predicts. *PyG's* is the network of its GIN
example: five layers of 32 channels with batch norm, a sum over nodes, dropout before the output,
Adam at 0.01, 128 graphs a step. Both have the same folds, the same epochs on whole graphs, and keep
the weights of the lowest validation loss. A fold that has a record is not computed again.
"""

import argparse
import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, GINConv, global_add_pool

from vgib import SubgraphRecognizer
from vgib.data import catalog
from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split, stratified_folds
from vgib.experiments.engine.statistics import corrected_interval, signed
from vgib.nn.vgib import NodeVGIB
from vgib.train.loop import seeded

DATASETS = ("PROTEINS", "Mutagenicity")
FOLDS = 10
RECORDS = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "pyg_gin"


class NetworkAlone(NodeVGIB):
    """The recommended bottleneck before anything but the network has learned."""

    stages = NodeVGIB.stages[:1]


class Example(nn.Module):
    """The network of PyG's GIN example."""

    def __init__(self, features: int, classes: int, channels: int = 32, layers: int = 5) -> None:
        super().__init__()
        widths = [features] + [channels] * layers
        self.convs = nn.ModuleList(
            GINConv(MLP([before, after, after])) for before, after in pairwise(widths)
        )
        self.head = MLP([channels, channels, classes], norm=None, dropout=0.5)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Logits, ``[num_graphs, classes]``."""
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        logits: Tensor = self.head(global_add_pool(x, batch))
        return logits


def one_hot(graphs: PackedGraphs) -> list[Data]:
    """The graphs as PyG's datasets give them."""
    assert graphs.cardinalities is not None
    (kinds,) = graphs.cardinalities
    found = graphs.to_data_list()
    for data in found:
        data.x = nn.functional.one_hot(data.x.long().flatten(), kinds).float()
    return found


def examples_accuracy(graphs: list[Data], split: Split, epochs: int, seed: int) -> dict[str, float]:
    """Test accuracy of PyG's example, with the best and with the last weights."""
    train, val, test = ([graphs[i] for i in part] for part in (split.train, split.val, split.test))
    with seeded(seed, "cpu"):
        classes = 1 + max(int(data.y) for data in graphs)
        net = Example(graphs[0].num_features, classes)
        adam = torch.optim.Adam(net.parameters(), lr=0.01)
        best, kept = float("inf"), net.state_dict()
        for _ in range(epochs):
            net.train()
            for data in DataLoader(train, 128, shuffle=True):
                loss = nn.functional.cross_entropy(net(data.x, data.edge_index, data.batch), data.y)
                adam.zero_grad()
                loss.backward()
                adam.step()
            if (now := judged(net, val)[0]) < best:
                best, kept = now, deepcopy(net.state_dict())
    last = judged(net, test)[1]
    net.load_state_dict(kept)
    return {"pyg": judged(net, test)[1], "pyg_last": last}


@torch.no_grad()
def judged(net: nn.Module, graphs: list[Data]) -> tuple[float, float]:
    """Cross-entropy and accuracy."""
    net.eval()
    data = next(iter(DataLoader(graphs, len(graphs))))
    logits = net(data.x, data.edge_index, data.batch)
    right = (logits.argmax(1) == data.y).double().mean()
    return float(nn.functional.cross_entropy(logits, data.y)), float(right)


def compare(graphs: PackedGraphs, split: Split, seed: int) -> dict[str, Any]:
    """Both on one fold: accuracies and seconds."""
    started = perf_counter()
    model = SubgraphRecognizer("gin", NetworkAlone, preset="recommended", seed=seed)
    model.fit(graphs[split.train], val=graphs[split.val])
    trained = perf_counter()
    test = graphs[split.test]
    assert test.y is not None
    epochs = sum("clean" in epoch for epoch in model.history_.epochs)
    found = examples_accuracy(one_hot(graphs), split, epochs, seed)
    return {
        "ours": model.score(test),
        **found,
        "epochs": epochs,
        "train_graphs": len(split.train),
        "test_graphs": len(split.test),
        "seconds": round(trained - started, 1),
        "pyg_seconds": round(perf_counter() - trained, 1),
    }


def table() -> str:
    """Mean accuracies and the mean difference with its interval, for each dataset."""
    lines = [
        "| dataset | folds | ours | PyG's example | difference |",
        "| --- | --- | --- | --- | --- |",
    ]
    for dataset in DATASETS:
        files = sorted(RECORDS.glob(f"{dataset}-*.json"))
        found = [json.loads(file.read_text()) for file in files]
        if not found:
            continue
        ours, theirs = ([each[name] for each in found] for name in ("ours", "pyg"))
        ratio = found[0]["test_graphs"] / found[0]["train_graphs"]
        gap = corrected_interval([a - b for a, b in zip(ours, theirs, strict=True)], ratio)
        means = [f"{sum(each) / len(each):.3f}" for each in (ours, theirs)]
        lines.append(f"| {dataset} | {len(found)} | {' | '.join(means)} | {signed(gap)} |")
    return "\n".join(lines)


def main() -> None:
    """Computes the folds that have no record, or prints what the records say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", help="a folder with the public files")
    parser.add_argument("--cache", help="where downloads are kept")
    parser.add_argument("--table", action="store_true", help="only print what the records say")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for dataset in () if given.table else DATASETS:
        graphs = catalog.load(dataset, mirror=given.mirror, cache=given.cache, progress=False)
        assert graphs.y is not None
        for fold, split in enumerate(stratified_folds(graphs.y.numpy(), FOLDS)):
            file = RECORDS / f"{dataset}-{fold}.json"
            if not file.exists():
                RECORDS.mkdir(parents=True, exist_ok=True)
                done = {"dataset": dataset, "fold": fold} | compare(graphs, split, fold)
                file.write_text(json.dumps(done, indent=1) + "\n")
    print(table())


if __name__ == "__main__":
    main()
