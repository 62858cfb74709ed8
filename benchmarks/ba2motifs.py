"""Does the recommended preset find a subgraph that is known? BA-2Motifs, several seeds.

    python -m benchmarks.ba2motifs --json

Each seed draws its own graphs' split, weights and noise; nothing is chosen on the test graphs.
"""

import argparse
import json
import sys
from statistics import mean, pstdev

import torch

from vgib.data.splits import random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.estimator import SubgraphRecognizer

REPORTED = ("accuracy", "node_auc", "node_precision", "kept_share", "control_random_node_auc")


def one_seed(seed: int, preset: str) -> dict[str, float]:
    """Held-out quality of one training run."""
    graphs = generate_ba2motifs(1000, seed=seed)
    split = random_split(len(graphs), (0.8, 0.1, 0.1), seed=seed)
    model = SubgraphRecognizer("gin", "vgib", preset=preset, seed=seed)
    model.fit(graphs[split.train], val=graphs[split.val])
    found = model.evaluate(graphs[split.test], seed=seed)
    return {name: found[name]["value"] for name in REPORTED}


def main() -> None:
    """Parses the arguments, runs the seeds, prints mean and spread."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default 5)")
    parser.add_argument("--preset", default="recommended", help="preset (default recommended)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    runs = []
    for seed in range(arguments.seeds):
        runs.append(one_seed(seed, arguments.preset))
        print(f"seed {seed}: {runs[-1]}", file=sys.stderr, flush=True)
    summary = {
        name: {"mean": mean(run[name] for run in runs), "std": pstdev(run[name] for run in runs)}
        for name in REPORTED
    }
    found = {"preset": arguments.preset, "summary": summary, "runs": runs}
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        for name, value in summary.items():
            print(f"{name:26s}{value['mean']:.3f} ± {value['std']:.3f}")


if __name__ == "__main__":
    main()
