"""Does the jobs: each kind of model learns from the same molecules and predicts the same others."""

import subprocess
from os import times
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from vgib.chem.contributions import circular_counts
from vgib.chem.properties import descriptors
from vgib.chem.standardize import Standard
from vgib.data.loading import load_graphs, split_graphs
from vgib.data.molecules import Molecules
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Split
from vgib.errors import InputError
from vgib.experiments.adme.job import AdmeJob
from vgib.experiments.engine.finished import Finished
from vgib.metrics import mean_absolute_error, r_squared
from vgib.model.forest import FEATURES
from vgib.model.recognizer import SubgraphRecognizer

Values = npt.NDArray[np.float64]
Told = tuple[Values, dict[str, Any]]
"""What each member predicts of the test molecules, ``float [members, molecules]``, and whatever
else is worth a line of the record."""

DATA = "adme/biogen"
CHEMPROP = Path(".venv-chemprop") / "bin" / "chemprop"
SMALL = 0.7
"""A part of at most this share of the atoms says something."""


def run(job: AdmeJob, **places: Unpack[Places]) -> Finished:
    """Trains on the molecules of the job and judges what is predicted of held-out ones."""
    loaded = load_graphs(DATA, target=job.target, standard=Standard.named("usual"), **places)
    assert isinstance(loaded, Molecules)
    return judge(job, loaded.graphs)


def judge(job: AdmeJob, graphs: PackedGraphs) -> Finished:
    begun, processor = perf_counter(), sum(times()[:4])
    parts = split_graphs(graphs, job.split, seed=job.seed)
    learn = {"vgib": _vgib, "forest": _forest, "chemprop": _chemprop}[job.kind]
    told, more = learn(job, graphs, parts)
    seconds = {"job": perf_counter() - begun, "cpu": sum(times()[:4]) - processor}
    measured, predicted = _labels(graphs)[parts.test], told.mean(0)
    result: dict[str, Any] = {"train": len(parts.train), "test": len(parts.test)}
    result["r_squared"] = r_squared(predicted, measured).value
    result["r_squared_first"] = r_squared(told[0], measured).value
    result["mean_absolute_error"] = mean_absolute_error(predicted, measured).value
    result |= more
    result["measured"] = measured.round(4).tolist()
    result["predicted"] = predicted.round(4).tolist()
    return Finished(result, {name: round(value, 3) for name, value in seconds.items()})


def _labels(graphs: PackedGraphs) -> Values:
    return graphs.labels.numpy().astype(np.float64).ravel()


def _vgib(job: AdmeJob, graphs: PackedGraphs, parts: Split) -> Told:
    """What ``vgib train`` does by default, and what it recognizes in the test molecules."""
    train, val = graphs[parts.train], graphs[parts.val]
    untrained = SubgraphRecognizer(standard="usual", seed=job.seed).copies(job.members)
    model = SubgraphRecognizer.together([one.fit(train, val=val) for one in untrained])
    model.calibrate(graphs[parts.val])
    test = graphs[parts.test]
    told = np.stack([one.predict(test).ravel() for one in model.members()]).astype(np.float64)
    found = model.recognize(test)
    kept = np.array([one.subgraphs[0].keep_ratio if one.subgraphs else 1.0 for one in found])
    suffices = np.array([one.why_none is None for one in found])
    return told, {
        "kept_share": float(kept.mean()),
        "small_part_share": float((kept <= SMALL).mean()),
        "sufficient_share": float((suffices & (kept <= SMALL)).mean()),
    }


def _forest(job: AdmeJob, graphs: PackedGraphs, parts: Split) -> Told:
    """A forest on counted circular substructures and RDKit's descriptors.

    It has nothing to validate, so that it learns from the validation molecules too.
    """
    smiles = graphs.smiles
    table = np.hstack([np.stack([circular_counts(text) for text in smiles]), descriptors(smiles)])
    learned = np.concatenate([parts.train, parts.val])
    forest = RandomForestRegressor(job.trees, max_features=FEATURES, random_state=job.seed)
    forest.fit(table[learned], _labels(graphs)[learned])
    return np.asarray(forest.predict(table[parts.test]), dtype=np.float64)[None], {}


def _chemprop(job: AdmeJob, graphs: PackedGraphs, parts: Split) -> Told:
    """Chemprop with its own defaults, by its own command, in an environment of its own.

    Heid et al., "Chemprop: a machine learning package for chemical property prediction", J. Chem.
    Inf. Model. 2024.

    Raises:
        InputError: it is not installed, or it fails.
    """
    command = str(CHEMPROP.resolve()) if CHEMPROP.is_file() else which("chemprop")
    if command is None:
        raise InputError(
            "chemprop is not installed; `make chemprop` sets it up in .venv-chemprop, where it is "
            "found when `vgib run` is called from the same folder"
        )
    table = pd.DataFrame({"smiles": graphs.smiles, "value": _labels(graphs), "part": ""})
    for name in ("train", "val", "test"):
        table.loc[getattr(parts, name), "part"] = name
    with TemporaryDirectory() as folder:
        place = Path(folder)
        table.to_csv(place / "molecules.csv", index=False)
        options = {
            "data-path": place / "molecules.csv",
            "smiles-columns": "smiles",
            "target-columns": "value",
            "splits-column": "part",
            "output-dir": place / "out",
            "epochs": job.epochs,
            "ensemble-size": job.members,
            "pytorch-seed": job.seed,
            "data-seed": job.seed,
            "accelerator": "cpu",
            "num-workers": 0,
        }
        given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        done = subprocess.run([command, "train", *given], capture_output=True, text=True, cwd=place)
        files = sorted((place / "out").rglob("test_predictions.csv"))
        if done.returncode or len(files) != job.members:
            raise InputError(f"chemprop failed: {(done.stderr or done.stdout)[-500:]}")
        told = [pd.read_csv(file) for file in files]
    ask = "from importlib.metadata import version; print(version('chemprop'))"
    asked = [str(Path(command).with_name("python")), "-c", ask]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    wanted = table["smiles"].to_numpy()[parts.test]
    assert all((one["smiles"].to_numpy() == wanted).all() for one in told)
    return np.stack([one["value"].to_numpy(np.float64) for one in told]), {"chemprop": version}
