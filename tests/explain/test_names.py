"""Every name of a post-hoc method that a page, a table or a recipe shows can be passed."""

import csv
import re
from pathlib import Path

from vgib.experiments.engine.recipe import recipe
from vgib.explain.explainer import explainers

ROOT = Path(__file__).resolve().parents[2]


def names_in_tables() -> set[str]:
    """Every row of a table of post-hoc methods: on the page, and in the committed tables."""
    text = (ROOT / "docs" / "explanation.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([\w-]+)` \| (?:yes|no)", text, re.M))
    assert len(listed) > 10
    for name in ("table3", "figure4"):
        listed |= {row["method"] for row in rows_of(name)} - {""} - tuned()
    for row in rows_of("known_answers"):
        if "on a frozen network" in row["table"]:
            listed |= {name for name, text in row.items() if text} - {"table", "set"}
    return listed


def rows_of(experiment: str) -> list[dict[str, str]]:
    """Every row of every table of an experiment, as it is committed."""
    path = ROOT / "results" / "tables" / f"{experiment}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def tuned() -> set[str]:
    """The rows of Table 3 whose options are chosen anew for each network."""
    jobs = [job.model_dump() for job in recipe("table3").jobs()]
    return {job["method"] for job in jobs if job["tried"]}


def names_in_recipes() -> set[str]:
    """Every post-hoc method of a recipe; those with options of their own for each network apart."""
    found = set()
    for job in [*recipe("table3").jobs(), *recipe("known_answers").jobs()]:
        settings = job.model_dump()
        if settings.get("life", "posthoc") == "posthoc" and not settings.get("tried"):
            found.add(settings["method"])
    return found


def test_every_name_that_is_shown_can_be_passed_as_a_method() -> None:
    shown = names_in_tables() | names_in_recipes()
    assert {"vgib", "occlusion", "random-connected", "vgib-beta0"} <= shown
    assert sorted(shown - set(explainers.names())) == []
