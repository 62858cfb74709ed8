"""Table 2 and Figure 1 from their records: seconds of training, and its terms step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from vgib.experiments.engine import paper
from vgib.experiments.engine.curves import COLORS, NAMES, new_figure, svg
from vgib.experiments.engine.jobs import DynamicsJob
from vgib.experiments.engine.recipe import Recipe
from vgib.experiments.engine.records import Record, Records
from vgib.experiments.engine.statistics import spread
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.table1.table import PUBLISHED


@dataclass(frozen=True)
class Course:
    """The trainings of one method.

    Attributes:
        version: What was trained on.
        method: The row.
        runs: How many the recipe asks for.
        records: What is recorded, by seed.
    """

    version: str
    method: str
    runs: int
    records: dict[int, Record]

    @property
    def seconds(self) -> list[float]:
        """Of the processor, for each training."""
        return [self.records[seed]["seconds"]["cpu"] for seed in sorted(self.records)]

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(np.mean(self.seconds)) if self.records else nan

    @property
    def traces(self) -> list[dict[str, Any]]:
        """The results that were followed step by step."""
        found = [self.records[seed]["result"] for seed in sorted(self.records)]
        return [result for result in found if "trace" in result]


def courses(made: Recipe, records: Records) -> list[Course]:
    """Every method of the recipe with what is recorded of it."""
    done = records.by_key()
    found: dict[tuple[str, str], dict[int, Record]] = {}
    jobs = [job for job in made.jobs() if isinstance(job, DynamicsJob)]
    for job in jobs:
        runs = found.setdefault((job.version, job.method), {})
        if (record := done.get(job.key())) is not None:
            runs[job.seed] = record
    wanted = len({job.seed for job in jobs})
    return [Course(version, method, wanted, runs) for (version, method), runs in found.items()]


def time_table(found: Sequence[Course], control: str) -> TextTable:
    """Seconds, and how many times those of the control; the paper's beside them."""
    published = paper.numbers("table2")
    base = next((c.mean for c in found if c.method == control), nan)
    rows: list[tuple[str, ...]] = []
    for course in found:
        theirs = published.get(PUBLISHED.get(course.method, ""))
        rows.append(
            (
                course.method,
                _seconds_text(course),
                f"{course.mean / base:.2f}" if course.records and base == base else "...",
                "" if theirs is None else f"{theirs:.1f}",
                "" if theirs is None else f"{theirs / published[control]:.2f}",
            )
        )
    title = "Seconds of training on the QED list, one core of a processor; the paper: one TITAN RTX"
    headers = ("method", "seconds", f"times {control}", "paper, seconds", f"times {control}")
    return TextTable(title, headers, rows)


def _seconds_text(course: Course) -> str:
    if not course.records:
        return "..."
    few = "" if len(course.records) == course.runs else f" [{len(course.records)}/{course.runs}]"
    if len(course.records) == 1:
        return f"{course.mean:.1f}{few}"
    return f"{course.mean:.1f} ± {spread(course.seconds):.1f}{few}"


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
                    NAMES[course.version],
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
    return TextTable(title, headers, rows)


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
                panel.set_title(f"{course.method}\n{NAMES[course.version]}", fontsize=9)
            if column == 0:
                panel.set_ylabel(label)
    return svg(figure)
