"""One way to write a molecule: without salts, charges that protons balance, and isotope labels."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from vgib.chem.mol import Mol, whole
from vgib.chem.salts import without_counter_ions
from vgib.errors import InputError, shortened, unknown_name
from vgib.limits import MAX_ATOMS

StandardName = Literal["none", "usual", "tautomers"]
"""``"none"``: molecules as they are written; ``"usual"``: without salts, charges and isotope
labels; ``"tautomers"``: besides, in RDKit's canonical tautomer."""

_UNUSUAL = re.compile(
    # Components and charges, isotopes, and atoms in brackets that are metals or the like.
    r"[.+]|\[\d|\[[^\]]*-|\[(?!(?:[BCNOPSFIHbcnops*]|Cl|Br|Si|Se|se|As|Te|te)[@H\]:])"
)


@dataclass(frozen=True)
class Standard:
    """What is made alike. A model must be used with the standard that it was trained with.

    Attributes:
        salts: Whether only the largest organic component that is no known counter-ion stays.
            Bonds to alkali and other metals are ionic first.
        charges: Whether protons are added or removed until charges are gone, where they can be.
        isotopes: Whether isotope labels are dropped.
        tautomers: Whether RDKit's canonical tautomer is taken. Off by default: it takes a hundred
            times as long as all the rest, and may give a form that no chemist draws.
    """

    salts: bool = True
    charges: bool = True
    isotopes: bool = True
    tautomers: bool = False

    @classmethod
    def named(cls, name: str) -> "Standard | None":
        """What a name of :data:`StandardName` stands for; ``None`` for ``"none"``.

        Raises:
            UnknownNameError: it is no such name.
        """
        if name not in get_args(StandardName):
            raise unknown_name("standard", name, get_args(StandardName))
        return None if name == "none" else cls(tautomers=name == "tautomers")

    def may_change(self, smiles: str) -> bool:
        """Whether a SMILES has anything that a step could change; most have not."""
        return self.tautomers or _UNUSUAL.search(smiles) is not None


@dataclass(frozen=True)
class Standardized:
    """A molecule in standard form.

    Attributes:
        smiles: The canonical SMILES, stereo marks included.
        done: What was changed, one clause for each step that changed something.
    """

    smiles: str
    done: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What was changed, for people; empty if nothing was."""
        told = "; ".join(self.done)
        return f"{told[0].upper()}{told[1:]}." if told else ""


def standardize(
    smiles: str, standard: Standard | None = None, *, max_atoms: int = MAX_ATOMS
) -> Standardized:
    """A SMILES in standard form, and what was done to it.

    >>> standardize("[Na+].CC(=O)Oc1ccccc1C(=O)[O-]")
    Standardized(smiles='CC(=O)Oc1ccccc1C(=O)O', done=('left out [Na+]', 'removed charges'))

    Raises:
        InputError: the SMILES cannot be read.
    """
    standard = standard or Standard()
    steps: list[tuple[bool, Callable[[Mol], tuple[Mol, str]]]] = [
        (True, _usual_drawing),
        (standard.isotopes, _without_isotopes),
        (standard.salts, _without_salts),
        (standard.charges, _without_charges),
        (standard.tautomers, _canonical_tautomer),
    ]
    with rdBase.BlockLogs():
        try:
            mol = whole(smiles, max_atoms=max_atoms)
        except InputError as error:
            raise InputError(
                f"{shortened(smiles)!r} is no SMILES that can be read: {error}"
            ) from None
        done = []
        for wanted, step in steps:
            before = Chem.MolToSmiles(mol)
            if wanted:
                mol, told = step(mol)
                if Chem.MolToSmiles(mol) != before:
                    done.append(told)
        return Standardized(str(Chem.MolToSmiles(mol)), tuple(done))


def _usual_drawing(mol: Mol) -> tuple[Mol, str]:
    usual = _sulfoxides().normalize(_normalizer().normalize(mol))
    return usual, "wrote functional groups in their usual form"


def _without_isotopes(mol: Mol) -> tuple[Mol, str]:
    plain = Chem.Mol(mol)
    for atom in plain.GetAtoms():
        atom.SetIsotope(0)
    return Chem.RemoveHs(plain), "dropped isotope labels"


def _without_salts(mol: Mol) -> tuple[Mol, str]:
    ionic = rdMolStandardize.MetalDisconnector().Disconnect(mol)
    parts = Chem.GetMolFrags(ionic, asMols=True)
    if len(parts) == 1:
        return mol, ""
    chooser = rdMolStandardize.LargestFragmentChooser(preferOrganic=True)
    kept = chooser.choose(without_counter_ions(ionic))
    names = [Chem.MolToSmiles(part) for part in parts]
    names.remove(Chem.MolToSmiles(kept))
    return kept, "left out " + ", ".join(sorted(set(names)))


def _without_charges(mol: Mol) -> tuple[Mol, str]:
    neutral = _uncharger().uncharge(mol)
    is_charged = any(atom.GetFormalCharge() for atom in mol.GetAtoms())
    if is_charged and Chem.MolFromSmiles(Chem.MolToSmiles(neutral)) is None:
        return mol, ""  # a proton on an aromatic carbon, as of a metallocene, ends its aromaticity
    return neutral, "removed charges"


def _canonical_tautomer(mol: Mol) -> tuple[Mol, str]:
    return _tautomers().Canonicalize(mol), "took the canonical tautomer"


def neutral_smiles(smiles: Sequence[str]) -> list[str]:
    """Each molecule's canonical SMILES, neutralized and without stereo marks, whatever its source.

    Acids get their protons back and ammonium loses its own; what has a charge that no proton can
    balance (quaternary nitrogen, nitro groups) keeps it.

    >>> neutral_smiles(["C[C@H]([NH3+])C(=O)[O-]", "C[N+](C)(C)C"])
    ['CC(N)C(=O)O', 'C[N+](C)(C)C']
    """
    with rdBase.BlockLogs():
        found = [_uncharger().uncharge(Chem.MolFromSmiles(text)) for text in smiles]
        for mol in found:
            Chem.RemoveStereochemistry(mol)
        return [str(Chem.MolToSmiles(mol)) for mol in found]


@cache
def _normalizer() -> rdMolStandardize.Normalizer:
    return rdMolStandardize.Normalizer()


@cache
def _sulfoxides() -> rdMolStandardize.Normalizer:
    """Writes sulfoxides with a double bond, as chemists do, where RDKit has S+ and O-."""
    drawn = "[!O:1][S+;X3;D3:2]([!O:3])[O-:4]>>[*:1][S+0:2]([*:3])=[O+0:4]"
    return rdMolStandardize.NormalizerFromData(
        f"Sulfoxide\t{drawn}\n", rdMolStandardize.CleanupParameters()
    )


@cache
def _uncharger() -> rdMolStandardize.Uncharger:
    return rdMolStandardize.Uncharger()


@cache
def _tautomers() -> rdMolStandardize.TautomerEnumerator:
    enumerator = rdMolStandardize.TautomerEnumerator()
    enumerator.SetRemoveSp3Stereo(False)
    enumerator.SetRemoveBondStereo(False)
    return enumerator
