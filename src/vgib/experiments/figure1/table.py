"""Figure 1 from its records: the terms of training step by step."""

from collections.abc import Sequence
from math import nan

import numpy as np

from vgib.experiments.engine.curves import COLORS, OTHER, new_figure, svg
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
    return Drawn(tables, {f"{made.name}.svg": figure(found)})


def stability_table(found: Sequence[Course]) -> TextTable:
    """Where the compression term goes below zero, and how much the terms jump at the end."""
    rows = [_terms_row(course) for course in found if course.traces]
    title = (
        "The compression term: steps at which it is negative, its lowest value, and its mean ± "
        "spread over the last quarter of the steps; averaged over seeds. GIB's estimates a mutual "
        "information, which cannot be negative; VGIB's is a bound up to a constant, which can"
    )
    headers = ("method", "version", "seeds", "steps", "negative", "lowest", "last quarter")
    return TextTable(title, headers, rows, name="terms")


def _terms_row(course: Course) -> tuple[str, ...]:
    """One method in one version, averaged over its seeds."""
    last = [r["trace"][-len(r["trace"]) // 4 :] for r in course.traces]
    terms = [np.array([point["compression"] for point in points]) for points in last]
    spread = np.mean([term.std(ddof=1) if len(term) > 1 else nan for term in terms])
    negative = np.mean([r["negative_steps"] / r["steps"] for r in course.traces])
    return (
        course.method,
        SHORT[course.version],
        f"{len(course.traces)} of {course.seeds}",
        f"{np.mean([r['steps'] for r in course.traces]):,.0f}",
        f"{negative:.1%}",
        f"{min(r['lowest_compression'] for r in course.traces):.3f}",
        f"{np.mean([term.mean() for term in terms]):.3f} ± {spread:.3f}",
    )


def figure(found: Sequence[Course]) -> str:
    """Prediction and compression terms step by step, a column for each method, a line a seed."""
    followed = [course for course in found if course.traces]
    if not followed:
        return ""
    figure, axes = new_figure(2, len(followed), (3.1 * len(followed), 4.4))
    for column, course in enumerate(followed):
        color = COLORS.get(course.method, OTHER)
        for row, (term, label) in enumerate(
            (("prediction", "prediction loss"), ("compression", "compression term"))
        ):
            panel = axes[row, column]
            for result in course.traces:
                steps = [point["step"] for point in result["trace"]]
                values = [point[term] for point in result["trace"]]
                panel.plot(steps, values, color=color, linewidth=0.9, alpha=0.7)
                if term == "compression" and course.method == "gib":
                    below = [min(value, 0.0) for value in values]
                    panel.fill_between(steps, below, 0, color="#c62828", alpha=0.2, linewidth=0)
            if term == "compression":
                panel.axhline(0, color="#222222", linewidth=0.7)
                panel.set_xlabel("step")
            else:
                panel.set_yscale("log")
                panel.set_title(f"{course.method}\n{SHORT[course.version]}", fontsize=9)
            if column == 0:
                panel.set_ylabel(label)
    return svg(figure)
