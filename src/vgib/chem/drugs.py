"""The names of the drugs that are shipped, read without pandas, which is slow to import."""

import csv
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

ALIKE = 0.8
"""How like a name must be to be suggested: a slip of the hand, not another drug."""


@cache
def drug_structures() -> dict[str, str]:
    """The SMILES of each drug by its name, in small letters."""
    rows = files("vgib").joinpath("data", "drugs.csv").read_text(encoding="utf-8").splitlines()
    return {row["name"].lower(): row["smiles"] for row in csv.DictReader(rows)}


def structure_of(text: str) -> str:
    """The SMILES of a shipped drug for its name; every other text as it is.

    >>> structure_of("Aspirin"), structure_of("CCO")
    ('CC(=O)Oc1ccccc1C(=O)O', 'CCO')
    """
    # Every name is one word of letters; asking this first spares most SMILES the look-up.
    word = text.strip()
    return drug_structures().get(word.lower(), text) if word.isalpha() else text


def nearest_drug(word: str) -> str | None:
    """The name of a drug that a word is nearly.

    >>> nearest_drug("Aspirinn"), nearest_drug("melphalan")
    ('aspirin', None)
    """
    near = get_close_matches(word.lower(), drug_structures(), n=1, cutoff=ALIKE)
    return near[0] if near else None
