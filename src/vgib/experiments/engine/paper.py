"""The numbers of the paper, which lie in the folders of the experiments that repeat them."""

import json
from functools import reduce
from typing import Any

from vgib.experiments.engine import folders


def numbers(name: str) -> dict[str, Any]:
    """The paper's values of an experiment, nested as its table is; empty where it has none."""
    content = folders.text(name, "paper.json")
    values: dict[str, Any] = json.loads(content)["values"] if content else {}
    return values


def value(table: dict[str, Any], *path: str) -> tuple[float, float] | None:
    """Mean and spread at a place of a table; ``None`` where the paper has no number.

    >>> value(numbers("table4"), "sum", "gcn", "vgib", "MUTAG")
    (0.79, 0.09)
    """
    found: Any = reduce(lambda at, name: at.get(name, {}), path, table)
    return (float(found[0]), float(found[1])) if found else None
