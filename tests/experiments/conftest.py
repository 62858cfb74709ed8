"""Small graphs and molecules that a job of seconds can learn, and invented results of Table 1."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vgib.chem.properties import qed
from vgib.data.molecules import from_smiles, load_drugs
from vgib.experiments.table1.molecules import DividedMolecules

NAME = "TU:Toy"
GRAPHS = 24


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror folder with one TU zip: paths (0) and cycles (1) of 4 to 7 nodes."""
    folder = tmp_path_factory.mktemp("toy")
    edges, indicator, labels, first = [], [], [], 1
    for number in range(GRAPHS):
        size, is_cycle = 4 + number % 4, number % 2
        links = [(node, node + 1) for node in range(size - 1)] + [(size - 1, 0)] * is_cycle
        edges += [f"{first + a}, {first + b}\n{first + b}, {first + a}" for a, b in links]
        indicator += [str(number + 1)] * size
        labels.append(str(is_cycle))
        first += size
    path = folder / "tu" / "Toy.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for part, lines in (("A", edges), ("graph_indicator", indicator), ("graph_labels", labels)):
            archive.writestr(f"Toy/Toy_{part}.txt", "\n".join(lines) + "\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{digest}  tu/Toy.zip\n")
    return folder


@pytest.fixture(scope="session")
def drugs() -> DividedMolecules:
    """The embedded drugs with their QED: most to train on, some to validate, eight to judge."""
    smiles = [text for text in load_drugs()["smiles"] if 10 <= len(text) <= 50]
    graphs = from_smiles(smiles, qed(smiles), features="element", workers=1).graphs
    return DividedMolecules(graphs[:100], graphs[100:112], graphs[112:120])


MOLECULES = 40
RANDOM, BEST = 300, 200
"""Thousandths: what chance has, and what can be reached."""


def _result(own: int, noise: int = 5) -> dict[str, Any]:
    """An invented result: each molecule near one number, controls the same for all."""
    rng = np.random.default_rng(own)
    each = (own + rng.integers(-noise, noise + 1, MOLECULES)).tolist()
    part = {
        "divergence": own / 1000,
        "spread": 0.1,
        "kept_share": 0.5,
        "valid_share": 1.0,
        "not_judged": 0,
        "random": RANDOM / 1000,
        "best": BEST / 1000,
        "difference_spread": 0.1,
        "each": each,
        "each_random": [RANDOM] * MOLECULES,
        "each_best": [BEST] * MOLECULES,
    }
    more = {
        "connected_share": 0.1,
        "random_atoms": 0.46,
        "random_atoms_kept": 0.2,
        "random_connected": 0.31,
        "each_connected": [310] * MOLECULES,
    }
    return {
        "test_error": 0.1,
        "paper": part | more,
        "ring_intact": part,
        "half": part,
        "over_sizes": {name: part[name] for name in ("each", "each_random", "each_best")},
        "curve": [{"keep": keep} | part for keep in (0.3, 0.5, 0.7)],
        "random_connected": [{"divergence": 0.29, "kept_share": keep} for keep in (0.3, 0.5, 0.7)],
    }


@pytest.fixture
def invented() -> Callable[[int], dict[str, Any]]:
    """Gives a result whose divergence is near so many thousandths."""
    return _result
