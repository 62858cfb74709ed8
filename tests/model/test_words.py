"""Predictions in the words of their users."""

import pytest

from vgib.model.words import Wording


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.5, "50 %"), (0.944, "94 %"), (0.987, "98.7 %"), (0.9995, "99.95 %"), (1.0, "100.00 %")],
)
def test_digits_stand_where_they_matter(share: float, told: str) -> None:
    assert Wording.of("class 1: active", [0, 1]).class_of(1, share) == f"active {told}"


def test_classes_without_a_name_keep_their_number() -> None:
    assert Wording.of("", [3, 4]).class_of(4, 0.9) == "class 4 90 %"
    assert Wording.of("class 2: red", [0, 1, 2]).name(0) == "class 0"
    named = Wording.of("", [0, 1], ["inactive", "active"])
    assert named.name(0) == "inactive" and named.name(1) == "active"


def test_values_have_their_unit() -> None:
    assert Wording.of("none, in [0, 1]", None).value(0.5) == "0.5"
    assert Wording.of("log S", None).value([0.5, 1.0]) == "0.5 1 log S"


@pytest.mark.parametrize("unit", ["", "class 1", "class 1: ", "class one: red", "active"])
def test_a_unit_that_names_no_class_leaves_the_classes_their_numbers(unit: str) -> None:
    assert [Wording.of(unit, [0, 1]).name(number) for number in (0, 1)] == ["class 0", "class 1"]
