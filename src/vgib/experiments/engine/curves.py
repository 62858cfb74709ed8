"""Pictures of numbers, drawn by matplotlib as SVG that is the same each time."""

import io
from typing import TYPE_CHECKING, Any

from vgib.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = {
    "att05": "#8c8c8c",
    "att07": "#bdbdbd",
    "gib": "#3b6ea8",
    "gsat": "#5aa469",
    "vgib-paper": "#e39a3b",
    "vgib-reference": "#b5543c",
    "vgib-paper-guided": "#7b2d8b",
    "none-guided": "#2a9d8f",
    "none-guided-no-fragments": "#9ad1c9",
    "vgib-guided": "#111111",
    "vgib-beta0-guided": "#d1495b",
    "att05-large": "#5f5f5f",
    "gib-large": "#9db7d5",
    "gsat-large": "#a8d5b1",
    "vgib-paper-large": "#f0c48a",
    "vgib-large": "#6d597a",
    "vgib-beta0-large": "#f2a1b3",
}
"""One color for a method in every figure."""

OTHER = "#444444"


def new_figure(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, Any]":
    """An empty figure with its axes, ``[rows, columns]``.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            "figures need matplotlib; install it with pip install 'vgib[plot]'"
        ) from error
    style: dict[Any, Any] = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def add_legend(figure: "Figure", axes: Any, columns: int) -> None:
    """What the lines and bars of all panels are, below them, each once."""
    drawn = {
        label: line
        for panel in axes.flat
        for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    lines, labels = list(drawn.values()), list(drawn)
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False)


def svg(figure: "Figure") -> str:
    """The figure as SVG text without date, and with ids that do not change."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.hashsalt": "vgib", "svg.fonttype": "path"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return text[text.index("<svg") :].replace("\r", "")
