"""The molecules of the first experiment, and a model trained on them (Sec. 5.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vgib.chem.mol import scaffold
from vgib.data import catalog
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split, random_split, reference_split, scaffold_split
from vgib.experiments.engine.finished import Clock, Finished
from vgib.experiments.table1.job import MoleculeJob
from vgib.model.augment import with_fragments
from vgib.model.recognizer import SubgraphRecognizer
from vgib.oracles import registry
from vgib.oracles.contract import Oracle

JUDGED_SEEDS = (0, 1, 2)
"""The list oracles do not know the test parts of the random splits with these seeds."""

Index = npt.NDArray[np.int64]
SplitKind = Literal["random", "file", "scaffold"]


@dataclass(frozen=True, eq=False)
class DividedMolecules:
    """Molecules for training, validation and test; the last ones are judged by the oracle."""

    train: PackedGraphs
    val: PackedGraphs
    test: PackedGraphs


def oracle_of(name: str) -> Oracle:
    """Who judges a property: RDKit for QED, the list oracles for clearance."""
    return registry.get(name if name == "qed" else f"{name}_list")


def parts_of(job: MoleculeJob, **places: Unpack[Places]) -> DividedMolecules:
    """The molecules of a job.

    All versions are judged on ``tested`` molecules of the list's test part, none of which any model
    or oracle was trained on: ``list`` and ``full`` on the same ones. With the split in file order,
    or by scaffold, these are the ones of its test part that the list oracles do not know. The
    version ``full`` trains and validates on as many molecules as the list has for that, drawn from
    the rest of ZINC250K; their labels are
    computed, by RDKit or by the list oracle.
    """
    listed = listed_molecules(job.property, job.features, job.molecules, **places)
    split = split_of(listed.smiles, job.split, job.seed)
    test = listed[judged(split, len(listed), job.split, job.tested, job.seed)]
    if job.version != "full":
        return DividedMolecules(listed[fewer(split.train, job)], listed[split.val], test)
    known = frozenset(listed.smiles[i] for i in split.test)
    counts = len(split.train), len(split.val)
    train, val = sampled(job.property, job.features, counts, known, job.seed, **places)
    return DividedMolecules(train if job.trained is None else train[: job.trained], val, test)


def fewer(rows: Index, job: MoleculeJob) -> Index:
    """As many of the training molecules as the job asks for, at random."""
    if job.trained is None:
        return rows
    return np.sort(np.random.default_rng(job.seed).permutation(rows)[: job.trained])


def split_of(smiles: Sequence[str], kind: SplitKind, seed: int) -> Split:
    """Who trains, validates and tests."""
    if kind == "scaffold":
        return scaffold_split(scaffolds_of(tuple(smiles)), seed=seed)
    return (
        random_split(len(smiles), seed=seed) if kind == "random" else reference_split(len(smiles))
    )


@lru_cache(maxsize=1)
def scaffolds_of(smiles: tuple[str, ...]) -> list[str]:
    """The scaffold of each molecule, found once for all seeds and methods."""
    return [scaffold(text) for text in smiles]


def judged(split: Split, n: int, kind: SplitKind, tested: int, seed: int) -> Index:
    """The test molecules that are judged, drawn at random; in file order the same for all seeds."""
    if kind == "random":
        drawn = np.random.default_rng(seed).permutation(split.test)
    else:
        unknown = np.unique(np.concatenate([random_split(n, seed=s).test for s in JUDGED_SEEDS]))
        draw = np.random.default_rng(seed if kind == "scaffold" else 0)
        drawn = draw.permutation(np.intersect1d(split.test, unknown))
    return np.sort(drawn[:tested])


@lru_cache(maxsize=2)
def listed_molecules(
    name: str, features: str, molecules: int | None, **places: Unpack[Places]
) -> PackedGraphs:
    """The published list of a property, in its order."""
    table = catalog.load_table(f"vgib/{name}", progress=False, **places)
    table = table.iloc[:molecules]
    graphs = labeled(table["smiles"].tolist(), table[name].to_numpy(), features)
    # A line left out would shift the split against the one that the list oracle was trained by.
    assert len(graphs) == len(table)
    return graphs


@lru_cache(maxsize=2)
def sampled(
    name: str,
    features: str,
    counts: tuple[int, int],
    without: frozenset[str],
    seed: int,
    **places: Unpack[Places],
) -> tuple[PackedGraphs, PackedGraphs]:
    """So many random molecules of ZINC250K for training and validation, with computed labels."""
    table = catalog.load_table("ZINC250K", progress=False, **places)
    order = np.random.default_rng(seed).permutation(len(table))
    # Some of the drawn ones are test molecules, which are told by their SMILES after reading.
    drawn = table.iloc[order[: sum(counts) + len(without)]]
    smiles = drawn["smiles"].tolist()
    values = drawn["qed"].to_numpy() if name == "qed" else oracle_of(name)(smiles)
    graphs = labeled(smiles, values, features)
    rest = np.array([i for i, text in enumerate(graphs.smiles) if text not in without])
    train, both = counts[0], sum(counts)
    return graphs[rest[:train]], graphs[rest[train:both]]


def labeled(smiles: list[str], values: npt.NDArray[Any], features: str) -> PackedGraphs:
    """Molecules with float labels; one process reads them, since jobs run side by side."""
    known = np.flatnonzero(np.isfinite(values))
    found = from_smiles(
        [smiles[i] for i in known],
        values[known].astype(np.float32),
        features=features,
        workers=1,
    )
    return found.graphs


def model_of(job: MoleculeJob) -> SubgraphRecognizer:
    """The untrained model of a job."""
    model = SubgraphRecognizer(
        job.encoder,
        job.module,
        task="regression",
        preset=job.preset,
        features=job.features,
        epochs=job.epochs,
        seed=job.seed,
        **job.options,
    )
    if job.connectivity is not None and "connectivity" in model.settings().bottleneck:
        model.options |= {"connectivity": job.connectivity}
    return model


def with_labeled_fragments(job: MoleculeJob, parts: DividedMolecules) -> DividedMolecules:
    """Training and validation molecules with random fragments, where the job asks for them.

    The oracle labels parts of training and validation molecules only.
    """
    if not job.fragments:
        return parts
    more = partial(
        with_fragments,
        label=oracle_of(job.property),
        per_molecule=job.fragments,
        shares=job.fragment_shares,
        whole=job.whole,
    )
    train, val = more(parts.train, seed=job.seed), more(parts.val, seed=job.seed + 1)
    return replace(parts, train=train, val=val)


@dataclass(frozen=True, eq=False)
class FittedRow:
    """A model that was trained on the molecules, with its seconds."""

    parts: DividedMolecules
    model: SubgraphRecognizer
    seconds: dict[str, float]

    def prediction_error(self) -> dict[str, float]:
        """The mean absolute error on the judged molecules, and that of the training mean."""
        wanted = self.parts.test.labels
        error = torch.from_numpy(self.model.predict(self.parts.test)) - wanted
        constant = self.parts.train.labels.mean() - wanted
        return {
            "test_error": float(error.abs().mean()),
            "constant_error": float(constant.abs().mean()),
        }

    def finished(self, result: dict[str, Any], begun: float) -> Finished:
        """The end of a job that has judged the model since it was ``begun`` to do so."""
        whole = self.seconds["job"] + perf_counter() - begun
        return Finished(result, self.seconds | {"job": round(whole, 3)})


def trained(
    job: MoleculeJob,
    parts: DividedMolecules,
    on_step: Callable[[dict[str, Tensor]], None] | None = None,
) -> FittedRow:
    """The model of a job, trained on the molecules and the fragments that the job asks for."""
    parts = with_labeled_fragments(job, parts)
    clock = Clock()
    model = model_of(job).fit(parts.train, val=parts.val, on_step=on_step)
    clock.stop_training()
    return FittedRow(parts, model, clock.seconds(model.history_.curve("seconds")))
