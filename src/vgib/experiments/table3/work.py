"""Explaining trained networks of molecules: the second experiment (Table 3, Figure 4)."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from vgib.config import Training
from vgib.data import catalog
from vgib.data.capped import capped_parts
from vgib.data.loading import split_graphs
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split
from vgib.experiments.engine.finished import Finished
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.job import ExplanationJob
from vgib.experiments.table3.property_sets import composition_accuracy, property_set
from vgib.explain.explainer import Explainer, explainers
from vgib.explain.fidelity import Definition, Fidelity, Judge, fidelity
from vgib.explain.many import score
from vgib.explain.robust import fine_tuned, fine_tuned_fidelity, robust_fidelity
from vgib.explain.truth import self_consistency, stability
from vgib.select.masks import keep_ratio

MIDDLE = 0.5
"""The share at which the paper's Table 3 is read, and costly measures are taken."""

BATCH_SIZE = 256
"""Graphs that are explained together: small enough for the processor's cache."""

ENDINGS: dict[Definition, str] = {
    "accuracy": "",
    "agreement": "_agreement",
    "probability": "_probability",
}
"""What a record calls the fidelities of each definition: ``plus``, ``plus_agreement``, ..."""


def run(job: ExplanationJob, **places: Unpack[Places]) -> Finished:
    """Explains held-out molecules by one method, and judges what it chose."""
    setting = _setting(job.property, job.per_class, job.split, job.seed, **places)
    return explain_molecules(
        job, setting, catalog.cache_folder(places.get("cache")) / "explanation"
    )


@dataclass(frozen=True, eq=False)
class Setting:
    """The molecules, who trains and who is held out, and what needs no structure to be told."""

    graphs: PackedGraphs
    split: Split
    composition_accuracy: float


@lru_cache(maxsize=1)  # the jobs of one network follow each other
def _setting(
    name: str,
    per_class: int,
    how: Literal["random", "scaffold"],
    seed: int,
    **places: Unpack[Places],
) -> Setting:
    graphs = property_set(name, per_class, **places)
    split = split_graphs(graphs, how, seed=seed)
    return Setting(graphs, split, composition_accuracy(graphs, split))


def explain_molecules(job: ExplanationJob, setting: Setting, folder: Path) -> Finished:
    """Runs a job on molecules that are at hand; trained networks are kept in the folder."""
    started = perf_counter()
    graphs, split = setting.graphs, setting.split
    model = backbone(graphs, split, job.network, training_of(job), folder)
    # A network of another shape, trained on the same molecules from other weights: what it makes of
    # the chosen atoms was not optimized by anybody.
    judge = backbone(graphs, split, job.judge, training_of(job), folder)
    train, held_out = graphs[split.train], chosen(graphs, getattr(split, job.part), job)
    job = tuned(job, model.net, train, chosen(graphs, split.val, job))
    work = explain(job, model.net, train, held_out)
    sampled = partial(_sampled, job, held_out, work.scores)
    ratios, ptr = job.keep_ratios, held_out.node_ptr
    kept = torch.stack([keep_ratio(work.scores, ptr, ratio) for ratio in ratios])
    on_capped = Judge(model.net, held_out, induced=_capped)
    result = {
        "molecules": len(held_out),
        "train_molecules": len(train),
        "composition_accuracy": setting.composition_accuracy,
        **{f"model_{name}": value for name, value in model.facts.items()},
        **{f"judge_{name}": value for name, value in judge.facts.items()},
        "removal": work.explainer.removal,
        "keep_ratios": list(job.keep_ratios),
        **answers(Judge(model.net, held_out), kept),
        "judge": answers(Judge(judge.net, held_out), kept),
        "capped": fidelities(on_capped, *_outputs(on_capped, kept)),
        "options": job.options,
        "robust": sampled(robust_fidelity, model.net),
        "fine_tuned": sampled(fine_tuned_fidelity, fine_tuned(model.net, train, seed=job.seed)),
        "self_consistency": round(
            self_consistency(work.explainer, model.net, held_out, work.scores).value, 6
        ),
        "stability": _stability(job, model.net, train, held_out, work.scores),
    }
    result["fidelity_plus"] = _at_middle(job, result["plus"])
    result["fidelity_minus"] = _at_middle(job, result["minus"])
    return Finished(result, work.seconds | {"job": round(perf_counter() - started, 3)})


def training_of(job: ExplanationJob) -> Training:
    return Training.of(**job.model_dump(include=set(Training.model_fields)))


def chosen(graphs: PackedGraphs, index: Any, job: ExplanationJob) -> PackedGraphs:
    """The graphs of a part that are explained, in an order of the job's seed."""
    order = np.random.default_rng(job.seed).permutation(index)
    return graphs[order[: job.explained]]


@dataclass(frozen=True, eq=False)
class Work:
    """What a method did: the scores, and the processor's seconds they cost."""

    explainer: Explainer
    scores: Tensor
    seconds: dict[str, float]


def explain(
    job: ExplanationJob,
    model: nn.Module,
    train: PackedGraphs,
    held_out: PackedGraphs,
    seed: int = 0,
) -> Work:
    """Fits a method, where it learns, and scores all nodes."""
    begun = process_time()
    explainer = explainers.make(job.module, seed=job.seed + seed, **job.options)
    explainer.fit(model, train)
    fitted = process_time()
    scores = score(explainer, model, held_out, batch_size=BATCH_SIZE)
    seconds = {
        "fit": round(fitted - begun, 3),
        "explain": round(process_time() - fitted, 3),
        "per_graph": round((process_time() - fitted) / len(held_out), 6),
    }
    return Work(explainer, scores, seconds)


def answers(judge: Judge, kept: Tensor) -> dict[str, Any]:
    """The fidelities of explanations by every definition, and graph by graph as packed bits.

    ``kept`` are the explanations at each share, ``bool [shares, nodes]``.
    """
    alone, without = _outputs(judge, kept)
    whole = judge.is_right(judge.whole)
    # A graph of which nothing is left counts as unchanged.
    rest = [torch.where(row.isnan().any(1), whole, judge.is_right(row)) for row in without]
    return {
        "accuracy": float(whole.double().mean()),
        **fidelities(judge, alone, without, tuple(ENDINGS)),
        "right": {
            "whole": packed_bits(whole),
            "alone": [packed_bits(judge.is_right(row)) for row in alone],
            "without": [packed_bits(row) for row in rest],
        },
    }


def _outputs(judge: Judge, kept: Tensor) -> tuple[Tensor, Tensor]:
    """What is said of explanations and of what is left over, ``[shares, graphs, outputs]``."""
    alone, without = judge.outputs(torch.cat([kept, ~kept])).double().chunk(2)
    return alone, without


def fidelities(
    judge: Judge,
    alone: Tensor,
    without: Tensor,
    definitions: tuple[Definition, ...] = ("accuracy",),
) -> dict[str, list[float]]:
    """Both fidelities at each share; graphs of which nothing is left are left out."""
    return {
        f"{side}{ENDINGS[definition]}": _numbers(judge.differences(outputs, definition).nanmean(1))
        for definition in definitions
        for side, outputs in (("plus", without), ("minus", alone))
    }


def packed_bits(flags: Tensor) -> str:
    """Flags as text, eight in a byte: ``np.unpackbits(np.frombuffer(b64decode(text), "u1"))``."""
    return base64.b64encode(np.packbits(flags.numpy()).tobytes()).decode()


def _numbers(values: Tensor) -> list[float]:
    return [round(float(value), 6) for value in values]


def _capped(graphs: PackedGraphs, mask: Tensor) -> PackedGraphs:
    """Parts whose degrees and hydrogens follow the cut; ring and aromatic marks stay."""
    return capped_parts(graphs, mask, "rich")


def _at_middle(job: ExplanationJob, values: list[float]) -> float:
    place = min(range(len(values)), key=lambda at: abs(job.keep_ratios[at] - MIDDLE))
    return values[place]


def tuned(
    job: ExplanationJob, model: nn.Module, train: PackedGraphs, val: PackedGraphs
) -> ExplanationJob:
    """The job with those of its options that are the most faithful on validation graphs."""
    if not job.tried:
        return job

    def gain(options: dict[str, Any]) -> float:
        one = job.model_copy(update={"options": options})
        scores = explain(one, model, train, val).scores
        (found,) = fidelity(model, val, scores, keep_ratios=[MIDDLE], definition="accuracy")
        return found.plus.value - found.minus.value

    best = max([job.options, *(job.options | more for more in job.tried)], key=gain)
    return job.model_copy(update={"options": best})


def _sampled(
    job: ExplanationJob,
    held_out: PackedGraphs,
    scores: Tensor,
    measure: Callable[..., list[Fidelity]],
    model: nn.Module,
) -> dict[str, float]:
    """A fidelity of random removals in the middle, by the probability of the predicted class."""
    (found,) = measure(
        model,
        held_out,
        scores,
        keep_ratios=[MIDDLE],
        definition="probability",
        samples=job.robust_samples,
        seed=job.seed,
    )
    return _rounded(found, "plus", "minus", "random_plus", "random_minus")


def _stability(
    job: ExplanationJob,
    model: nn.Module,
    train: PackedGraphs,
    held_out: PackedGraphs,
    scores: Tensor,
) -> dict[str, float] | None:
    """How alike the explanations of one network are when only the method's seed changes."""
    if job.repeats < 2:
        return None
    others = [explain(job, model, train, held_out, seed).scores for seed in range(1, job.repeats)]
    (found,) = stability([scores, *others], held_out.node_ptr, keep_ratios=[MIDDLE])
    return _rounded(found, "jaccard", "random_jaccard")


def _rounded(found: Any, *names: str) -> dict[str, float]:
    return {name: round(getattr(found, name).value, 6) for name in names}
