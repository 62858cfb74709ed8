"""Explaining networks where the explanation is known: how well scores find it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib.data import catalog
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.splits import random_split
from vgib.errors import InputError
from vgib.experiments.engine.finished import Finished
from vgib.experiments.ground_truth.job import GroundTruthJob
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.work import explain, training_of
from vgib.explain.truth import ground_truth

FRACTIONS = (0.8, 0.1, 0.1)
MUTAGEN = 0
"""The class of mutagens in the TU files."""


@dataclass(frozen=True, eq=False)
class Known:
    """Graphs with explanations.

    Attributes:
        graphs: With classes as labels; ``node_truth`` marks the union of all explanations.
        has_truth: Which graphs are explained by their marks, ``bool [graphs]``.
        alternatives: Of each graph the explanations that are right, as node numbers within it, or
            ``None`` where the marks of ``graphs`` are the only one.
    """

    graphs: PackedGraphs
    has_truth: Tensor
    alternatives: list[list[list[int]]] | None = None


def run(
    job: GroundTruthJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains a network, explains held-out graphs and compares with what is known."""
    known = load(job.dataset, mirror=mirror, cache=cache)
    return compare(job, known, catalog.cache_folder(cache) / "explanation")


def load(name: str, *, mirror: str | Path | None = None, cache: str | Path | None = None) -> Known:
    """A dataset of the catalog whose explanations are known.

    Mutagenicity: only mutagens with marked edges count. Molecules of ``attribution/``: only those
    of the second class, which have explanations.
    """
    if name.startswith("attribution/"):
        return _attribution(name, mirror, cache)
    graphs = catalog.load(name, mirror=mirror, cache=cache, progress=False)
    if graphs.node_truth is None or graphs.y is None:
        raise InputError(f"{name} has no known explanations; take one of the recipe's datasets")
    marked = torch.zeros(len(graphs), dtype=torch.int64)
    marked.index_add_(0, torch.repeat_interleave(graphs.sizes), graphs.node_truth.long())
    has_truth = marked > 0
    if name == "Mutagenicity":
        has_truth &= graphs.y == MUTAGEN
    return Known(graphs, has_truth)


def _attribution(name: str, mirror: str | Path | None, cache: str | Path | None) -> Known:
    table = catalog.load_table(name, mirror=mirror, cache=cache, progress=False)
    told = [json.loads(x) if isinstance(x, str) else list(x) for x in table["explanations"]]
    read = from_smiles(table["smiles"].tolist(), table["label"].to_numpy().astype(int), workers=1)
    alternatives = [[list(map(int, one)) for one in told[row]] for row in read.rows]
    truth = torch.zeros(read.graphs.num_nodes, dtype=torch.bool)
    for first, choices in zip(read.graphs.node_ptr.tolist(), alternatives, strict=False):
        for nodes in choices:
            truth[[first + node for node in nodes]] = True
    graphs = _marked(read.graphs, truth)
    return Known(graphs, torch.tensor([bool(one) for one in alternatives]), alternatives)


def _marked(graphs: PackedGraphs, truth: Tensor) -> PackedGraphs:
    """Graphs with these nodes, and the edges between them, as the explanation."""
    edges = graphs.batch().adj.edge_index
    return replace(graphs, node_truth=truth, edge_truth=truth[edges[0]] & truth[edges[1]])


def best_matching(graphs: PackedGraphs, alternatives: list[list[list[int]]], scores: Tensor) -> Any:
    """Of each graph's right explanations the one whose nodes score highest on the average."""
    truth = torch.zeros(graphs.num_nodes, dtype=torch.bool)
    for first, choices in zip(graphs.node_ptr.tolist(), alternatives, strict=False):
        places = [[first + node for node in nodes] for nodes in choices]
        best = max(places, key=lambda nodes: float(scores[nodes].mean()))
        truth[best] = True
    return _marked(graphs, truth)


def compare(job: GroundTruthJob, known: Known, folder: Path) -> Finished:
    """Runs a job on graphs that are at hand; trained networks are kept in the folder."""
    started = perf_counter()
    graphs = known.graphs
    split = random_split(len(graphs), FRACTIONS, seed=job.seed)
    model = backbone(graphs, split, job.network, training_of(job), folder)
    order = np.random.default_rng(job.seed).permutation(split.test)
    chosen = order[known.has_truth.numpy()[order]][: job.explained]
    if not len(chosen):
        raise InputError(f"{job.dataset}: no held-out graph has a known explanation")
    held_out = graphs[chosen]
    work = explain(job, model.net, graphs[split.train], held_out)
    result: dict[str, Any] = {
        "graphs": len(held_out),
        "train_graphs": len(split.train),
        **{f"model_{name}": value for name, value in model.facts.items()},
        "removal": work.explainer.removal,
        **_agreement(held_out, work.scores, job.seed),
        "best": None,
    }
    if known.alternatives is not None:
        choices = [known.alternatives[graph] for graph in chosen]
        matched = best_matching(held_out, choices, work.scores)
        result["best"] = _agreement(matched, work.scores, job.seed)
    return Finished(result, work.seconds | {"job": round(perf_counter() - started, 3)})


def _agreement(graphs: PackedGraphs, scores: Tensor, seed: int) -> dict[str, float | None]:
    found = ground_truth(graphs, scores, seed=seed)
    return {
        "node_auc": found.node_auc.value,
        "edge_auc": None if found.edge_auc is None else found.edge_auc.value,
        "precision": found.precision.value,
        "random_node_auc": found.random_node_auc.value,
        "random_precision": found.random_precision.value,
    }
