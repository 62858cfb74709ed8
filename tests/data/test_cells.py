"""What a cell says: numbers in every spelling, classes by their names."""

import pytest

from vgib.data.cells import OPPOSITES, dotted, holds_words, in_order, number
from vgib.errors import InputError


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("0.5", 0.5),
        ("0,5", 0.5),
        ("-12,25", -12.25),
        ("0,125", 0.125),
        ("1234,567", 1234.567),
        ("1,5e-3", 0.0015),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1,234,567", 1234567),
        ("1e3", 1000),
    ],
)
def test_a_number_is_read_in_every_spelling(cell: str, value: float) -> None:
    assert number(cell) == pytest.approx(value)


def test_a_number_that_can_be_read_in_two_ways_is_refused() -> None:
    with pytest.raises(InputError, match=r"'1,234' here may mean 1\.234 or 1234; write it without"):
        number("1,234", " here")


@pytest.mark.parametrize("cell", ["", "active", "1,2-diol", "<0,5", "1;5", "1,,5"])
def test_what_is_no_number_is_refused(cell: str) -> None:
    with pytest.raises(InputError, match="is not a number"):
        number(cell)


@pytest.mark.parametrize("cell", ["CCO", "1,2-diol", "1.5", "", "InChI=1S/h1-2,4H"])
def test_only_decimal_commas_become_points(cell: str) -> None:
    assert dotted(cell) == cell


def test_a_column_of_words_is_told_from_one_of_numbers() -> None:
    assert holds_words(["active", "", "inactive"])
    assert not holds_words(["0.5", "NA", "n.d.", "1,234", ">100"])
    assert not holds_words(["aspirin", "codeine", "morphine"])
    assert not holds_words([]) and not holds_words(["", "NA"])


@pytest.mark.parametrize(
    ("names", "ranked"),
    [
        (["active", "inactive"], ["inactive", "active"]),
        (["mutagenic", "not mutagenic"], ["not mutagenic", "mutagenic"]),
        (["toxic", "non-toxic"], ["non-toxic", "toxic"]),
        (["Yes", "NO"], ["NO", "Yes"]),
        (["+", "-"], ["-", "+"]),
        (["stable", "unstable"], ["unstable", "stable"]),
        (["medium", "low", "high"], ["high", "low", "medium"]),
        (["blue", "amber"], ["amber", "blue"]),
    ],
)
def test_what_is_not_comes_first(names: list[str], ranked: list[str]) -> None:
    assert in_order(names) == in_order(names[::-1]) == ranked


def test_every_opposite_comes_first() -> None:
    for word, other in OPPOSITES.items():
        assert in_order([other, word]) == [word, other]
