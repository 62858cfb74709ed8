"""The shipped models, trained anew at toy size."""

from pathlib import Path

import pytest

from vgib.card import Card
from vgib.data import catalog
from vgib.ensemble import members
from vgib.errors import UnknownNameError
from vgib.tasks.zoo import KINDS, Places, as_smiles, train_models

TOY = {"hidden": 4, "depth": 1, "head_hidden": 4, "epochs": 1}


def test_a_model_is_trained_once(mirror: Path, tmp_path: Path) -> None:
    said: list[str] = []
    places = Places(mirror, tmp_path / "cache")
    for _ in range(2):
        (folder,) = train_models(
            "rlm", tmp_path, places=places, say=said.append, most=40, settings=TOY
        )
    assert said[-1] == "rlm: there already"
    assert folder == tmp_path / "rlm"
    card = Card.read(folder)
    assert card.data["sources"] == ["adme/pharmabench_rat"] and card.data["molecules"] == 40
    assert card.licence.startswith("CC0")
    assert len(members(folder)) == 3


def test_mutagenicity_becomes_molecules(mirror: Path, tmp_path: Path) -> None:
    graphs = catalog.load("Mutagenicity", mirror=mirror, cache=tmp_path)
    found = [as_smiles(graphs, number) for number in range(200)]
    assert sum(smiles is None for smiles in found) < 10
    assert found[0] == "O=C(Cl)c1ccc(C(=O)Cl)cc1"


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hlm'"):
        train_models("hlmm", tmp_path, places=Places())
    assert set(KINDS) == {"qed", "hlm", "mlm", "rlm", "drd2", "mutagenicity"}
