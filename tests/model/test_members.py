"""Members of a model: what they share, what they must agree in, and how they are kept on disk."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import FileFormatError, InputError, NotFittedError
from vgib.model.known import Known
from vgib.model.recognizer import SubgraphRecognizer

SMILES = load_drugs()["smiles"].tolist()[:16]
VALUES = np.linspace(0, 1, len(SMILES))
TINY: dict[str, Any] = {"hidden": 4, "depth": 1, "head_hidden": 4, "epochs": 1}


def trained(seed: int = 0, y: Any = VALUES, **options: Any) -> SubgraphRecognizer:
    return SubgraphRecognizer("gcn", "none", seed=seed, **(TINY | options)).fit(SMILES, y)


def known() -> Known:
    return Known.of(from_smiles(SMILES, VALUES).graphs, structures=True)


def seeds(model: SubgraphRecognizer) -> list[int]:
    return [member.card_.training["seed"] for member in model.members()]


@pytest.fixture(scope="module")
def one() -> SubgraphRecognizer:
    return trained()


def many(one: SubgraphRecognizer, count: int) -> SubgraphRecognizer:
    """One network so many times, told apart by the seeds that their cards name."""
    models = [deepcopy(one) for _ in range(count)]
    for seed, model in enumerate(models):
        model.card_.training["seed"] = seed
    return SubgraphRecognizer.together(models)


# ---- on the disk ---------------------------------------------------------------------------------


def test_a_model_saved_over_another_leaves_nothing_of_it(
    one: SubgraphRecognizer, tmp_path: Path
) -> None:
    folder = many(one, 3).save(tmp_path / "mine")
    known().save(folder)
    refit = trained(seed=7, y=100 * VALUES + 1000)
    again = SubgraphRecognizer.load(refit.save(folder))
    assert seeds(again) == [7] and again.known_ is None
    assert np.array_equal(again.predict(SMILES), refit.predict(SMILES))


def test_fewer_members_take_the_place_of_more(one: SubgraphRecognizer, tmp_path: Path) -> None:
    many(one, 4).save(tmp_path)
    assert seeds(SubgraphRecognizer.load(many(one, 2).save(tmp_path))) == [0, 1]


def test_what_a_model_learned_from_is_saved_with_it(
    one: SubgraphRecognizer, tmp_path: Path
) -> None:
    known().save(one.save(tmp_path / "first"))
    loaded = SubgraphRecognizer.load(tmp_path / "first")
    for folder in (tmp_path / "second", tmp_path / "first"):
        again = SubgraphRecognizer.load(loaded.save(folder)).known_
        assert again is not None and again.smiles == tuple(SMILES)


def test_members_come_back_in_their_order(one: SubgraphRecognizer, tmp_path: Path) -> None:
    folder = many(one, 12).save(tmp_path)
    assert seeds(SubgraphRecognizer.load(folder)) == list(range(12))


def test_strange_files_between_the_members_are_left_alone(
    one: SubgraphRecognizer, tmp_path: Path
) -> None:
    folder = many(one, 2).save(tmp_path)
    (folder / "members" / ".DS_Store").write_text("x")
    (folder / "members" / "3").write_text("a file, no model")
    assert seeds(SubgraphRecognizer.load(folder)) == [0, 1]
    many(one, 2).save(folder)
    assert (folder / "members" / ".DS_Store").is_file()


def test_saved_members_that_do_not_go_together_are_refused(
    one: SubgraphRecognizer, tmp_path: Path
) -> None:
    folder = one.save(tmp_path)
    trained(y=np.arange(len(SMILES)) % 2).save(folder / "members" / "1")
    with pytest.raises(FileFormatError, match="must agree in 'task': it is 'regression'"):
        SubgraphRecognizer.load(folder)
    assert len(SubgraphRecognizer.load(folder, single=True).members()) == 1


# ---- together ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "y", "options"),
    [
        ("task", np.arange(len(SMILES)) % 2, {}),
        ("outputs", np.stack([VALUES, VALUES], 1), {}),
        ("features", VALUES, {"features": "element"}),
    ],
)
def test_models_of_different_things_are_not_put_together(
    one: SubgraphRecognizer, field: str, y: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"must agree in '{field}'.* for member 2"):
        SubgraphRecognizer.together([one, trained(y=y, **options)])


def test_models_of_other_classes_or_other_graphs_are_not_put_together() -> None:
    two = [trained(y=np.arange(len(SMILES)) % 2 + first) for first in (0, 3)]
    with pytest.raises(InputError, match=r"'classes': it is \[0, 1\] .* \[3, 4\]"):
        SubgraphRecognizer.together(two)
    motifs = SubgraphRecognizer("gcn", "none", **TINY).fit(generate_ba2motifs(12))
    with pytest.raises(InputError, match="must agree in 'features'"):
        SubgraphRecognizer.together([two[0], motifs])


def test_an_untrained_model_is_no_member(one: SubgraphRecognizer) -> None:
    with pytest.raises(NotFittedError, match="not trained"):
        SubgraphRecognizer.together([one, SubgraphRecognizer()])


# ---- what is remembered --------------------------------------------------------------------------


def test_training_again_forgets_what_the_former_network_said_and_knew() -> None:
    model = trained()
    before, model.known_ = model.among_drugs, known()
    model.fit(SMILES, 100 * VALUES + 1000)
    assert model.known_ is None
    assert model.among_drugs.min() > 500 > before.max()


def test_an_ensemble_says_of_drugs_what_its_members_say() -> None:
    low, high = trained(), trained(y=100 * VALUES + 1000)
    before = low.among_drugs
    both = SubgraphRecognizer.together([low, high])
    assert both.among_drugs.min() > before.max()
    assert np.array_equal(both.members()[0].among_drugs, before)


def test_predictions_from_parts_stay_within_the_bounds_too(one: SubgraphRecognizer) -> None:
    model = deepcopy(one)
    model.card_.bounds = [(0.4, 0.6)]
    with torch.no_grad():
        model.network_.target_mean.fill_(50.0)
    graphs: PackedGraphs = from_smiles(SMILES).graphs
    whole = model.answer(graphs)
    part = model.answer_part(whole, torch.arange(graphs.num_nodes) % 2 == 0)
    assert (whole.outputs == 0.6).all() and (part.outputs == 0.6).all()
