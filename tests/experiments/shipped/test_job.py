"""The shipped models, trained anew at toy size."""

from functools import partial
from pathlib import Path

import pytest

from vgib.data import catalog
from vgib.errors import UnknownNameError
from vgib.experiments.shipped.job import KINDS, as_molecule, toxicophore, train_models
from vgib.model.card import Card
from vgib.model.recognizer import SubgraphRecognizer

TOY = {"hidden": 4, "depth": 1, "head_hidden": 4, "epochs": 1}


def test_a_model_is_trained_once(mirror: Path, tmp_path: Path) -> None:
    said: list[str] = []
    cache = tmp_path / "cache"
    for _ in range(2):
        (folder,) = train_models(
            "rlm", tmp_path, say=said.append, most=40, settings=TOY, mirror=mirror, cache=cache
        )
    assert said[-1] == "rlm: there already"
    assert folder == tmp_path / "rlm"
    card = Card.read(folder)
    assert card.data["sources"] == ["adme/pharmabench_rat"] and card.data["molecules"] == 40
    assert card.license.startswith("CC0")
    assert len(SubgraphRecognizer.load(folder).members()) == 3


def test_a_run_that_was_stopped_goes_on(mirror: Path, tmp_path: Path) -> None:
    options = {"most": 20, "settings": TOY, "mirror": mirror, "cache": tmp_path / "cache"}
    train = partial(train_models, "rlm", tmp_path, **options)
    (folder,) = train()
    kept = (folder / "members" / "1" / "model.safetensors").stat().st_mtime_ns
    (folder / "card.json").unlink()
    said: list[str] = []
    train(say=said.append)
    assert said == ["rlm: reading", "rlm: member 1 of 3", "rlm: judging"]
    assert (folder / "members" / "1" / "model.safetensors").stat().st_mtime_ns == kept


def test_mutagenicity_becomes_molecules_with_marked_toxicophores(
    mirror: Path, tmp_path: Path
) -> None:
    graphs = catalog.load("Mutagenicity", mirror=mirror, cache=tmp_path)
    found = [as_molecule(graphs, number) for number in range(200)]
    assert sum(molecule is None for molecule in found) < 10
    assert found[0] is not None and found[0].smiles == "O=C(Cl)c1ccc(C(=O)Cl)cc1"
    assert graphs.y is not None
    marked = 0
    for number, molecule in enumerate(found):
        if molecule is not None and molecule.smiles.count("[N+](=O)[O-]") == 1:
            atoms = toxicophore(graphs, number, molecule)
            kinds = [graphs.to_data(number).x[n, 0].item() for n in molecule.atoms]
            marked += bool(atoms.any())
            assert {kinds[i] for i in atoms.nonzero().flatten().tolist()} <= {0, 1, 3, 4}
    assert marked > 5


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hlm'"):
        train_models("hlmm", tmp_path)
    assert set(KINDS) == {"qed", "hlm", "mlm", "rlm", "drd2", "mutagenicity"}
