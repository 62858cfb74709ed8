"""The models that a service offers."""

from pathlib import Path

import pytest

from vgib.errors import InputError, UnknownNameError
from vgib.model import shipped as zoo
from vgib.select.policy import Selection
from vgib.serve.shelf import ModelShelf


def test_folders_are_offered_under_their_names(shelf: ModelShelf) -> None:
    assert shelf.names() == ["classes", "values"]
    assert shelf.default == "classes"
    assert len(shelf.get("values").members()) == 2
    assert shelf.card("values").summary == "a small model of values"


def test_an_unknown_model_is_refused_with_a_suggestion(shelf: ModelShelf) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'values'"):
        shelf.get("value")


def test_two_models_of_one_name_are_refused(folders: list[Path], tmp_path: Path) -> None:
    other = tmp_path / folders[0].name
    other.mkdir()
    with pytest.raises(InputError, match="two models are called 'values'"):
        ModelShelf([folders[0], other], shipped=False)


def test_a_shelf_without_models_is_refused() -> None:
    with pytest.raises(InputError, match="there is no model to serve"):
        ModelShelf(shipped=False)


def test_the_shipped_models_are_offered_and_mutagenicity_first() -> None:
    shelf = ModelShelf()
    assert shelf.names() == zoo.names()
    assert shelf.default == zoo.DEFAULT == "mutagenicity"


def test_the_unit_of_work_has_the_options_that_were_asked_for(shelf: ModelShelf) -> None:
    asked = Selection(0.5, n=2)
    unit = shelf.recognize("values", {"selection": asked})
    assert unit.selection == asked and unit.recognizer is shelf.get("values")
    with pytest.raises(UnknownNameError):
        shelf.recognize("nothing", {})
