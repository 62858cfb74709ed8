"""Is PGExplainer at chance because of us? Our batched form beside PyG's own, on one network.

    python -m benchmarks.pgexplainer --mirror FOLDER --json > results/benchmarks/pgexplainer.json

BA-2Motifs as published, a GIN of the known answers; both forms with their defaults. An edge AUC of
0.5 is chance; published is 0.846 +- 0.091 (GMT paper, another GIN). The accuracy when every message
counts one half says what the network makes of the soft masks that PGExplainer trains with.
"""

import argparse
import json
import sys
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch_geometric.explain import Explainer, PGExplainer

from vgib.config import Training
from vgib.data.known import KnownAnswers, load_known
from vgib.data.packed import PackedGraphs
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.job import Network
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods import pgexplainer
from vgib.explain.truth import agreement
from vgib.nn.pyg_layers import open_to_pyg
from vgib.train.loop import seeded

DATASET = "BA-2Motifs-published"
SEEDS = (11, 12)
EPOCHS, GRAPHS = 10, 200
"""Of PyG's form, which takes one graph at a time."""


def compare(known: KnownAnswers, seed: int) -> dict[str, float]:
    """The network's accuracies, and the edge AUC of both forms on its test graphs."""
    graphs, split = known.graphs, known.split
    shape = Network(encoder="gin", hidden=32, depth=3, readout="sum")
    training = Training.of(epochs=40, batch_size=128, lr=0.01, halve_at=20, seed=seed)
    with TemporaryDirectory() as folder:
        net = backbone(graphs, split, shape, training, Path(folder)).net
    test, answers = known.part(split.test)
    train, frozen = graphs[split.train], Frozen(net)

    def auc(edge_scores: Tensor) -> float:
        nodes = torch.zeros(test.num_nodes)
        found = agreement(test, answers, nodes, nodes.bool(), edge_scores=edge_scores)
        return round(found.edge_auc, 3)

    return {
        "accuracy": accuracy(frozen, test, 1.0),
        "accuracy_at_half": accuracy(frozen, test, 0.5),
        "ours": auc(ours(net, train, test, seed)),
        "pyg": auc(of_pyg(net, train[: min(GRAPHS, len(train))], test, seed)),
    }


@torch.no_grad()
def accuracy(frozen: Frozen, graphs: PackedGraphs, weight: float) -> float:
    """How often the class is right when every message counts so much."""
    batch = graphs.batch()
    assert graphs.y is not None
    message_weight = torch.full((batch.adj.edge_index.shape[1],), weight)
    said = frozen.run(batch, message_weight=message_weight).output.argmax(1)
    return round(float((said == graphs.y).double().mean()), 3)


@torch.no_grad()
def ours(net: Any, train: PackedGraphs, test: PackedGraphs, seed: int) -> Tensor:
    """Edge scores of the batched form."""
    with torch.enable_grad():
        explainer = pgexplainer.PGExplainer(seed=seed).fit(net, train)
    return explainer.logits(Case.of(explainer.freeze(net), test.batch())).sigmoid()


def of_pyg(net: Any, train: PackedGraphs, test: PackedGraphs, seed: int) -> Tensor:
    """Edge scores of PyG's form, which is trained and asked graph by graph."""
    model = open_to_pyg(deepcopy(net)).eval()
    algorithm = PGExplainer(epochs=EPOCHS, lr=0.003)
    config = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}
    explainer = Explainer(
        model,
        algorithm,
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config=config,
    )
    with seeded(seed):
        for epoch in range(EPOCHS):
            for x, edges, target in single(model, train):
                algorithm.train(epoch, model, x, edges, target=target)
        masks = [
            explainer(x, edges, target=target).edge_mask for x, edges, target in single(model, test)
        ]
    return torch.cat(masks).detach()


def single(model: Any, graphs: PackedGraphs) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Features, edges and predicted class of each graph."""
    batches = [graphs[torch.tensor([number])].batch() for number in range(len(graphs))]
    pairs = [(batch.x, batch.adj.edge_index) for batch in batches]
    with torch.no_grad():
        return [(x, edges, model(x, edges).argmax(1)) for x, edges in pairs]


def main() -> None:
    """Prints what was found for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = {
        str(seed): compare(load_known(DATASET, seed=seed, mirror=given.mirror), seed)
        for seed in SEEDS
    }
    if given.json:
        json.dump({"dataset": DATASET, "seeds": found}, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        for seed, numbers in found.items():
            sys.stdout.write(f"seed {seed}: {numbers}\n")


if __name__ == "__main__":
    main()
