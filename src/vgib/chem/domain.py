"""Warnings for molecules that models of drug-like molecules do not know, in plain sentences."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from rdkit import Chem

from vgib.chem.mol import Mol, as_mol
from vgib.chem.pattern import pattern
from vgib.chem.vocabulary import ELEMENT

LARGE = 70
"""Heavy atoms above which a molecule is no small molecule any more, whatever a model learned."""

RESIDUES = 4
"""Amino acids in a chain from which on a molecule is called a peptide."""

# The right of the periodic table, from boron, silicon, germanium, tellurium and astatine on.
_NONMETALS = frozenset(
    [*range(3), *range(5, 11), *range(14, 19), *range(32, 37), *range(52, 55), 85, 86]
)
_SALT_METALS = frozenset(["Li", "Na", "K", "Rb", "Cs", "Mg", "Ca", "Sr", "Ba", "Zn", "Al"])
_LEFT_OUT = re.compile(r"left out ([^;]*)", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\[\d*([A-Z][a-z]?)")
_RESIDUE = "[NX3][CX4][CX3](=O)[NX3,OX2]"
_UNBALANCED = "[+,-;!$([+]~[-]);!$([-]~[+])]"


def outside_domain(mol_or_smiles: Mol | str, largest: int = LARGE) -> list[str]:
    """Why a model of drug-like molecules may not know such a molecule; empty if nothing is odd.

    Standardize the molecule first (:func:`vgib.chem.standardize.standardize`): salts and charges
    that a proton balances are no reason for a warning. ``largest`` is the number of heavy atoms of
    the largest molecules that the model learned from.

    >>> outside_domain("CCO")
    []
    >>> outside_domain("C[Hg]C")
    ['contains a metal (Hg); the models were trained on molecules without']
    """
    mol = as_mol(mol_or_smiles)
    told = [sentence for check in _CHECKS if (sentence := check(mol))]
    return told + _size(mol, min(largest, LARGE))


def metals_left_out(note: str | None) -> str:
    """A warning where more than the metal of a salt was left out; else empty.

    Args:
        note: What was changed before use, as
            :attr:`vgib.chem.standardize.Standardized.sentence` tells it. A note of another kind
            tells what was kept.

    >>> metals_left_out("Left out [Cl-], [Pt+4].")
    'was read without its metal (Pt), as the models know molecules without'
    >>> metals_left_out("Left out [Na+]; removed charges.")
    ''
    """
    table = Chem.GetPeriodicTable()
    left_out = " ".join(_LEFT_OUT.findall(note or ""))
    symbols = set(_IN_BRACKETS.findall(left_out)) - _SALT_METALS
    metals = _listed(one for one in symbols if table.GetAtomicNumber(one) not in _NONMETALS)
    return (
        f"was read without its metal ({metals}), as the models know molecules without"
        if metals
        else ""
    )


def _metals(mol: Mol) -> str:
    metals = _listed(atom.GetSymbol() for atom in mol.GetAtoms() if _is_metal(atom))
    if not metals:
        return ""
    return f"contains a metal ({metals}); the models were trained on molecules without"


def _elements(mol: Mol) -> str:
    known = {*ELEMENT.values, "*"}
    rare = _listed(
        atom.GetSymbol()
        for atom in mol.GetAtoms()
        if atom.GetSymbol() not in known and not _is_metal(atom)
    )
    return f"contains {rare}, an element that the models do not know" if rare else ""


def _carbon(mol: Mol) -> str:
    has_carbon = any(atom.GetAtomicNum() == 6 for atom in mol.GetAtoms())
    return "" if has_carbon else "contains no carbon; the models know organic molecules"


def _radicals(mol: Mol) -> str:
    count = sum(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms())
    verb = "electron that is" if count == 1 else "electrons that are"
    return f"has {count} {verb} not paired; check for a missing hydrogen" if count else ""


def _open_ends(mol: Mol) -> str:
    count = sum(atom.GetAtomicNum() == 0 for atom in mol.GetAtoms())
    if not count:
        return ""
    points = "an attachment point" if count == 1 else f"{count} attachment points"
    return f"has {points} (*); it is a fragment or the unit of a polymer, not a molecule"


def _peptide(mol: Mol) -> str:
    count = len(mol.GetSubstructMatches(pattern(_RESIDUE)))
    if count < RESIDUES:
        return ""
    return f"is a peptide of {count} or more amino acids; the models know small molecules"


def _charge(mol: Mol) -> str:
    found = mol.GetSubstructMatches(pattern(_UNBALANCED))
    charged = _listed(mol.GetAtomWithIdx(atom).GetSymbol() for (atom,) in found)
    if not charged:
        return ""
    return f"keeps a charge (on {charged}) that no neighbor balances; the models know neutral forms"


def _size(mol: Mol, largest: int) -> list[str]:
    count = mol.GetNumHeavyAtoms()
    if count <= largest:
        return []
    return [f"has {count} heavy atoms; the model knows molecules of up to {largest}"]


def _components(mol: Mol) -> str:
    count = len(Chem.GetMolFrags(mol))
    return f"consists of {count} separate components; give one" if count > 1 else ""


def _is_metal(atom: Any) -> bool:  # RDKit ships no types
    return atom.GetAtomicNum() not in _NONMETALS


def _listed(symbols: Iterable[str]) -> str:
    return ", ".join(sorted(set(symbols)))


_CHECKS: tuple[Callable[[Mol], str], ...] = (
    _metals,
    _elements,
    _carbon,
    _radicals,
    _open_ends,
    _peptide,
    _charge,
    _components,
)
