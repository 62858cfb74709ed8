"""A molecule as lines and places: what a page needs to draw it, and to recolor it, by itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from rdkit import rdBase

from vgib.chem.draw import band_of, laid_out, make_canvas, places_on
from vgib.chem.mol import Mol, as_mol, bonds_of
from vgib.chem.shapes import Place

CANVAS = 1200
"""Side of the canvas in pixels, so large that most molecules have bonds of full length."""

MARGIN = 34.0
"""Pixels around the outermost atoms, for labels and outlines."""

PATH = "{http://www.w3.org/2000/svg}path"


@dataclass(frozen=True)
class Line:
    """One path of the drawing.

    Attributes:
        path: As the attribute ``d`` of SVG has it.
        is_filled: Whether it is an area (a letter, a wedge) and not a stroke.
        atoms: The atoms that it belongs to: two for a bond, one for a label or a corner.
    """

    path: str
    is_filled: bool
    atoms: tuple[int, ...]


@dataclass(frozen=True)
class Sketch:
    """A drawing without colors.

    Attributes:
        box: Left, top, width and height, as ``viewBox`` of SVG has it.
        places: One point for each atom.
        symbols: The element of each atom.
        bonds: Pairs of atoms.
        band: Half the width of the color band.
        outline: Half the width of the outline around chosen atoms.
        lines: What is drawn, in this order.
    """

    box: tuple[float, float, float, float]
    places: tuple[Place, ...]
    symbols: tuple[str, ...]
    bonds: tuple[tuple[int, int], ...]
    band: float
    outline: float
    lines: tuple[Line, ...]


def sketch(mol_or_smiles: Mol | str) -> Sketch:
    """The drawing of a molecule, with the layout and the letters of :func:`vgib.chem.draw.draw`.

    >>> drawn = sketch("CO")
    >>> drawn.symbols, drawn.bonds
    (('C', 'O'), ((0, 1),))
    """
    with rdBase.BlockLogs():
        mol = laid_out(as_mol(mol_or_smiles))
        canvas = make_canvas(CANVAS, CANVAS, CANVAS, "svg")
        canvas.drawOptions().clearBackground = False
        canvas.DrawMolecule(mol)
        canvas.FinishDrawing()
        places = places_on(canvas, mol)
        drawn = ElementTree.fromstring(canvas.GetDrawingText())
    bonds = tuple(bonds_of(mol))
    band, outline = band_of(places, bonds)
    return Sketch(
        _box(places),
        tuple(Place(round(x, 1), round(y, 1)) for x, y in places),
        tuple(atom.GetSymbol() for atom in mol.GetAtoms()),
        bonds,
        round(band, 2),
        round(outline, 2),
        tuple(_line(element, places) for element in drawn.iter(PATH)),
    )


def _box(places: Sequence[Place]) -> tuple[float, float, float, float]:
    left, top = (min(values) - MARGIN for values in zip(*places, strict=True))
    right, bottom = (max(values) + MARGIN for values in zip(*places, strict=True))
    return round(left, 1), round(top, 1), round(right - left, 1), round(bottom - top, 1)


def _line(element: ElementTree.Element, places: Sequence[Place]) -> Line:
    path = " ".join(element.get("d", "").split())
    names = element.get("class", "").split()
    atoms = tuple(int(name[5:]) for name in names if name.startswith("atom-"))
    style = element.get("style", "")
    is_filled = "fill" in element.attrib or ("fill:" in style and "fill:none" not in style)
    return Line(path, is_filled, atoms or (_corner(path, places),))


def _corner(path: str, places: Sequence[Place]) -> int:
    """The atom of a path without a name: RDKit rounds the corner where two bonds meet."""
    numbers = [float(word) for word in path.replace(",", " ").split() if word[0] in "-0123456789"]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    middle = points[len(points) // 2]
    return min(range(len(places)), key=lambda atom: math.dist(places[atom], middle))
