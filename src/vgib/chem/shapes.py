"""Discs, strips and words under and beside a molecule, as SVG text or on an RDKit canvas."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from xml.sax.saxutils import escape

from rdkit.Geometry import Point2D

Color: TypeAlias = tuple[float, float, float]


class Place(NamedTuple):
    """A point of the picture, in pixels from the upper left."""

    x: float
    y: float


class Disc(NamedTuple):
    """A filled circle."""

    center: Place
    radius: float
    color: Color


class Strip(NamedTuple):
    """A straight filled band."""

    begin: Place
    end: Place
    width: float
    color: Color


class Words(NamedTuple):
    """A line of text that starts at a place, centered on its height."""

    start: Place
    text: str
    color: Color


Shape: TypeAlias = Disc | Strip | Words
FONT_PIXELS = 12


def to_svg(shapes: Sequence[Shape]) -> str:
    """The shapes as SVG elements, without ids, so that many pictures fit into one page."""
    return "\n".join(_element(shape) for shape in shapes)


def as_hex(color: Color) -> str:
    """A color as SVG and CSS write it.

    >>> as_hex((1.0, 0.5, 0.0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)


def _element(shape: Shape) -> str:
    paint = as_hex(shape.color)
    if isinstance(shape, Disc):
        x, y = shape.center
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{shape.radius:.1f}' fill='{paint}'/>"
    if isinstance(shape, Strip):
        (x, y), (u, v) = shape.begin, shape.end
        return (
            f"<path d='M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}' "
            f"stroke='{paint}' stroke-width='{shape.width:.1f}'/>"
        )
    x, y = shape.start
    return (
        f"<text x='{x:.1f}' y='{y + FONT_PIXELS * 0.35:.1f}' font-family='sans-serif' "
        f"font-size='{FONT_PIXELS}' fill='{paint}'>{escape(shape.text)}</text>"
    )


def paint(canvas: Any, shapes: Sequence[Shape]) -> None:
    """Draws the shapes on a ``MolDraw2D`` canvas."""
    canvas.SetFillPolys(True)
    canvas.SetLineWidth(1)
    for shape in shapes:
        canvas.SetColour(shape.color)
        if isinstance(shape, Disc):
            (x, y), r = shape.center, shape.radius
            canvas.DrawEllipse(Point2D(x - r, y - r), Point2D(x + r, y + r), True)
        elif isinstance(shape, Strip):
            canvas.DrawPolygon([Point2D(*corner) for corner in _corners(shape)], True)
        else:
            canvas.SetFontSize(FONT_PIXELS)
            canvas.DrawString(shape.text, Point2D(*shape.start), _ALIGN_START, True)


_ALIGN_START = 1


def _corners(strip: Strip) -> list[tuple[float, float]]:
    (x, y), (u, v) = strip.begin, strip.end
    half = strip.width / 2 / (((u - x) ** 2 + (v - y) ** 2) ** 0.5 or 1.0)
    dx, dy = (y - v) * half, (u - x) * half
    return [(x + dx, y + dy), (u + dx, v + dy), (u - dx, v - dy), (x - dx, y - dy)]
