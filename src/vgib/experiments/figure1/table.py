"""Figure 1 from its records: the terms of training step by step."""

from collections.abc import Sequence
from math import nan

import numpy as np

from vgib.experiments.engine.curves import COLORS, new_figure, svg
from vgib.experiments.engine.drawing import Drawn
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.table1.cells import SHORT
from vgib.experiments.table2.table import Course, courses


def draw(made: Recipe, records: Records) -> Drawn:
    """Figure 1, and how stable the terms are."""
    found = courses(made, records)
    tables = [stability_table(found)] if any(course.traces for course in found) else []
    return Drawn.of_tables(tables, {f"{made.name}.svg": figure(found)})


def stability_table(found: Sequence[Course]) -> TextTable:
    """Where the compression term goes below zero, and how much the terms jump at the end."""
    rows: list[tuple[str, ...]] = []
    for course in found:
        for result in course.traces:
            last = result["trace"][-len(result["trace"]) // 4 :]
            term = np.array([point["compression"] for point in last])
            rows.append(
                (
                    course.method,
                    SHORT[course.version],
                    f"{result['steps']:,}",
                    f"{result['negative_steps'] / result['steps']:.1%}",
                    f"{result['lowest_compression']:.3f}",
                    f"{term.mean():.3f} ± {term.std(ddof=1) if len(term) > 1 else nan:.3f}",
                )
            )
    title = (
        "The compression term: steps at which it is negative, its lowest value, and its last "
        "quarter. GIB's estimates a mutual information, which cannot be negative; VGIB's is a "
        "bound up to a constant, which can"
    )
    headers = ("method", "version", "steps", "negative", "lowest", "last quarter")
    return TextTable(title, headers, rows, name="terms")


def figure(found: Sequence[Course]) -> str:
    """Prediction and compression terms step by step, a column for each method."""
    followed = [course for course in found if course.traces]
    if not followed:
        return ""
    figure, axes = new_figure(2, len(followed), (3.1 * len(followed), 4.4))
    for column, course in enumerate(followed):
        trace = course.traces[0]["trace"]
        steps = [point["step"] for point in trace]
        color = COLORS.get(course.method, "#444444")
        for row, (term, label) in enumerate(
            (("prediction", "prediction loss"), ("compression", "compression term"))
        ):
            panel = axes[row, column]
            values = [point[term] for point in trace]
            panel.plot(steps, values, color=color, linewidth=0.9)
            if term == "compression":
                panel.axhline(0, color="#222222", linewidth=0.7)
                below = [min(value, 0.0) for value in values]
                if course.method == "gib":
                    panel.fill_between(steps, below, 0, color="#c62828", alpha=0.35, linewidth=0)
                panel.set_xlabel("step")
            else:
                panel.set_yscale("log")
                panel.set_title(f"{course.method}\n{SHORT[course.version]}", fontsize=9)
            if column == 0:
                panel.set_ylabel(label)
    return svg(figure)
