"""Shapes around a molecule: the same picture as SVG text and on an RDKit canvas."""

import re
from xml.etree import ElementTree

import pytest
from rdkit.Chem.Draw import rdMolDraw2D

from vgib.chem.shapes import Disc, Place, Strip, Words, as_hex, paint, to_svg

BLACK, RED = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
SHAPES = [
    Disc(Place(20, 30), 5, RED),
    Strip(Place(10, 50), Place(30, 50), 4, RED),
    Words(Place(100, 80), "low & high", BLACK),
]


def painted() -> str:
    canvas = rdMolDraw2D.MolDraw2DSVG(300, 100, -1, -1, True)
    paint(canvas, SHAPES)
    canvas.FinishDrawing()
    return str(canvas.GetDrawingText())


def test_shapes_become_elements_of_svg() -> None:
    disc, strip, words = ElementTree.fromstring(f"<svg>{to_svg(SHAPES)}</svg>")
    assert (disc.tag, disc.attrib) == (
        "circle",
        {"cx": "20.0", "cy": "30.0", "r": "5.0", "fill": "#ff0000"},
    )
    assert strip.get("d") == "M10.0 50.0L30.0 50.0" and strip.get("stroke-width") == "4.0"
    assert words.text == "low & high" and words.get("x") == "100.0"


def test_words_begin_at_their_place_on_a_canvas_too() -> None:
    places = [float(x) for x in re.findall("<text x='([^']*)'", painted())]
    assert places == sorted(places)
    assert 90 < places[0] < 105 < places[-1]


def test_discs_and_strips_cover_the_same_place_on_a_canvas() -> None:
    found = ElementTree.fromstring(painted())
    ellipse = next(one for one in found if one.tag.endswith("ellipse"))
    assert [float(ellipse.attrib[name]) for name in ("cx", "cy", "rx", "ry")] == [20, 30, 5, 5]
    path = next(one for one in found if "fill:#FF0000" in one.get("style", "") and one.get("d"))
    corners = re.findall(r"([\d.]+),([\d.]+)", path.attrib["d"])
    assert {(float(x), float(y)) for x, y in corners} == {(10, 48), (10, 52), (30, 48), (30, 52)}


def test_a_strip_without_a_length_has_no_corners_apart() -> None:
    canvas = rdMolDraw2D.MolDraw2DSVG(50, 50, -1, -1, True)
    paint(canvas, [Strip(Place(10, 10), Place(10, 10), 4, RED)])
    canvas.FinishDrawing()
    assert "nan" not in canvas.GetDrawingText()


@pytest.mark.parametrize(
    ("color", "text"), [((0, 0, 0), "#000000"), ((1, 1, 1), "#ffffff"), ((0.5, 0, 1), "#8000ff")]
)
def test_a_color_is_written_as_css_does(color: tuple[float, float, float], text: str) -> None:
    assert as_hex(color) == text
