"""Seconds of one epoch of Table 4, each bottleneck beside the plain backbone, in one run.

    python -m benchmarks.epochs --mirror FOLDER --json > results/benchmarks/epochs.json

Times are CPU seconds of this process for an epoch of training, batching included; all bottlenecks
of a place are timed in turn, several rounds, and the median of each counts; ratios are medians of
the rounds' own, since a shared machine is faster in some minutes than in others.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median
from time import process_time

import torch

from vgib.config import Training
from vgib.data import catalog
from vgib.data.packed import PackedGraphs
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.table4.job import ClassificationJob
from vgib.experiments.table4.work import network
from vgib.model.labels import as_targets, task_of
from vgib.train.loop import train_step
from vgib.train.optimizer import levels

DATASETS = ("COLLAB", "REDDIT-BINARY", "DD", "IMDB-BINARY")
# In the order of timing: the two whose ratio is told follow each other.
BOTTLENECKS = ("none", "vgib", "gib", "gsat")


def epoch_of(job: ClassificationJob, graphs: PackedGraphs) -> Callable[[], float]:
    """Trains for one epoch at each call and gives the seconds of it."""
    assert graphs.y is not None
    net = network(job, graphs, int(graphs.y.max()) + 1).train()
    outer, inner = levels(net, Training.of(lr=job.lr))
    generator = torch.Generator().manual_seed(0)

    def epoch() -> float:
        started = process_time()
        for batch in graphs.batches(job.batch_size, generator=generator):
            train_step(net, batch, outer, inner)
        return process_time() - started

    return epoch


def measured(
    jobs: dict[str, ClassificationJob], graphs: PackedGraphs, rounds: int
) -> dict[str, float]:
    """The median seconds of an epoch of each bottleneck, and how much VGIB adds to none."""
    runs = {name: epoch_of(job, graphs) for name, job in jobs.items()}
    # The first epoch pays for what is made once.
    timed = [{name: run() for name, run in runs.items()} for _ in range(rounds + 1)][1:]
    found = {name: median(times[name] for times in timed) for name in runs}
    return found | {"vgib_over_none": median(times["vgib"] / times["none"] for times in timed)}


def main() -> None:
    """Measures every place and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", help="a folder with the public files")
    parser.add_argument("--cache", help="where downloads are kept")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--encoders", nargs="+", default=("gcn", "sage", "gin", "gat"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    torch.set_num_threads(1)
    load = partial(catalog.load, mirror=given.mirror, cache=given.cache, progress=False)
    jobs = [job for job in recipe("table4").jobs() if isinstance(job, ClassificationJob)]
    found = {}
    for dataset, encoder in product(given.datasets, given.encoders):
        graphs = load(dataset)
        task, classes = task_of(graphs, "classification")
        graphs = as_targets(graphs, task, classes)
        here = {
            job.bottleneck: job
            for job in jobs
            if (job.dataset, job.encoder, job.readout, job.fold) == (dataset, encoder, "sum", 0)
        }
        chosen = {name: here[name] for name in BOTTLENECKS}
        found[f"{dataset}/{encoder}"] = measured(chosen, graphs, given.rounds)
        if not given.json:
            print(f"{dataset}/{encoder}", found[f"{dataset}/{encoder}"])
    if given.json:
        rounded = {k: {n: round(v, 4) for n, v in values.items()} for k, values in found.items()}
        print(json.dumps({"epochs": rounded}, indent=1))


if __name__ == "__main__":
    main()
