"""The shipped drugs by their names, read without pandas, which is slow to import."""

import csv
from functools import cache
from importlib.resources import files


@cache
def _by_name() -> dict[str, str]:
    rows = (files("vgib.data") / "drugs.csv").read_text(encoding="utf-8").splitlines()
    return {row["name"].lower(): row["smiles"] for row in csv.DictReader(rows)}


def structure_of(text: str) -> str:
    """The SMILES of a shipped drug for its name; every other text as it is.

    >>> structure_of("Aspirin"), structure_of("CCO")
    ('CC(=O)Oc1ccccc1C(=O)O', 'CCO')
    """
    # Every name is one word of letters; asking this first spares most SMILES the look-up.
    word = text.strip()
    return _by_name().get(word.lower(), text) if word.isalpha() else text
