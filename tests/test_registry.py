"""One table of names for each kind of part: name, class or instance in, instance out."""

import pytest

from vgib.errors import InputError, UnknownNameError
from vgib.registry import Registry, option_names, refuse_unknown_options


class Shape:
    """What the registry of these tests holds."""

    def __init__(self, size: float = 1.0) -> None:
        self.size = size


class AnyShape(Shape):
    """A part that takes whatever it is given."""

    def __init__(self, **options: float) -> None:
        super().__init__(options.get("size", 0.0))


class Ring(Shape):
    """A part that hands on what it does not know."""

    def __init__(self, *, hole: float = 0.5, **rest: float) -> None:
        super().__init__(**rest)
        self.hole = hole


@pytest.fixture
def shapes() -> Registry[Shape]:
    registry: Registry[Shape] = Registry("shape")
    registry.register("square")(Shape)
    registry.register("any")(AnyShape)
    return registry


def test_names_are_sorted_and_lead_to_their_classes(shapes: Registry[Shape]) -> None:
    assert shapes.names() == ["any", "square"]
    assert shapes.get("square") is Shape


def test_registering_returns_the_class_itself(shapes: Registry[Shape]) -> None:
    assert shapes.register("other")(Shape) is Shape


def test_a_name_a_class_and_an_instance_are_all_accepted(shapes: Registry[Shape]) -> None:
    ready = Shape(3.0)
    assert shapes.make("square", size=2.0).size == 2.0
    assert shapes.make(Shape, size=2.0).size == 2.0
    assert shapes.make(ready) is ready


def test_an_instance_takes_no_options(shapes: Registry[Shape]) -> None:
    with pytest.raises(InputError, match=r"shape Shape is built already.*got size"):
        shapes.make(Shape(), size=2.0)


def test_a_name_is_given_once(shapes: Registry[Shape]) -> None:
    with pytest.raises(InputError, match="a shape named 'square' is registered already"):
        shapes.register("square")(AnyShape)


def test_an_unknown_name_is_answered_with_the_nearest(shapes: Registry[Shape]) -> None:
    with pytest.raises(UnknownNameError, match="no shape named 'sqare'; did you mean 'square'"):
        shapes.make("sqare")


@pytest.mark.parametrize("spec", ["square", Shape])
def test_an_unknown_option_is_refused_with_the_nearest(
    shapes: Registry[Shape], spec: str | type[Shape]
) -> None:
    with pytest.raises(UnknownNameError, match=r"option of shape \w+ named 'sise'.*'size'"):
        shapes.make(spec, sise=2.0)


def test_options_that_are_handed_on_are_those_of_the_class_above() -> None:
    rings: Registry[Shape] = Registry("ring")
    rings.register("ring")(Ring)
    assert option_names(Ring) == ["hole", "size"]
    assert rings.make("ring", size=2.0).size == 2.0
    with pytest.raises(UnknownNameError, match=r"option of ring ring named 'sise'.*'size'"):
        rings.make("ring", sise=2.0)


def test_a_part_that_takes_any_option_is_left_to_judge_for_itself(
    shapes: Registry[Shape],
) -> None:
    assert shapes.make("any", color=1.0, size=4.0).size == 4.0


def test_two_registries_do_not_share_their_names(shapes: Registry[Shape]) -> None:
    other: Registry[Shape] = Registry("shape")
    assert other.names() == []


def test_options_are_checked_against_a_plain_function_too() -> None:
    def area(width: float, height: float) -> float:
        return width * height

    refuse_unknown_options("area", area, {"width": 1.0})
    with pytest.raises(UnknownNameError, match=r"no option of area named 'hight'.*'height'"):
        refuse_unknown_options("area", area, {"hight": 1.0})
