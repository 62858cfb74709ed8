"""An error is a sentence: what came, what was expected, what to do next."""

import pytest

from vgib.errors import (
    DownloadError,
    FileFormatError,
    InputError,
    MissingExtraError,
    NotFittedError,
    UnknownNameError,
    VgibError,
    unknown_name,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InputError, ValueError),
        (UnknownNameError, KeyError),
        (FileFormatError, ValueError),
        (DownloadError, OSError),
        (NotFittedError, RuntimeError),
    ],
)
def test_each_error_is_ours_and_a_builtin_and_reads_as_its_message(
    error: type[VgibError], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin) as caught:
        raise error("column 'smile' is missing; did you mean 'smiles'?")
    assert isinstance(caught.value, VgibError)
    assert str(caught.value) == "column 'smile' is missing; did you mean 'smiles'?"


def test_every_error_class_of_the_package_also_subclasses_a_builtin() -> None:
    for error in VgibError.__subclasses__():
        assert any(base.__module__ == "builtins" for base in error.__bases__), error


def test_an_error_without_a_message_is_empty_not_broken() -> None:
    assert str(UnknownNameError()) == ""


def test_a_missing_package_names_the_extra_to_install() -> None:
    error = MissingExtraError("ray", "ray")
    assert isinstance(error, ImportError)
    assert "'ray'" in str(error)
    assert "pip install 'vgib[ray]'" in str(error)


def test_an_unknown_name_is_answered_with_the_nearest_and_the_sorted_list() -> None:
    error = unknown_name("bottleneck", "vgibb", ["vgib", "none", "gib"])
    assert str(error) == (
        "no bottleneck named 'vgibb'; did you mean 'vgib'? Known: gib, none, vgib"
    )


def test_the_nearest_name_is_found_whatever_the_case_and_given_in_its_own_spelling() -> None:
    assert "did you mean 'PROTEINS'?" in str(unknown_name("dataset", "protein", ["PROTEINS", "DD"]))


def test_nothing_is_suggested_when_nothing_is_near() -> None:
    assert str(unknown_name("preset", "zzz", ["paper"])) == "no preset named 'zzz'; Known: paper"
