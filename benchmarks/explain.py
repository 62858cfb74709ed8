"""Explaining 1,000 molecules: PyG's GNNExplainer graph by graph, ours as a batch, VGIB once fitted.

    python -m benchmarks.explain --json --mirror FOLDER

One process, one thread. The loop over graphs is timed on a sample of the same molecules and scaled
to all of them. The two GNNExplainers start from the same draws, and the largest difference between
their masks on that sample is reported with the ratios.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import perf_counter

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.nn import GCN, global_add_pool

from vgib.data import catalog
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.many import explain_many, score
from vgib.explain.methods import gnnexplainer
from vgib.explain.methods.fidelity_gate import FidelityGate
from vgib.select.random import random_connected
from vgib.train.loop import seeded

STEPS = 100
BATCH_SIZE = 256


class Net(nn.Module):
    """What a user of PyG would write: two layers of 16 channels, a sum, a head."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gnn = GCN(channels, 16, 2)
        self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Two logits for each graph."""
        return self.head(global_add_pool(self.gnn(x, edge_index).relu(), batch))


def molecules(count: int, mirror: str | None) -> PackedGraphs:
    """Molecules of ZINC250K, or drugs and random connected fragments of them."""
    if mirror is not None:
        table = catalog.load_table("ZINC250K", mirror=mirror, progress=False)
        return from_smiles(table["smiles"].tolist()[:count]).graphs
    drugs = from_smiles(load_drugs()["smiles"]).graphs
    rng = np.random.default_rng(0)
    parts = [drugs]
    while sum(len(part) for part in parts) < count:
        wanted = rng.integers(15, 40, len(drugs))
        parts.append(drugs.induced(torch.from_numpy(random_connected(drugs, wanted, rng))))
    return PackedGraphs.concat(parts)[:count]


def as_floats(graphs: PackedGraphs) -> PackedGraphs:
    """Codes to one-hot columns, which PyG's GNNExplainer can mask."""
    assert graphs.cardinalities is not None
    columns = zip(graphs.x.long().T, graphs.cardinalities, strict=True)
    x = torch.cat([nn.functional.one_hot(codes, n).float() for codes, n in columns], dim=1)
    return replace(graphs, x=x, cardinalities=None)


def seconds(call: Callable[[], object]) -> float:
    """Of one call."""
    started = perf_counter()
    call()
    return perf_counter() - started


def graph_by_graph(model: nn.Module, graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """PyG's GNNExplainer in a loop: masks of all nodes and of all edges."""
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=STEPS),
        explanation_type="model",
        node_mask_type="object",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )
    found = []
    with seeded(0):
        for graph in graphs:
            batch = torch.zeros(graph.num_nodes, dtype=torch.int64)
            found.append(explainer(graph.x, graph.edge_index, batch=batch))
    nodes = torch.cat([one.node_mask.squeeze(1) for one in found])
    return nodes, torch.cat([one.edge_mask for one in found])


def measure(graphs: PackedGraphs, sample: int, rounds: int, say: Callable[[str], None]) -> dict:
    """Seconds, ratios and the agreement of masks."""
    torch.manual_seed(0)
    model = Net(graphs.x.shape[1]).eval()
    picked = torch.linspace(0, len(graphs) - 1, sample).long()
    few = graphs[picked]
    graph_by_graph(model, few[:1])
    started = perf_counter()
    theirs = graph_by_graph(model, few)
    loop = (perf_counter() - started) * len(graphs) / sample
    say(f"PyG's GNNExplainer, graph by graph: {loop:.1f} s (scaled from {sample} graphs)")

    batched = gnnexplainer.GNNExplainer(epochs=STEPS)
    ours = seconds(lambda: score(batched, model, graphs, batch_size=BATCH_SIZE))
    say(f"GNNExplainer, batched: {ours:.2f} s, {loop / ours:.0f}x")
    with seeded(0):
        masks = batched.masks(Case.of(Frozen(model), few.batch()))
    apart = max(float((a - b).abs().max()) for a, b in zip(theirs, masks, strict=True))
    say(f"largest difference of the two GNNExplainers' masks: {apart:.1e}")

    vgib = FidelityGate()
    fit = seconds(lambda: vgib.fit(model, graphs))
    alone = median(
        seconds(lambda: score(vgib, model, graphs, batch_size=BATCH_SIZE)) for _ in range(rounds)
    )
    with_objects = median(
        seconds(lambda: explain_many(model, graphs, vgib, batch_size=BATCH_SIZE))
        for _ in range(rounds)
    )
    say(f"VGIB, fitted in {fit:.1f} s: scores in {alone:.3f} s, {loop / alone:.0f}x;")
    say(f"one Explanation for each graph in {with_objects:.3f} s, {loop / with_objects:.0f}x")
    return {
        "graphs": len(graphs),
        "sample": sample,
        "gnnexplainer_loop_seconds": loop,
        "gnnexplainer_batched_seconds": ours,
        "gnnexplainer_batched_times_faster": loop / ours,
        "gnnexplainer_largest_difference": apart,
        "vgib_fit_seconds": fit,
        "vgib_seconds": alone,
        "vgib_times_faster": loop / alone,
        "vgib_explanations_seconds": with_objects,
        "vgib_explanations_times_faster": loop / with_objects,
    }


def main() -> None:
    """Parses the arguments and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--mirror", help="a folder that holds ZINC250K; else drugs and fragments")
    parser.add_argument("--graphs", type=int, default=1000, help="molecules (default 1000)")
    parser.add_argument("--sample", type=int, default=20, help="graphs in the loop (default 20)")
    parser.add_argument("--rounds", type=int, default=5, help="timings of VGIB (default 5)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    graphs = as_floats(molecules(arguments.graphs, arguments.mirror))
    found = measure(graphs, arguments.sample, arguments.rounds, say)
    if arguments.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
