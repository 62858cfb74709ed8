"""How well a found subgraph stands for its molecule: the first experiment (Sec. 5.1, Table 1).

The measure is the divergence of the property, :math:`|f(G) - f(G_S)|` under an oracle *f*, the
subgraph capped with hydrogen where it was cut. A small subgraph diverges more than a large one
whatever it consists of, so that every number comes with the controls of the same size.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.experiments.engine.finished import Finished
from vgib.experiments.table1.atlas import Atlas, Controls, Floats, Judged, Nodes, atlas_of
from vgib.experiments.table1.job import InterpretationJob, MoleculeJob
from vgib.experiments.table1.molecules import (
    DividedMolecules,
    FittedRow,
    oracle_of,
    parts_of,
    trained,
)
from vgib.model.recognizer import SubgraphRecognizer
from vgib.oracles.contract import Oracle
from vgib.select import masks as select
from vgib.select.random import random_atoms, random_connected

HALF = 0.5
"""The share of the atoms at which choices are compared."""

DRAWS = 3
"""Random draws for each molecule of the controls that cut rings, which cannot be listed."""

Mask = npt.NDArray[np.bool_]


def run(job: InterpretationJob, **places: Unpack[Places]) -> Finished:
    """Trains a model and judges the subgraphs that it finds in held-out molecules."""
    training = MoleculeJob.of(**job.model_dump(include=set(MoleculeJob.model_fields)))
    settings = training.model_copy(update={"method": ""}).model_dump_json()
    return judge(job, _shared(settings, **places))


def run_on(job: InterpretationJob, parts: DividedMolecules) -> Finished:
    return judge(job, trained(job, parts))


@lru_cache(maxsize=1)  # rows that differ in what is selected follow each other
def _shared(settings: str, **places: Unpack[Places]) -> FittedRow:
    job = MoleculeJob.model_validate_json(settings)
    return trained(job, parts_of(job, **places))


def judge(job: InterpretationJob, made: FittedRow) -> Finished:
    """Judges the subgraphs that a trained model finds in the test molecules."""
    begun = perf_counter()
    parts, model = made.parts, made.model
    atlas = atlas_of(oracle_of(job.property), parts.test.smiles)
    result = {
        "train_molecules": len(parts.train),
        "test_molecules": len(parts.test),
        **made.prediction_error(),
        # Without what differs from run to run.
        "history": [
            {name: value for name, value in epoch.items() if name != "seconds"}
            for epoch in model.history_.epochs
        ],
        "best_epoch": model.history_.best_epoch + 1,
        "paper": by_the_papers_rule(job, model, parts.test, atlas),
        "ring_intact": Found.by(job, model, parts.test, atlas, job.keep).with_each(),
        **against_size(job, model, parts.test, atlas),
        "random_connected": grown_at_random(atlas.oracle, parts.test.smiles, tuple(job.keeps)),
    }
    if job.fragments:
        result["new"] = among_new(job, model, parts, atlas)
    return made.finished(result, begun)


def by_the_papers_rule(
    job: InterpretationJob, model: SubgraphRecognizer, graphs: PackedGraphs, atlas: Atlas
) -> dict[str, Any]:
    """Atoms that score one half (or the best share of them), of these the largest connected part.

    Controls: as many random atoms as were selected, repaired in the same way; as many connected
    atoms as are left, grown at random; and random ring-intact parts of that size.
    """
    scores, ptr = model.scores(graphs), graphs.node_ptr
    if job.keep is None:
        selected = select.threshold(scores, ptr)
    else:
        selected = select.keep_ratio(scores, ptr, job.keep)
    repaired = select.largest_connected(selected, graphs, scores)
    before, after = (counted(mask, graphs) for mask in (selected, repaired))
    rng = np.random.default_rng(job.seed)
    atoms = averaged(atlas, graphs, [random_atoms(graphs, before, rng) for _ in range(DRAWS)])
    grown = averaged(atlas, graphs, [random_connected(graphs, after, rng) for _ in range(DRAWS)])
    found = Found.of(atlas, nodes_of(repaired, graphs))
    return {
        **found.with_each(),
        "connected_share": float((before == after).mean()),
        "random_atoms": mean(atoms.divergence),
        "random_atoms_kept": mean(atoms.kept),
        "random_connected": mean(grown.divergence),
        "each_connected": thousandths(grown.divergence),
    }


@dataclass(frozen=True, eq=False)
class Found:
    """One part of each molecule, with the controls of its size.

    Attributes:
        own: The parts.
        near: All ring-intact parts of the same size, give or take an atom.
        same: Those of exactly the same size.
    """

    own: Judged
    near: Controls
    same: Controls

    @classmethod
    def of(cls, atlas: Atlas, nodes: list[Nodes]) -> "Found":
        """Parts that are at hand."""
        sizes = [len(part) for part in nodes]
        return cls(atlas.judge(nodes), atlas.controls(sizes), atlas.controls(sizes, within=0))

    @classmethod
    def by(
        cls,
        job: InterpretationJob,
        model: SubgraphRecognizer,
        graphs: PackedGraphs,
        atlas: Atlas,
        keep: float | None,
    ) -> "Found":
        """The best connected part that cuts no ring."""
        found = model.subgraphs(graphs, keep_ratio=keep, rule="ring_intact", by=job.by)
        return cls.of(atlas, [ranked[0].nodes for ranked in found])

    def told(self) -> dict[str, Any]:
        return {
            "divergence": mean(self.own.divergence),
            "spread": deviation(self.own.divergence),
            "kept_share": mean(self.own.kept),
            "valid_share": float(self.own.is_valid.mean()),
            "not_judged": int(np.isnan(self.own.divergence).sum()),
            "random": mean(self.near.random),
            "best": mean(self.near.best),
            "difference_spread": deviation(self.own.divergence - self.near.random),
        }

    def with_each(self) -> dict[str, Any]:
        """Means, spreads and counts, and the numbers of each molecule, for the intervals."""
        found = self.told() | each(self.own.divergence, self.near.random, self.near.best)
        return found | {
            "each_same_random": thousandths(self.same.random),
            "each_same_best": thousandths(self.same.best),
        }


def against_size(
    job: InterpretationJob, model: SubgraphRecognizer, graphs: PackedGraphs, atlas: Atlas
) -> dict[str, Any]:
    """Divergence against size; each molecule's numbers at one half, and on average over sizes."""
    found = {keep: Found.by(job, model, graphs, atlas, keep) for keep in job.keeps}
    half = found[min(job.keeps, key=lambda keep: abs(keep - HALF))]
    triples = [(one.own.divergence, one.near.random, one.near.best) for one in found.values()]
    return {
        "curve": [{"keep": keep} | one.told() for keep, one in found.items()],
        "half": half.with_each(),
        "over_sizes": each(*np.mean(triples, axis=0)),
    }


def among_new(
    job: InterpretationJob, model: SubgraphRecognizer, parts: DividedMolecules, atlas: Atlas
) -> dict[str, Any]:
    """The choice at half size among parts that no training fragment equals, and their share.

    The oracle that judges has labeled the training fragments; a model may know a part by heart. Of
    the parts within one atom of half size only those stay whose SMILES was not trained on, for the
    choice as for its controls. A molecule without any is not judged.
    """
    test, known = parts.test, frozenset(parts.train.ids or ())
    answer = model.answer(test)
    scores = np.split(answer.node_scores, test.node_ptr[1:-1])
    own, random, best = np.full((3, len(test)), np.nan)
    shares = []
    for number, size in enumerate(select.sizes_of_ratio(test.node_ptr, HALF).tolist()):
        near = atlas.near(number, size)
        new = [nodes for nodes in near if atlas.texts[number][nodes] not in known]
        shares.append(1 - len(new) / len(near) if near else np.nan)
        if not new:
            continue
        masks = select.masks_of(new, len(scores[number]))
        if job.rule == "guided":
            said = answer.predict_parts(number, masks).mean(0)
            far = np.abs(said - answer.mean[number]).sum(1)
        else:
            far = -(masks @ scores[number]) / masks.sum(1)
        values = np.array([near[nodes] for nodes in new])
        own[number], random[number], best[number] = (
            values[far.argmin()],
            values.mean(),
            values.min(),
        )
    return {"known_share": mean(np.array(shares)), **each(own, random, best)}


def each(own: Floats, random: Floats, best: Floats) -> dict[str, Any]:
    return {
        "each": thousandths(own),
        "each_random": thousandths(random),
        "each_best": thousandths(best),
    }


@lru_cache(maxsize=4)
def grown_at_random(
    oracle: Oracle, smiles: tuple[str, ...], keeps: tuple[float, ...]
) -> list[dict[str, float]]:
    """Divergence of connected parts grown at random, rings cut, at each share."""
    graphs = from_smiles(smiles, features="element", workers=1).graphs
    atlas, rng = atlas_of(oracle, smiles), np.random.default_rng(0)
    found = []
    for keep in keeps:
        sizes = select.sizes_of_ratio(graphs.node_ptr, keep)
        drawn = [random_connected(graphs, sizes, rng) for _ in range(DRAWS)]
        judged = averaged(atlas, graphs, drawn)
        found.append({"divergence": mean(judged.divergence), "kept_share": mean(judged.kept)})
    return found


def averaged(atlas: Atlas, graphs: PackedGraphs, masks: list[Mask]) -> Judged:
    """The mean over several draws of a part of each molecule."""
    drawn = [atlas.judge(nodes_of(mask, graphs)) for mask in masks]
    table = np.stack([one.divergence for one in drawn])
    known = np.isfinite(table)
    divergence = np.where(known, table, 0).sum(0) / np.where(known.any(0), known.sum(0), np.nan)
    return Judged(
        divergence,
        np.mean([one.kept for one in drawn], axis=0),
        np.all([one.is_valid for one in drawn], axis=0),
    )


def nodes_of(mask: Mask, graphs: PackedGraphs) -> list[Nodes]:
    """The chosen atoms of each molecule, numbered within it."""
    bounds = pairwise(graphs.node_ptr.tolist())
    return [tuple(np.flatnonzero(mask[low:high]).tolist()) for low, high in bounds]


def counted(mask: Mask, graphs: PackedGraphs) -> npt.NDArray[np.int64]:
    before = np.concatenate([[0], np.cumsum(mask)])
    amounts: npt.NDArray[np.int64] = np.diff(before[graphs.node_ptr.numpy()])
    return amounts


def mean(values: Floats) -> float:
    return float(np.nanmean(values))


def deviation(values: Floats) -> float:
    return float(np.nanstd(values, ddof=1))


def thousandths(values: Floats) -> list[int | None]:
    """Whole thousandths, short enough to keep for each molecule; ``None`` for what is not known."""
    return [None if np.isnan(value) else round(1000 * value) for value in values.tolist()]
