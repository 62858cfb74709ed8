"""A small model that is trained once for all tests of bulk recognition."""

from pathlib import Path

import pytest
from tests.experiments.conftest import toy

from vgib.chem.properties import qed
from vgib.data.molecules import load_drugs
from vgib.model.recognizer import SubgraphRecognizer

__all__ = ["toy"]  # a fixture of the experiments

SMILES = load_drugs()["smiles"].head(40).tolist()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = SubgraphRecognizer(epochs=2, hidden=8, depth=2)
    trained.fit(SMILES, qed(SMILES))
    return trained.save(tmp_path_factory.mktemp("models") / "qed")


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = SubgraphRecognizer(epochs=2, hidden=8, depth=2)
    trained.fit(SMILES, [5 if "N" in text else 2 for text in SMILES])
    return trained.save(tmp_path_factory.mktemp("models") / "nitrogen")
