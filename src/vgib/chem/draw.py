"""A molecule with its atom scores as a band of color and the chosen subgraph in an outline."""

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, overload
from xml.sax.saxutils import escape

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdCoordGen, rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from vgib.chem.mol import Ends, Mol, as_mol, bonds_of
from vgib.chem.shapes import Color, Disc, Place, Shape, Strip, Words, paint, to_svg
from vgib.errors import InputError, unknown_name

# From pale sand through orange to brick: lightness falls all the way, so that the order survives
# every kind of color blindness and a gray printer, and lines stay readable on all of it.
RAMP: tuple[Color, ...] = (
    (0.973, 0.961, 0.925),
    (0.992, 0.890, 0.710),
    (0.988, 0.765, 0.490),
    (0.957, 0.640, 0.400),
    (0.929, 0.510, 0.400),
)
# Blue lowers, orange raises, white does nothing: told apart with every kind of color blindness.
SIGNED: tuple[Color, ...] = (
    (0.451, 0.678, 0.878),
    (0.725, 0.847, 0.945),
    (1.0, 1.0, 1.0),
    (0.996, 0.835, 0.667),
    (0.965, 0.620, 0.337),
)
OUTLINE: Color = (0.09, 0.16, 0.30)
DIMMED: Color = (0.18, 0.19, 0.22)
PLAIN: Color = (0.10, 0.10, 0.12)
WHITE: Color = (1.0, 1.0, 1.0)

LEGEND_HEIGHT = 34
BOND_PIXELS = 38
"""The length of a bond where there is room for it."""

BAND = 0.31
"""Half the width of the color band, in bond lengths."""

OUTLINE_WIDTH = 0.075
"""In bond lengths; never less than 2 pixels."""

CROWDED = 0.6
"""Atoms nearer than this, in bond lengths, are worth a second attempt at the layout."""

LETTER = 6.5
"""The usual width of a letter of the legend."""

STEPS = 6
"""Colors between two atoms: enough that the color runs smoothly from atom to atom."""


def color_of(score: float, ramp: Sequence[Color] = RAMP) -> Color:
    """The color of a score in [0, 1]."""
    place = min(max(score, 0.0), 1.0) * (len(ramp) - 1)
    low = min(int(place), len(ramp) - 2)
    return _blend(ramp[low], ramp[low + 1], place - low)


def signed_color_of(effect: float, largest: float) -> Color:
    """The color of an effect; white for none, the ends for plus and minus the largest one."""
    return color_of(0.5 + 0.5 * effect / largest if largest else 0.5, SIGNED)


@overload
def draw(
    mol_or_smiles: Mol | str,
    scores: Sequence[float] | None = None,
    selected: Iterable[int] | None = None,
    *,
    effects: Sequence[float] | None = None,
    unit: str = "",
    size: tuple[int, int] = (420, 320),
    legend: bool = True,
    transparent: bool = False,
    title: str | None = None,
    format: Literal["svg"] = "svg",
) -> str: ...
@overload
def draw(
    mol_or_smiles: Mol | str,
    scores: Sequence[float] | None = None,
    selected: Iterable[int] | None = None,
    *,
    effects: Sequence[float] | None = None,
    unit: str = "",
    size: tuple[int, int] = (420, 320),
    legend: bool = True,
    transparent: bool = False,
    title: str | None = None,
    format: Literal["png"],
) -> bytes: ...
def draw(
    mol_or_smiles: Mol | str,
    scores: Sequence[float] | None = None,
    selected: Iterable[int] | None = None,
    *,
    effects: Sequence[float] | None = None,
    unit: str = "",
    size: tuple[int, int] = (420, 320),
    legend: bool = True,
    transparent: bool = False,
    title: str | None = None,
    format: Literal["svg", "png"] = "svg",
) -> str | bytes:
    """A picture, as SVG text or PNG bytes.

    Color tells the score, or the effect: blue lowers the prediction, orange raises it, white does
    nothing; the chosen atoms are told by an outline and by full-strength lines, so
    that neither depends on the other. The SVG has no ids, so that many fit into one page.

    Args:
        scores: one number in [0, 1] for each atom.
        selected: the chosen atoms.
        effects: by how much each atom raises the prediction, in the place of scores.
        unit: of the effects, for the legend.
        size: width and height in pixels, the legend included.
        transparent: no white background.
        title: the text for those who cannot see the picture; by default the SMILES and the choice.
    """
    mol = as_mol(mol_or_smiles)
    chosen = None if selected is None else sorted({int(atom) for atom in selected})
    _check(mol, scores if effects is None else effects, chosen, size, format)
    scale = None if scores is None else Scale.of_scores(scores)
    scale = scale if effects is None else Scale.of_effects(effects, unit)
    with rdBase.BlockLogs():
        picture = _Picture(laid_out(mol), size, legend and (scale is not None or bool(chosen)))
        drawn = picture.draw(scale, chosen, transparent, format)
    if isinstance(drawn, bytes):
        return drawn
    return _titled(drawn, title or _describe(mol, chosen))


@dataclass(frozen=True)
class Scale:
    """The color of each atom, and what the colors mean."""

    fills: list[Color]
    ramp: tuple[Color, ...]
    low: str
    high: str

    @classmethod
    def of_scores(cls, scores: Sequence[float]) -> "Scale":
        """Scores in [0, 1]."""
        return cls([color_of(score) for score in scores], RAMP, "score  0", "1")

    @classmethod
    def of_effects(cls, effects: Sequence[float], unit: str) -> "Scale":
        """Signed effects, on a scale whose middle is zero."""
        largest = max(map(abs, effects), default=0.0)
        fills = [signed_color_of(effect, largest) for effect in effects]
        return cls(fills, SIGNED, f"lowers -{largest:.2g}", f"+{largest:.2g} {unit}".rstrip())


def _check(
    mol: Mol,
    scores: Sequence[float] | None,
    chosen: list[int] | None,
    size: tuple[int, int],
    format: str,
) -> None:
    atoms = mol.GetNumAtoms()
    if format not in ("svg", "png"):
        raise unknown_name("picture format", format, ("svg", "png"))
    if scores is not None and len(scores) != atoms:
        raise InputError(f"{len(scores)} numbers for {atoms} atoms; give one for each atom")
    if scores is not None and not all(math.isfinite(score) for score in scores):
        raise InputError("a score or an effect is not finite; expected numbers")
    if chosen and (chosen[0] < 0 or chosen[-1] >= atoms):
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise InputError(f"there is no atom {wrong}; the molecule has atoms 0 to {atoms - 1}")
    if min(size) < 80:
        raise InputError(f"size is {size}; expected at least 80 by 80 pixels")


def laid_out(mol: Mol) -> Mol:
    """A copy with places in the plane, kekulized where that is possible: ready to be drawn."""
    flat = Chem.Mol(mol)
    rdDepictor.Compute2DCoords(flat, useRingTemplates=True)
    if _crowding(flat) < CROWDED:
        other = Chem.Mol(mol)
        rdCoordGen.AddCoords(other)
        flat = max(flat, other, key=_crowding)
    rdDepictor.StraightenDepiction(flat)
    for kekulize in (True, False):
        try:
            return rdMolDraw2D.PrepareMolForDrawing(flat, kekulize=kekulize, addChiralHs=False)
        except Chem.MolSanitizeException:
            continue
    return flat


def _crowding(flat: Mol) -> float:
    """The smallest distance of two atoms as a share of a bond's length."""
    if flat.GetNumAtoms() < 2:
        return 1.0
    places = flat.GetConformer().GetPositions()[:, :2]
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    usual = usual_length(places, bonds_of(flat)) or 1.0
    return float(gaps[np.triu_indices(len(places), 1)].min() / usual)


def usual_length(places: Sequence[Sequence[float]], bonds: Iterable[Ends]) -> float | None:
    """The median length of bonds between these places, of two in the middle the longer."""
    lengths = sorted(math.dist(places[begin], places[end]) for begin, end in bonds)
    return lengths[len(lengths) // 2] if lengths else None


def make_canvas(width: int, height: int, panel: int, format: str) -> Any:
    """A canvas in the house style; the molecule takes the upper ``panel`` pixels of it."""
    kind = rdMolDraw2D.MolDraw2DSVG if format == "svg" else rdMolDraw2D.MolDraw2DCairo
    canvas = kind(width, height, width, panel)
    options: Any = canvas.drawOptions()  # Any: the stubs mistype its fields
    options.prepareMolsBeforeDrawing = False  # laid_out did, without hydrogens at stereo centers
    options.padding = 0.09
    options.bondLineWidth = 1.7
    options.scaleHighlightBondWidth = False
    options.highlightBondWidthMultiplier = 4  # RDKit draws a quarter of it
    options.continuousHighlight = False
    options.circleAtoms = False
    options.maxFontSize = 18
    options.minFontSize = 7
    options.fixedBondLength = BOND_PIXELS
    options.useBWAtomPalette()
    return canvas


def places_on(canvas: Any, mol: Mol) -> list[Place]:
    """Where the atoms of the molecule that was drawn on a canvas are."""
    points = [canvas.GetDrawCoords(atom) for atom in range(mol.GetNumAtoms())]
    return [Place(point.x, point.y) for point in points]


def band_of(places: Sequence[Place], bonds: Iterable[Ends]) -> tuple[float, float]:
    """Half the width of the color band, and of the outline around it."""
    length = usual_length(places, bonds) or BOND_PIXELS
    radius = BAND * length
    return radius, radius + max(2.0, OUTLINE_WIDTH * length)


class _Picture:
    """One molecule on one canvas: shapes below it, the molecule itself, the legend."""

    def __init__(self, mol: Mol, size: tuple[int, int], has_legend: bool) -> None:
        self.mol = mol
        self.width, self.height = size
        self.has_legend = has_legend
        self.panel = self.height - LEGEND_HEIGHT if has_legend else self.height
        self.bonds = bonds_of(mol)

    def draw(
        self,
        scale: Scale | None,
        chosen: list[int] | None,
        transparent: bool,
        format: str,
    ) -> str | bytes:
        shapes = self._background(scale, chosen or [])
        if self.has_legend:
            shapes += _legend(self.width, self.height - LEGEND_HEIGHT / 2, scale, bool(chosen))
        canvas = make_canvas(self.width, self.height, self.panel, format)
        if not transparent:
            canvas.ClearDrawing()
        canvas.drawOptions().clearBackground = False
        if format == "png":
            paint(canvas, shapes)
        self._molecule(canvas, chosen)
        canvas.FinishDrawing()
        drawn: str | bytes = canvas.GetDrawingText()
        if isinstance(drawn, bytes):
            return drawn
        # The molecule begins with its first path; all before it is header and background.
        head, path, rest = drawn.partition("<path ")
        return f"{head}{to_svg(shapes)}\n{path}{rest}"

    def _background(self, scale: Scale | None, chosen: list[int]) -> list[Shape]:
        """The color band of all atoms, and on top of it the outlined band of the chosen ones."""
        trial = make_canvas(self.width, self.height, self.panel, "svg")
        trial.DrawMolecule(self.mol)
        places = places_on(trial, self.mol)
        radius, edge = band_of(places, self.bonds)
        fills = [WHITE] * len(places) if scale is None else scale.fills
        shapes: list[Shape] = []
        inside = set(chosen)
        if scale is not None:
            shapes += self._band(places, radius, fills, set(range(len(places))), inside)
        shapes += self._band(places, edge, [OUTLINE] * len(places), inside)
        shapes += self._band(places, radius, fills, inside)
        return shapes

    def _band(
        self,
        places: list[Place],
        radius: float,
        fills: list[Color],
        members: set[int],
        without: Set[int] = frozenset(),
    ) -> list[Shape]:
        """A disc on each member and a strip along each bond between two of them.

        What lies wholly in ``without`` is left out, since it is painted over.
        """
        shapes: list[Shape] = [
            Disc(places[atom], radius, fills[atom]) for atom in sorted(members - without)
        ]
        for ends in self.bonds:
            if members.issuperset(ends) and not without >= set(ends):
                begin, end = ends
                shapes += _strips(places[begin], places[end], radius, fills[begin], fills[end])
        return shapes

    def _molecule(self, canvas: Any, chosen: list[int] | None) -> None:
        canvas.SetLineWidth(1.7)
        inside = set(chosen or range(self.mol.GetNumAtoms()))
        atoms = {a: PLAIN if a in inside else DIMMED for a in range(self.mol.GetNumAtoms())}
        bonds = {
            number: PLAIN if inside.issuperset(ends) else DIMMED
            for number, ends in enumerate(self.bonds)
        }
        canvas.DrawMolecule(
            self.mol,
            highlightAtoms=list(atoms),
            highlightAtomColors=atoms,
            highlightBonds=list(bonds),
            highlightBondColors=bonds,
        )


def _strips(begin: Place, end: Place, radius: float, first: Color, last: Color) -> list[Strip]:
    """The band along a bond, whose color changes between the discs of its two atoms."""
    if first == last:
        return [Strip(begin, end, 2 * radius, first)]
    # Each piece reaches to the far end and the next one covers it, so that no seam can show.
    shares = [0.0, *(0.2 + 0.6 * step / STEPS for step in range(STEPS + 1))]
    starts = [
        Place(begin.x + (end.x - begin.x) * share, begin.y + (end.y - begin.y) * share)
        for share in shares
    ]
    return [
        Strip(start, end, 2 * radius, _blend(first, last, min(max(step - 0.5, 0) / STEPS, 1.0)))
        for step, start in enumerate(starts[:-1])
    ] + [Strip(starts[-1], end, 2 * radius, last)]


def _blend(first: Color, last: Color, share: float) -> Color:
    red, green, blue = (a + (b - a) * share for a, b in zip(first, last, strict=True))
    return red, green, blue


def _legend(canvas: float, middle: float, scale: Scale | None, has_choice: bool) -> list[Shape]:
    """The scale and, where there is room for it, what the outline is."""
    shapes: list[Shape] = []
    left = 14.0
    if scale is not None:
        start, pieces, width = left + LETTER * len(scale.low) + 4, 24, 4
        shapes.append(Words(Place(left, middle), scale.low, PLAIN))
        shapes.append(
            Strip(Place(start - 1, middle), Place(start + pieces * width + 1, middle), 14, DIMMED)
        )
        for piece in range(pieces):
            low, high = start + piece * width, start + (piece + 1) * width
            color = color_of((piece + 0.5) / pieces, scale.ramp)
            shapes.append(Strip(Place(low, middle), Place(high, middle), 12, color))
        left = start + pieces * width
        shapes.append(Words(Place(left + 7, middle), scale.high, PLAIN))
        left += 20 + (LETTER + 0.5) * max(2, len(scale.high))
    told = "outlined: chosen atoms"
    if has_choice and left + 25 + LETTER * len(told) <= canvas:
        shapes.append(Disc(Place(left + 8, middle), 8, OUTLINE))
        shapes.append(Disc(Place(left + 8, middle), 5.5, WHITE))
        shapes.append(Words(Place(left + 25, middle), told, PLAIN))
    return shapes


def _describe(mol: Mol, chosen: list[int] | None) -> str:
    about = f"Molecule {Chem.MolToSmiles(mol)}"
    if chosen is None:
        return about
    return f"{about}; {len(chosen)} of {mol.GetNumAtoms()} atoms chosen"


def _titled(svg: str, title: str) -> str:
    """The SVG without its XML declaration, which HTML refuses, and with a text to read out."""
    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    return f"{head} role='img'>\n<title>{escape(title)}</title>{rest}"
