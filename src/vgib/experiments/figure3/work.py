"""A few held-out molecules with the subgraph that a method finds in each (Figure 3)."""

from math import isnan
from time import perf_counter
from typing import Unpack

import torch

from vgib.data.sources import Places
from vgib.experiments.engine.finished import Finished
from vgib.experiments.figure3.job import GalleryJob
from vgib.experiments.table1.atlas import atlas_of
from vgib.experiments.table1.molecules import (
    DividedMolecules,
    oracle_of,
    parts_of,
    trained,
)
from vgib.select.masks import sizes_of_ratio


def run(job: GalleryJob, **places: Unpack[Places]) -> Finished:
    """Trains a model and takes down what it finds."""
    return run_on(job, parts_of(job, **places))


def run_on(job: GalleryJob, parts: DividedMolecules) -> Finished:
    made, begun = trained(job, parts), perf_counter()
    parts, model = made.parts, made.model
    atlas = atlas_of(oracle_of(job.property), parts.test.smiles)
    keep = 0.5 if job.keep is None else job.keep
    found = model.subgraphs(parts.test, keep_ratio=keep, rule="ring_intact", by=job.by)
    scores = torch.split(torch.from_numpy(model.scores(parts.test)), parts.test.sizes.tolist())
    nodes = [list(ranked[0].nodes) for ranked in found]
    divergence = atlas.judge([tuple(part) for part in nodes]).divergence.tolist()
    sizes = sizes_of_ratio(parts.test.node_ptr, keep).tolist()
    best = [atlas.best_part(number, size) for number, size in enumerate(sizes)]
    molecules = [
        {
            "smiles": smiles,
            "value": float(atlas.whole[number]),
            "scores": [round(score, 3) for score in scores[number].tolist()],
            "nodes": nodes[number],
            "divergence": known(divergence[number]),
            "best_nodes": list(best[number]),
            "best_divergence": known(atlas.parts[number][best[number]]),
        }
        for number, smiles in enumerate(parts.test.smiles)
    ]
    return made.finished({"molecules": molecules, **made.prediction_error()}, begun)


def known(value: float) -> float | None:
    """``None`` for what the oracle cannot judge: JSON has no NaN."""
    return None if isnan(value) else value
