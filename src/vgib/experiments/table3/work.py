"""Explaining trained networks of molecules: the second experiment (Table 3, Figure 4)."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from vgib.config import Training
from vgib.data import catalog
from vgib.data.capped import capped_parts
from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split
from vgib.experiments.engine.finished import Finished, Where
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.job import ExplanationJob
from vgib.experiments.table3.property_sets import composition_accuracy, property_set, split_of
from vgib.explain.explainer import Explainer, explainers
from vgib.explain.fidelity import Fidelity, PartOutputs, fidelity, part_outputs
from vgib.explain.many import score
from vgib.explain.robust import fine_tuned, fine_tuned_fidelity, robust_fidelity
from vgib.explain.truth import self_consistency, stability

MIDDLE = 0.5
"""The share at which the paper's Table 3 is read, and costly measures are taken."""


BATCH_SIZE = 256
"""Graphs that are explained together: small enough for the processor's cache."""


def run(job: ExplanationJob, *, mirror: Where = None, cache: Where = None) -> Finished:
    """Explains held-out molecules by one method, and judges what it chose."""
    setting = _setting(job.property, job.per_class, job.split, job.seed, mirror, cache)
    return explain_molecules(job, setting, catalog.cache_folder(cache) / "explanation")


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
    mirror: Where,
    cache: Where,
) -> Setting:
    graphs = property_set(name, per_class, mirror=mirror, cache=cache)
    split = split_of(graphs, how, seed)
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
    measure = partial(
        part_outputs, graphs=held_out, scores=work.scores, keep_ratios=job.keep_ratios
    )
    sampled = partial(_sampled, job, held_out, work.scores)
    own = Answers.of(measure(model.net), held_out)
    result = {
        "molecules": len(held_out),
        "train_molecules": len(train),
        "composition_accuracy": setting.composition_accuracy,
        **{f"model_{name}": value for name, value in model.facts.items()},
        **{f"judge_{name}": value for name, value in judge.facts.items()},
        "removal": work.explainer.removal,
        "keep_ratios": list(job.keep_ratios),
        **own.to_json(),
        "judge": Answers.of(measure(judge.net), held_out).to_json(),
        "capped": Answers.of(measure(model.net, induced=_capped), held_out).means(),
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
    """How the networks of a job are trained."""
    found: Training = Training.of(
        epochs=job.epochs,
        batch_size=job.batch_size,
        lr=job.lr,
        halve_at=job.halve_at,
        seed=job.seed,
    )
    return found


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


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's classes for whole graphs and parts of them, against the labels.

    ``whole [graphs]``, ``alone`` and ``without [shares, graphs]`` say where it is right;
    ``missing`` where nothing is left to judge.
    """

    parts: PartOutputs
    whole: Tensor
    alone: Tensor
    without: Tensor
    missing: Tensor

    @classmethod
    def of(cls, parts: PartOutputs, graphs: PackedGraphs) -> "Answers":
        """The answers that outputs give, judged by the labels of the graphs."""
        assert graphs.y is not None
        outputs = (parts.whole, parts.alone, parts.without)
        whole, alone, without = (torch.eq(output.argmax(-1), graphs.y) for output in outputs)
        return cls(parts, whole, alone, without, missing=parts.without.isnan().any(-1))

    def means(self) -> dict[str, list[float]]:
        """Both fidelities by the paper's definition at each share."""
        whole = self.whole.double()
        plus = torch.where(self.missing, torch.nan, whole - self.without.double())
        return {
            "plus": _numbers(plus.nanmean(1)),
            "minus": _numbers((whole - self.alone.double()).mean(1)),
        }

    def to_json(self) -> dict[str, Any]:
        """The fidelities by every definition, and graph by graph as packed bits."""
        return {
            "accuracy": float(self.whole.double().mean()),
            **self.means(),
            **self._by_agreement(),
            **self._by_probability(),
            "right": {
                "whole": packed_bits(self.whole),
                "alone": [packed_bits(row) for row in self.alone],
                # A graph of which nothing is left counts as unchanged.
                "without": [packed_bits(row) for row in self._unchanged()],
            },
        }

    def _unchanged(self) -> Tensor:
        return torch.where(self.missing, self.whole, self.without)

    def _by_agreement(self) -> dict[str, list[float]]:
        before = self.parts.whole.argmax(-1)
        flipped = torch.where(
            self.missing, torch.nan, (self.parts.without.argmax(-1) != before).double()
        )
        changed = (self.parts.alone.argmax(-1) != before).double()
        return {
            "plus_agreement": _numbers(flipped.nanmean(1)),
            "minus_agreement": _numbers(changed.mean(1)),
        }

    def _by_probability(self) -> dict[str, list[float]]:
        before = self.parts.whole.argmax(-1)

        def probability(outputs: Tensor) -> Tensor:
            place = before.expand(outputs.shape[:-1]).unsqueeze(-1)
            return outputs.double().softmax(-1).gather(-1, place).squeeze(-1)

        whole = probability(self.parts.whole)
        return {
            "plus_probability": _numbers((whole - probability(self.parts.without)).nanmean(1)),
            "minus_probability": _numbers((whole - probability(self.parts.alone)).mean(1)),
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
    return {
        "plus": round(found.plus.value, 6),
        "minus": round(found.minus.value, 6),
        "random_plus": round(found.random_plus.value, 6),
        "random_minus": round(found.random_minus.value, 6),
    }


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
    return {
        "jaccard": round(found.jaccard.value, 6),
        "random_jaccard": round(found.random_jaccard.value, 6),
    }
