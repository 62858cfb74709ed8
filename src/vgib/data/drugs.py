"""A text where a structure is expected: the name of a shipped drug stands for its SMILES."""

from vgib.chem.drugs import drug_structures


def structure_of(text: str) -> str:
    """The SMILES of a shipped drug for its name; every other text as it is.

    >>> structure_of("Aspirin"), structure_of("CCO")
    ('CC(=O)Oc1ccccc1C(=O)O', 'CCO')
    """
    # Every name is one word of letters; asking this first spares most SMILES the look-up.
    word = text.strip()
    return drug_structures().get(word.lower(), text) if word.isalpha() else text
