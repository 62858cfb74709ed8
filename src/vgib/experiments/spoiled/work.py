"""Does the jobs: spoils what a method learns from, and judges it as the known answers are."""

from dataclasses import replace
from math import ceil
from typing import Unpack

import numpy as np

from vgib.data import catalog
from vgib.data.known import KnownAnswers, load_known
from vgib.data.sources import Places
from vgib.data.splits import Index, Split
from vgib.experiments.engine.finished import Finished
from vgib.experiments.known_answers.work import compare
from vgib.experiments.spoiled.job import SpoiledJob


def run(job: SpoiledJob, **places: Unpack[Places]) -> Finished:
    """Loads the set, spoils it and does the job."""
    known = load_known(job.dataset, seed=job.seed, **places)
    made = spoil(known, flipped=job.flipped, left=job.left, seed=job.seed)
    return compare(job, made, catalog.cache_folder(places.get("cache")) / "explanation")


def spoil(known: KnownAnswers, *, flipped: float, left: float, seed: int) -> KnownAnswers:
    """The same set of two classes with wrong labels and fewer graphs for training and validation.

    Whoever has wrong labels validates on them too. Test graphs stay as they are.
    """
    rng = np.random.default_rng(seed)
    train, val = (_some(part, left, rng) for part in (known.split.train, known.split.val))
    y = known.graphs.labels.clone()
    for part in (train, val):
        wrong = _some(part, flipped, rng)
        y[wrong] = 1 - y[wrong]
    return replace(
        known, graphs=replace(known.graphs, y=y), split=Split(train, val, known.split.test)
    )


def _some(part: Index, share: float, rng: np.random.Generator) -> Index:
    """A share of some graphs, drawn at random, in ascending order."""
    drawn: Index = np.sort(rng.permutation(part)[: ceil(share * len(part))])
    return drawn
