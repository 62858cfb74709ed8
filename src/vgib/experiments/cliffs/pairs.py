"""The molecules of one target with their measured activity, and the pairs that form cliffs.

MoleculeACE (van Tilborg, Alenicheva and Grisoni, "Exposing the limitations of molecular machine
learning with activity cliffs", J. Chem. Inf. Model. 2022) with its own division of the molecules;
pairs with the atoms that differ from Chen et al., "ACES-GNN", Digital Discovery 2025.
"""

import csv
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vgib.data.sources import Folder, mirror_folder
from vgib.errors import InputError, unknown_name

MOLECULES = Path("cliffs") / "moleculeace_20_targets.csv.gz"
PAIRS = Path("cliffs") / "cliff_pairs_20_targets.jsonl.gz"


@dataclass(frozen=True)
class CliffPair:
    """Two similar molecules of very different activity.

    Attributes:
        smiles: Both molecules.
        difference: How much more active the first is, in units of pKi or pEC50.
        differing: For each molecule the atoms that the other lacks, in the order of its SMILES.
        held_out: Whether each molecule is a test molecule.
    """

    smiles: tuple[str, str]
    difference: float
    differing: tuple[tuple[int, ...], tuple[int, ...]]
    held_out: tuple[bool, bool]


@dataclass(frozen=True, eq=False)
class Target:
    """The molecules of one target, and its pairs.

    Attributes:
        smiles: All molecules.
        activity: ``float [molecules]``; pKi or pEC50.
        is_test: ``bool [molecules]``, the official division.
        is_cliff: ``bool [molecules]``; whether a molecule takes part in a cliff.
        pairs: Those that differ in some atom, and touch a test molecule.
    """

    smiles: list[str]
    activity: npt.NDArray[np.float64]
    is_test: npt.NDArray[np.bool_]
    is_cliff: npt.NDArray[np.bool_]
    pairs: list[CliffPair]


def load_target(name: str, mirror: Folder = None) -> Target:
    """Reads one target from the mirror folder of datasets."""
    folder = mirror_folder(mirror)
    if folder is None or not all((folder / path).is_file() for path in (MOLECULES, PAIRS)):
        raise InputError(
            f"activity cliffs are read from a mirror folder that holds {MOLECULES} and {PAIRS}; "
            "give one by --mirror"
        )
    with gzip.open(folder / MOLECULES, "rt", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows = [row for row in lines if row["target"] == name]
    if not rows:
        raise unknown_name("target", name, {row["target"] for row in lines})
    return Target(
        smiles=[row["smiles"] for row in rows],
        activity=np.array([float(row["pactivity"]) for row in rows]),
        is_test=np.array([row["split"] == "test" for row in rows]),
        is_cliff=np.array([row["cliff_mol"] == "1" for row in rows]),
        pairs=list(_pairs(folder / PAIRS, name)),
    )


def _pairs(path: Path, target: str) -> Iterator[CliffPair]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            held_out = (row["split_i"] == "test", row["split_j"] == "test")
            differing = (tuple(row["uncommon_i"]), tuple(row["uncommon_j"]))
            if row["target"] == target and any(held_out) and any(differing):
                yield CliffPair(
                    (row["smiles_i"], row["smiles_j"]), row["diff"], differing, held_out
                )
