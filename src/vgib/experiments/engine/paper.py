"""The numbers of the paper, as data."""

import json
from functools import reduce
from importlib.resources import files
from typing import Any


def numbers(table: str) -> dict[str, Any]:
    """The values of a table of the paper, nested as the table is; empty for one it has not."""
    text = files("vgib.experiments.engine").joinpath("paper.json").read_text(encoding="utf-8")
    values: dict[str, Any] = json.loads(text).get(table, {}).get("values", {})
    return values


def value(table: dict[str, Any], *path: str) -> tuple[float, float] | None:
    """Mean and spread at a place of a table; ``None`` where the paper has no number.

    >>> value(numbers("table4"), "sum", "gcn", "vgib", "MUTAG")
    (0.79, 0.09)
    """
    found: Any = reduce(lambda at, name: at.get(name, {}), path, table)
    return (float(found[0]), float(found[1])) if found else None
