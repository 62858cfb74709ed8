"""Every label can be read: its color against everything that it may stand on (WCAG: 4.5 to 1)."""

import re
from importlib.resources import files

import pytest

from vgib.chem import draw
from vgib.page import html, recognized

ENOUGH = 4.5
SITE = (files("vgib.serve") / "page" / "style.css").read_text(encoding="utf-8")


def luminance(color: tuple[float, ...]) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def rgb(text: str) -> tuple[float, ...]:
    digits = text.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    return tuple(int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))


def test_the_measure_is_that_of_the_guidelines() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast(rgb("#767676"), rgb("#fff")) == pytest.approx(4.54, abs=0.01)


def shades(ramp: tuple[draw.Color, ...]) -> list[draw.Color]:
    return [draw.color_of(step / 40, ramp) for step in range(41)]


@pytest.mark.parametrize("ramp", [draw.RAMP, draw.SIGNED], ids=["scores", "effects"])
@pytest.mark.parametrize("label", [draw.PLAIN, draw.DIMMED], ids=["chosen", "other"])
def test_atoms_are_readable_on_every_color_of_a_picture(
    ramp: tuple[draw.Color, ...], label: draw.Color
) -> None:
    assert min(contrast(label, shade) for shade in shades(ramp)) >= ENOUGH


@pytest.mark.parametrize("kind", ["in", "out"])
@pytest.mark.parametrize("ramp", [draw.RAMP, draw.SIGNED], ids=["scores", "effects"])
def test_atoms_are_readable_in_the_gallery(kind: str, ramp: tuple[draw.Color, ...]) -> None:
    (color,) = re.findall(rf"\.{kind} text, \.{kind} polygon {{ fill: (#\w+)", recognized.STYLE)
    assert min(contrast(rgb(color), shade) for shade in shades(ramp)) >= ENOUGH


def themes(style: str) -> list[dict[str, str]]:
    """The named colors of each theme, the dark one with what it takes from the light one."""
    named = re.compile(r"--([\w-]+): *(#[0-9a-fA-F]{3,6})")
    blocks = [dict(named.findall(block)) for block in style.split("}")]
    light, *others = [block for block in blocks if "ink" in block or "soft" in block]
    return [light, *(light | other for other in others)]


@pytest.mark.parametrize("style", [SITE, html.STYLE], ids=["site", "report"])
def test_text_is_readable_in_every_theme(style: str) -> None:
    found = themes(style)
    assert len(found) >= 2
    for theme in found:
        grounds = [theme[name] for name in ("paper", "card") if name in theme]
        assert grounds
        for name in ("ink", "soft", "main", "bad"):
            for ground in grounds:
                if name in theme:
                    assert contrast(rgb(theme[name]), rgb(ground)) >= ENOUGH, (name, ground, theme)
