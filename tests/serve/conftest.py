"""A small service: two models trained for seconds, and a client that talks to it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.serve.support import Serving, serving

from vgib.chem.properties import qed
from vgib.data.molecules import load_drugs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.serve.api import make_app
from vgib.serve.limits import Limits
from vgib.serve.shelf import ModelShelf

DRUGS = load_drugs().head(40)["smiles"].tolist()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two saved ensembles: of values, and of classes."""
    place = tmp_path_factory.mktemp("served")
    values = qed(DRUGS)
    labels = {"values": values, "classes": (values > np.median(values)).astype(int)}
    for name, targets in labels.items():
        members = [
            SubgraphRecognizer(epochs=3, hidden=8, depth=2, seed=seed).fit(DRUGS, targets)
            for seed in range(2)
        ]
        SubgraphRecognizer.together(members).save(place / name, summary=f"a small model of {name}")
    return [place / name for name in labels]


@pytest.fixture(scope="session")
def shelf(folders: list[Path]) -> ModelShelf:
    return ModelShelf(folders, shipped=False)


@pytest.fixture(scope="session")
def limits() -> Limits:
    return Limits(body=200_000, molecules=20, rows=10_000, atoms=100)


@pytest.fixture(scope="session")
def client(shelf: ModelShelf, limits: Limits) -> Iterator[httpx.Client]:
    with (
        serving(make_app(shelf, limits)) as found,
        httpx.Client(base_url=found.url, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def address(shelf: ModelShelf) -> Iterator[Serving]:
    """Another service, with limits as they come."""
    with serving(make_app(shelf, Limits())) as found:
        yield found
