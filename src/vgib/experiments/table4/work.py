"""Graph classification with and without a bottleneck: the third experiment (Sec. 5.3, Table 4)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from math import inf
from typing import Any, Unpack

import torch
from torch import Tensor

from vgib.config import Architecture, Settings, Training
from vgib.data import catalog
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split, stratified_folds
from vgib.experiments.engine.finished import Clock, Finished
from vgib.experiments.table4.budget import BudgetVGIB
from vgib.experiments.table4.job import ClassificationJob
from vgib.model.labels import as_targets, task_of
from vgib.nn.bottleneck import Bottleneck, PredictFrom
from vgib.nn.net import THREE_VIEWS, SubgraphNet, build
from vgib.train.checkpoint import Epoch
from vgib.train.loop import predict, seeded, train

COLLAPSE_MARGIN = 0.01
"""A gate that keeps all but this share of the nodes, or no more than it, has collapsed."""

VIEWS: dict[str, tuple[PredictFrom, ...]] = {
    "gib": THREE_VIEWS,
    "vgib-paper": (*THREE_VIEWS, "average"),
}
"""What can be pooled at test time, for bottlenecks that score nodes before the readout."""


def run(job: ClassificationJob, **places: Unpack[Places]) -> Finished:
    """Trains on one split of the folds and judges the selected model on its test fold.

    The model of the smallest validation cross-entropy is taken, of the very prediction that is then
    used on the test fold: the deterministic one, for GIB and VGIB that of the selected subgraph.
    """
    clock = Clock()
    graphs = catalog.load(job.dataset, progress=False, **places)
    return run_fold(job, graphs, clock)


def run_fold(job: ClassificationJob, graphs: PackedGraphs, clock: Clock | None = None) -> Finished:
    """Does the job of :func:`run` on graphs that are at hand.

    Of several weights (``betas``) the one with the smallest validation loss counts: the test fold
    is not looked at before. The seconds are those of all trainings.
    """
    clock = clock or Clock()
    if not job.betas:
        return _one_training(job, graphs, clock)
    tried = []
    for beta in job.betas:
        one = job.model_copy(update={"betas": (), "options": job.options | {"beta": beta}})
        done = _one_training(one, graphs, clock)
        tried.append(replace(done, result=done.result | {"beta": beta}))
    best = min(tried, key=lambda done: done.result["val_loss"])
    epochs = [done.seconds["training"] for done in tried]
    return replace(best, seconds=tried[-1].seconds | {"training": round(sum(epochs), 3)})


def _one_training(job: ClassificationJob, graphs: PackedGraphs, clock: Clock) -> Finished:
    task, classes = task_of(graphs, "classification")
    assert classes is not None
    graphs = as_targets(graphs, task, classes)
    split = fold_of(graphs, job)
    net = network(job, graphs, len(classes))
    held_out = graphs[split.val]
    views = Views(net, held_out, VIEWS.get(job.module, ()))
    history = train(
        net,
        graphs,
        index=torch.from_numpy(split.train),
        val=held_out,
        settings=training(job),
        on_epoch=views.watch,
    )
    clock.stop_training()
    result = {
        "epochs": len(history.epochs),
        "best_epoch": history.best_epoch + 1,
        "val_loss": history.best_loss,
        "train_graphs": len(split.train),
        **_named("val", judge(net, held_out)),
        **_named("test", judge(net, graphs[split.test])),
    }
    result["views"] = views.judge(graphs[split.test])
    result["collapse"] = None if job.module == "none" else collapse(result["test_kept_share"])
    return Finished(result, clock.seconds(history.curve("seconds")))


def fold_of(graphs: PackedGraphs, job: ClassificationJob) -> Split:
    """Who trains, validates and tests in this job."""
    return list(stratified_folds(graphs.labels.numpy(), job.folds, seed=job.fold_seed))[job.fold]


def network(job: ClassificationJob, graphs: PackedGraphs, classes: int) -> SubgraphNet:
    """The untrained network of a job; folds start from weights of their own."""
    module: str | type[Bottleneck] = BudgetVGIB if "budget" in job.options else job.module
    with seeded(training(job).seed):
        return build(
            encoder=job.encoder,
            bottleneck=module,
            cardinalities=graphs.cardinalities,
            in_channels=graphs.x.shape[1],
            task="classification",
            outputs=classes,
            architecture=Architecture.of(**_shared(job, Architecture), head_hidden=job.hidden),
            bottleneck_options=job.options,
        )


def training(job: ClassificationJob) -> Training:
    return Training.of(**_shared(job, Training) | {"seed": job.seed + job.fold})


def _shared(job: ClassificationJob, kind: type[Settings]) -> dict[str, Any]:
    """Those settings of a job that a network or a training has too."""
    return job.model_dump(include=set(kind.model_fields))


def judge(net: SubgraphNet, graphs: PackedGraphs) -> dict[str, Any]:
    """Accuracy of the prediction, and what share of their nodes the graphs keep."""
    logits, scores = predict(net, graphs)
    return {
        "accuracy": float((logits.argmax(1) == graphs.labels).double().mean()),
        "kept_share": mean_kept_share(scores, graphs),
        "score_spread": float(scores.double().std(correction=0)),
        "graphs": len(graphs),
    }


def mean_kept_share(scores: Tensor, graphs: PackedGraphs) -> float:
    """The share of its nodes that score at least one half, averaged over the graphs."""
    graph = torch.repeat_interleave(graphs.sizes)
    kept = torch.bincount(graph, (scores >= 0.5).double(), minlength=len(graphs))
    return float((kept / graphs.sizes.clamp(min=1)).mean())


def collapse(kept_share: float) -> str | None:
    """``"all"`` or ``"none"`` when the gate treats all nodes alike, else ``None``."""
    if kept_share >= 1 - COLLAPSE_MARGIN:
        return "all"
    return "none" if kept_share <= COLLAPSE_MARGIN else None


class Views:
    """The other predictions that the same training gives, each with its own best epoch.

    A gate leaves three ways to read a graph at test time: the kept nodes, the expected perturbed
    graph, the whole graph; and their average. One of them is the job's; the others cost a look at
    the validation graphs after each epoch, where a training of their own would give the very same
    weights.

    ``held_out`` are the validation graphs, ``names`` the views to watch.
    """

    def __init__(
        self, net: SubgraphNet, held_out: PackedGraphs, names: Sequence[PredictFrom]
    ) -> None:
        self.net, self.held_out = net, held_out
        self.batches = list(held_out.batches(1024)) if names else []
        self.best: dict[PredictFrom, tuple[float, int, dict[str, Tensor]]] = {
            name: (inf, 0, {}) for name in names
        }

    def watch(self, epoch: Epoch) -> None:
        """Remembers the weights for each view whose validation loss is the lowest so far."""
        weights = None
        for name, loss in self.losses().items():
            if loss < self.best[name][0]:
                weights = weights or deepcopy(self.net.state_dict())
                self.best[name] = (loss, int(epoch["epoch"]), weights)

    @torch.no_grad()
    def losses(self) -> dict[PredictFrom, float]:
        """The validation cross-entropy of each view, from one encoding."""
        totals = dict.fromkeys(self.best, 0.0)
        self.net.eval()
        for batch in self.batches:
            encoded = self.net.encode(batch.x, batch.adj, batch.graphs)
            perturbed = self.net.perturb(encoded)
            assert batch.y is not None
            for name in totals:
                with _predicting_from(self.net, name):
                    output = self.net.read(encoded, perturbed)
                totals[name] += float(self.net.losses(output, batch.y).sum())
        return {name: total / len(self.held_out) for name, total in totals.items()}

    def judge(self, test: PackedGraphs) -> dict[str, dict[str, Any]]:
        """Each view's quality; leaves the weights of the last one in the network."""
        found: dict[str, dict[str, Any]] = {}
        for name, (loss, epoch, weights) in self.best.items():
            self.net.load_state_dict(weights)
            with _predicting_from(self.net, name):
                found[name] = {
                    "best_epoch": epoch,
                    "val_loss": loss,
                    **_named("val", judge(self.net, self.held_out)),
                    **_named("test", judge(self.net, test)),
                }
        return found


@contextmanager
def _predicting_from(net: SubgraphNet, view: PredictFrom) -> Iterator[None]:
    usual = net.bottleneck.predict_from
    net.bottleneck.predict_from = view
    try:
        yield
    finally:
        net.bottleneck.predict_from = usual


def _named(part: str, values: dict[str, Any]) -> dict[str, Any]:
    return {f"{part}_{name}": value for name, value in values.items()}
