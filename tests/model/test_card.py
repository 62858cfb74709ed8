"""A saved model is weights and one page; whatever else comes is refused with a reason."""

import hashlib
import json
import os
import pickletools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from vgib.data.molecules import load_drugs
from vgib.errors import FileFormatError, InputError, UnknownNameError, UnwritableError, VgibError
from vgib.model import shipped as zoo
from vgib.model.card import (
    CARD_FILE,
    CARD_VERSION,
    WEIGHTS_FILE,
    Card,
    bottleneck_named_now,
    load_model,
    part_name,
    versions,
)
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import Selection

SMILES = load_drugs()["smiles"].tolist()[:12]
TINY: dict[str, Any] = {"hidden": 4, "depth": 1, "head_hidden": 4, "epochs": 1}


@pytest.fixture(scope="module")
def model() -> SubgraphRecognizer:
    return SubgraphRecognizer(**TINY).fit(SMILES, np.linspace(0, 1, len(SMILES)))


@pytest.fixture
def folder(model: SubgraphRecognizer, tmp_path: Path) -> Path:
    return model.save(tmp_path / "model", summary="A toy.", metrics={"r_squared": {"value": 0.1}})


def change(folder: Path, **values: Any) -> None:
    path = folder / CARD_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_loaded_model_says_what_the_saved_one_said(
    model: SubgraphRecognizer, folder: Path
) -> None:
    loaded = SubgraphRecognizer.load(str(folder))
    assert np.array_equal(loaded.predict(SMILES), model.predict(SMILES))
    assert np.array_equal(loaded.scores(SMILES), model.scores(SMILES))
    assert loaded.subgraphs(SMILES) == model.subgraphs(SMILES)
    assert loaded.card_ == model.card_
    assert loaded.settings() == model.settings(model.card_.encoder)


def test_a_loaded_model_can_be_saved_again(folder: Path, tmp_path: Path) -> None:
    copy = SubgraphRecognizer.load(folder).save(tmp_path / "copy")
    assert (copy / CARD_FILE).read_text() == (folder / CARD_FILE).read_text()
    assert (copy / WEIGHTS_FILE).read_bytes() == (folder / WEIGHTS_FILE).read_bytes()


def test_the_page_says_what_the_model_is(folder: Path) -> None:
    page = json.loads((folder / CARD_FILE).read_text())
    assert page["card_version"] == CARD_VERSION
    assert page["summary"] == "A toy." and page["metrics"] == {"r_squared": {"value": 0.1}}
    assert (page["features"], page["encoder"], page["bottleneck"]) == ("rich", "gine-skip", "vgib")
    assert page["architecture"]["hidden"] == 4 and page["training"]["epochs"] == 1
    assert page["data"]["graphs"] == len(SMILES) and len(page["data"]["sha256"]) == 64
    assert page["versions"] == versions()
    assert {"python", "torch", "rdkit", "vgib"} <= set(page["versions"])


def test_nothing_is_pickled(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [CARD_FILE, WEIGHTS_FILE]
    with safe_open(folder / WEIGHTS_FILE, framework="pt") as file:
        assert file.metadata()["format"] == "vgib-model"
    for path in folder.iterdir():
        with pytest.raises(ValueError, match=r"opcode|pickle|expected|exhausted|unknown"):
            list(pickletools.genops(path.read_bytes()))


def exchange_weights(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS_FILE)
    save_file({name: 0 * value for name, value in weights.items()}, folder / WEIGHTS_FILE)


def truncate_weights(folder: Path) -> None:
    path = folder / WEIGHTS_FILE
    path.write_bytes(path.read_bytes()[:-10])


def put_a_folder_for_weights(folder: Path) -> None:
    (folder / WEIGHTS_FILE).unlink()
    (folder / WEIGHTS_FILE).mkdir()


# What is done to the folder, and what the error must say.
DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no page": (lambda f: (f / CARD_FILE).unlink(), "not a model folder: it has no card.json"),
    "not JSON": (lambda f: (f / CARD_FILE).write_text("{oops"), "is not JSON"),
    "not text": (lambda f: (f / CARD_FILE).write_bytes(b"\xff\xfe\x00"), "is not JSON"),
    "a list": (lambda f: (f / CARD_FILE).write_text("[1]"), "save the model again"),
    "half a page": (lambda f: (f / CARD_FILE).write_text("{}"), "task: field required"),
    "newer": (lambda f: change(f, card_version=99), r"newer vgib \(card version 99"),
    "odd version": (lambda f: change(f, card_version="new"), "card_version: input should be"),
    "unknown key": (lambda f: change(f, color="red"), "color: extra inputs are not permitted"),
    "wrong value": (lambda f: change(f, task="guess"), "task: input should be 'regression'"),
    "other atoms": (lambda f: change(f, features_version=0), "version 0 of the rich atom features"),
    "names of other outputs": (
        lambda f: change(f, targets=["a", "b", "c"]),
        "size mismatch: 3 targets for 1 outputs",
    ),
    "exchanged": (exchange_weights, "the checksum differs"),
    "truncated": (truncate_weights, "the checksum differs"),
    "no weights": (lambda f: (f / WEIGHTS_FILE).unlink(), "cannot be used"),
    "a folder": (put_a_folder_for_weights, "cannot be used"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused_with_the_reason(damage: str, folder: Path) -> None:
    act, message = DAMAGES[damage]
    act(folder)
    with pytest.raises(FileFormatError, match=message) as caught:
        SubgraphRecognizer.load(folder)
    assert str(folder) in str(caught.value)


def test_weights_that_do_not_fit_the_page_are_refused(folder: Path) -> None:
    page = json.loads((folder / CARD_FILE).read_text())
    change(folder, architecture=page["architecture"] | {"hidden": 5})
    with pytest.raises(FileFormatError, match=r"(?s)cannot be used.*size mismatch"):
        SubgraphRecognizer.load(folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bottleneck": "vgibb"}, "did you mean 'vgib'"),
        ({"encoder": "gcm"}, "did you mean 'gcn'"),
        ({"features": "rick"}, "did you mean 'rich'"),
    ],
)
def test_a_name_that_this_version_does_not_know_is_answered(
    values: dict[str, str], message: str, folder: Path
) -> None:
    change(folder, **values)
    with pytest.raises(UnknownNameError, match=message):
        SubgraphRecognizer.load(folder)


def test_no_folder_or_a_file_in_its_place_is_refused(folder: Path, tmp_path: Path) -> None:
    for wrong in (tmp_path / "nowhere", folder / CARD_FILE):
        with pytest.raises(InputError, match="there is no model folder"):
            SubgraphRecognizer.load(wrong)
    with pytest.raises(VgibError, match="not a model folder"):
        load_model(tmp_path)


def test_a_place_that_cannot_be_written_is_answered(
    model: SubgraphRecognizer, folder: Path
) -> None:
    with pytest.raises(UnwritableError, match="cannot write"):
        model.save(folder / CARD_FILE)


def test_a_save_that_fails_leaves_the_old_model_or_says_so(
    model: SubgraphRecognizer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise UnwritableError("no space left on device")

    before = (folder / CARD_FILE).read_text()
    monkeypatch.setattr(Card, "write", full)
    with pytest.raises(UnwritableError):
        model.save(folder)
    assert (folder / CARD_FILE).read_text() == before
    assert not [path for path in folder.iterdir() if path.suffix == ".part"]


def test_parts_without_a_registered_name_are_called_custom() -> None:
    assert part_name("gcn") == "gcn"
    assert part_name(dict) == "custom:dict" and part_name({}) == "custom:dict"


FORMER = Path(__file__).parent / "former"
"""A model of the preset ``molecules`` that was saved when ``vgib`` was still the paper's form."""


def test_a_model_from_before_loads_and_says_what_it_said() -> None:
    said = json.loads((FORMER / "said.json").read_text(encoding="utf-8"))
    loaded = SubgraphRecognizer.load(FORMER)
    # Processors differ in the last digit.
    assert loaded.predict(SMILES).tolist() == pytest.approx(said["values"], rel=1e-5)
    assert loaded.scores(SMILES)[:13].tolist() == pytest.approx(said["first_scores"], rel=1e-5)
    assert (loaded.bottleneck, loaded.preset) == ("vgib-paper", "recommended")
    assert loaded.card_.bottleneck_options["prior"] == "population"


@pytest.mark.parametrize(
    ("options", "name", "kept"),
    [
        ({"prior": "graph", "clean": 1.0, "budget": 0.5}, "vgib-paper", {"prior", "clean"}),
        (
            {"noise": "uniform", "prior": "graph", "connectivity": 5.0, "log_term": False},
            "vgib-reference",
            {"connectivity"},
        ),
        ({"beta": 0.5}, "vgib", {"beta"}),
    ],
)
def test_the_bottleneck_of_a_card_from_before_has_its_present_name(
    options: dict[str, Any], name: str, kept: set[str]
) -> None:
    found, taken = bottleneck_named_now("vgib", options)
    assert found == name and set(taken) == kept
    assert bottleneck_named_now("gib", {"predict_from": "clean"}) == (
        "gib",
        {"predict_from": "clean"},
    )


def test_a_card_with_the_rule_of_an_earlier_commit_chooses_by_prediction(tmp_path: Path) -> None:
    told = json.loads((zoo.find("drd2") / "card.json").read_text())
    (tmp_path / "card.json").write_text(json.dumps(told | {"rule": "guided", "by": None}))
    assert Card.read(tmp_path).selection == Selection(0.5, "ring_intact", "prediction")


@pytest.mark.hostile
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"card_version": "new"}, "card_version"),
        ({"outputs": -1}, "outputs"),
        ({"in_channels": -5}, "in_channels"),
        ({"cardinalities": [-1]}, "cardinalities"),
        ({"cardinalities": [3, 3]}, "other columns than the rich atom features"),
        ({"outputs": 10**9}, "size mismatch"),
    ],
    ids=["version", "outputs", "channels", "negative", "columns", "absurd"],
)
def test_a_page_that_does_not_fit_the_weights_is_refused_without_memory(
    folder: Path, changes: dict[str, Any], told: str
) -> None:
    change(folder, **changes)
    with pytest.raises(FileFormatError, match=told):
        load_model(folder)


def test_a_column_of_codes_may_have_one_code_and_not_none(folder: Path) -> None:
    change(folder, cardinalities=[1])
    assert Card.read(folder).cardinalities == [1]
    change(folder, cardinalities=[0])
    with pytest.raises(FileFormatError, match="cardinalities"):
        Card.read(folder)


@pytest.mark.hostile
def test_absurd_sizes_deep_pages_and_pipes_are_refused_at_once(folder: Path) -> None:
    page = json.loads((folder / CARD_FILE).read_text())
    for wrong in ({"hidden": 10**7}, {"depth": 10**9}):
        change(folder, architecture=page["architecture"] | wrong)
        with pytest.raises(FileFormatError, match=r"size mismatch|asks for 1000000000 layers"):
            load_model(folder)
    (folder / CARD_FILE).write_text("[" * 200_000)
    with pytest.raises(FileFormatError, match="is not JSON"):
        load_model(folder)
    (folder / CARD_FILE).write_text(json.dumps(page))
    (folder / WEIGHTS_FILE).unlink()
    os.mkfifo(folder / WEIGHTS_FILE)
    with pytest.raises(FileFormatError, match="there is no file"):
        load_model(folder)


@pytest.mark.hostile
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(folder: Path, value: float) -> None:
    weights = load_file(folder / WEIGHTS_FILE)
    name = next(name for name, part in weights.items() if part.is_floating_point())
    weights[name].view(-1)[0] = value
    save_file(weights, folder / WEIGHTS_FILE)
    change(folder, weights_sha256=hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest())
    with pytest.raises(FileFormatError, match="no numbers"):
        load_model(folder)


@pytest.mark.hostile
@given(st.data())
def test_whatever_stands_in_a_field_of_the_page_is_taken_or_refused_in_a_sentence(
    data: st.DataObject,
) -> None:
    page = json.loads((zoo.SHIPPED / "qed" / CARD_FILE).read_text())
    inside, field = page, data.draw(st.sampled_from(sorted(page)))
    while isinstance(inside[field], dict) and inside[field] and data.draw(st.booleans()):
        inside = inside[field]
        field = data.draw(st.sampled_from(sorted(inside)))
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    inside[field] = data.draw(st.recursive(leaf, st.lists) | st.dictionaries(st.text(), leaf))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, CARD_FILE).write_text(json.dumps(page))
        try:
            Card.read(Path(folder))
        except VgibError as error:
            assert len(str(error)) < 600
