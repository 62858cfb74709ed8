"""Why RDKit refuses a structure, in the words of a chemist."""

import re
from collections import Counter
from typing import Any

from rdkit import Chem

from vgib.chem.drugs import drug_structures, nearest_drug

UNCHECKED: Any = Chem.SmilesParserParams()  # Any: the stubs mistype its fields
"""Reads the syntax of a SMILES and nothing more."""
UNCHECKED.sanitize = False
UNCHECKED.removeHs = False

MOST_NAMED = 30
"""Atoms of a ring that a sentence names."""

_LOOKED_UP = {
    "an InChIKey": re.compile(r"[A-Z]{14}-[A-Z]{10}-[A-Z]"),
    "a CAS number": re.compile(r"\d{2,7}-\d{2}-\d"),
    "a ChEMBL number": re.compile(r"CHEMBL\d+", re.IGNORECASE),
}
"""What only a database can turn into a structure."""

_IN_NO_SMILES = re.compile(r"[^\W\d_BCNOPSFIbcnops]")
"""A letter that stands in no SMILES outside square brackets, but for those of Cl and Br."""


def why_unreadable(smiles: str, mol: Any = None) -> str:
    """The reason and what to check, for a SMILES (or a molecule) that could not be used.

    Atoms are counted from 1, in the order in which the SMILES names them.
    """
    mol = mol or Chem.MolFromSmiles(smiles, UNCHECKED)
    if mol is None:
        return _syntax(smiles)
    try:
        problems = Chem.DetectChemistryProblems(mol)
    except RuntimeError:  # RDKit's own invariant, of an atom with hundreds of hydrogens for one
        problems = ()
    if not problems:
        return "RDKit cannot make sense of this structure; draw it again and export the SMILES"
    problem = problems[0]
    if problem.GetType() == "AtomValenceException":
        return _valence(mol.GetAtomWithIdx(problem.GetAtomIdx()))
    if problem.GetType() == "AtomKekulizeException":
        return (
            f"atom {problem.GetAtomIdx() + 1} is written as aromatic but is in no ring; "
            "use a capital letter outside rings"
        )
    if problem.GetType() == "KekulizeException":
        ring = [str(index + 1) for index in problem.GetAtomIndices()]
        more = f" and {len(ring) - MOST_NAMED} more" if len(ring) > MOST_NAMED else ""
        return (
            f"the aromatic ring with atoms {', '.join(ring[:MOST_NAMED])}{more} has no valid "
            "alternation of double bonds; check for a missing [nH] or a wrong charge"
        )
    return f"the structure is impossible ({problem.Message()}); check charges and bond orders"


def _valence(atom: Any) -> str:
    bonds = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) + atom.GetNumExplicitHs()
    charge = atom.GetFormalCharge()
    charged = f" with charge {charge:+d}" if charge else ""
    return (
        f"{atom.GetSymbol()} (atom {atom.GetIdx() + 1}){charged} has {bonds:g} bonds, "
        "more than its valence allows; check bond orders and charges"
    )


def _syntax(smiles: str) -> str:
    if smiles.lower().startswith("inchi"):
        return "an InChI must begin with 'InChI='; write it as it was exported"
    if ">" in smiles:
        return "this is a reaction, not a molecule; give one molecule a line"
    for kind, pattern in _LOOKED_UP.items():
        if pattern.fullmatch(smiles):
            return (
                f"this is {kind}, which cannot be looked up offline; "
                "give the structure as a SMILES or InChI"
            )
    outside = _without_brackets(smiles)
    if _IN_NO_SMILES.search(re.sub("Cl|Br", "", outside)):
        return _name(smiles)
    if smiles.count("[") != smiles.count("]"):
        return "a square bracket is not closed or not opened; check the [ ] pairs"
    if outside.count("(") != outside.count(")"):
        opened, closed = outside.count("("), outside.count(")")
        return f"{opened} opening and {closed} closing parentheses; check the branches"
    unclosed = _unclosed_rings(outside)
    if unclosed:
        return f"ring-closure number {unclosed[0]} is not closed; each number comes in pairs"
    return "not a valid SMILES; check element symbols and brackets"


def _name(word: str) -> str:
    """What to say of a word that can only be a name, or an element without its brackets."""
    drugs = drug_structures()
    if word.lower() in drugs:
        return f"this is the name of a drug; give its structure, {drugs[word.lower()]}"
    near = nearest_drug(word)
    advice = (
        f"did you mean {near!r}?"
        if near
        else ("give the structure as a SMILES, with elements such as [Na] in square brackets")
    )
    return f"this is no SMILES, and none of the {len(drugs)} drug names; {advice}"


def _without_brackets(smiles: str) -> str:
    kept, depth = [], 0
    for letter in smiles:
        depth += letter == "["
        if not depth:
            kept.append(letter)
        depth -= letter == "]" and depth > 0
    return "".join(kept)


def _unclosed_rings(outside: str) -> list[str]:
    labels: Counter[str] = Counter()
    position = 0
    while position < len(outside):
        wide = outside[position] == "%"
        label = outside[position + 1 : position + 3] if wide else outside[position]
        if label.isdigit():
            labels[label] += 1
        position += 3 if wide else 1
    return [label for label, times in labels.items() if times % 2]
