"""The trained models that ship with the package, found by their names."""

import os
from pathlib import Path

from vgib.errors import unknown_name
from vgib.model.card import Card

SHIPPED = Path(__file__).parent / "weights"
"""One folder for each model, as :meth:`vgib.model.recognizer.SubgraphRecognizer.save` writes it."""

DEFAULT = "mutagenicity"
"""The model that is asked when none is named."""


def names() -> list[str]:
    """The names of the shipped models, sorted."""
    return sorted(path.name for path in SHIPPED.iterdir() if path.is_dir())


def find(model: str | Path) -> Path:
    """The folder of a model: an existing folder, or a shipped model by its name.

    >>> find("qed").name
    'qed'

    A text with a path separator is always a folder, whether it is there or not.

    Raises:
        UnknownNameError: a plain name that is neither a folder here nor a shipped model.
    """
    path = Path(model)
    if path.is_dir() or "/" in str(model) or os.sep in str(model):
        return path
    if path.name not in names():
        raise unknown_name("model folder or shipped model", path.name, names())
    return SHIPPED / path.name


def cards() -> dict[str, Card]:
    """What each shipped model says about itself, by name."""
    return {name: Card.read(SHIPPED / name) for name in names()}
