"""One way to write a molecule: without salts, charges that protons balance, and isotope labels."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from vgib.chem.mol import Mol, whole
from vgib.errors import InputError, shortened


@dataclass(frozen=True)
class Standard:
    """What is made alike. A model must be used with the standard that it was trained with.

    Attributes:
        salts: Whether only the largest organic component stays. Bonds to alkali and other metals
            are ionic first.
        charges: Whether protons are added or removed until charges are gone, where they can be.
        isotopes: Whether isotope labels are dropped.
        tautomers: Whether RDKit's canonical tautomer is taken. Off by default: it takes a hundred
            times as long as all the rest, and may give a form that no chemist draws.
    """

    salts: bool = True
    charges: bool = True
    isotopes: bool = True
    tautomers: bool = False


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


def standardize(smiles: str, standard: Standard | None = None) -> Standardized:
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
            mol = whole(smiles)
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


def said_once(molecules: Iterable[Standardized]) -> str:
    """One sentence for many molecules: how many were changed, and how.

    >>> said_once([standardize(s) for s in ("CCO", "CC[O-]", "CC(=O)[O-].[Na+]")])
    'Standardized 2 molecules: removed charges (2), left out [Na+] (1).'
    """
    counts: dict[str, int] = {}
    changed = 0
    for molecule in molecules:
        changed += bool(molecule.done)
        for clause in molecule.done:
            counts[clause] = counts.get(clause, 0) + 1
    if not changed:
        return ""
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{clause} ({count})" for clause, count in most[:5])
    rest = f" and {len(most) - 5} other changes" if len(most) > 5 else ""
    return f"Standardized {changed} molecule{'s' * (changed > 1)}: {told}{rest}."


def _usual_drawing(mol: Mol) -> tuple[Mol, str]:
    return _normalizer().normalize(mol), "wrote functional groups in their usual form"


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
    kept = rdMolStandardize.LargestFragmentChooser(preferOrganic=True).choose(ionic)
    names = [Chem.MolToSmiles(part) for part in parts]
    names.remove(Chem.MolToSmiles(kept))
    return kept, "left out " + ", ".join(sorted(set(names)))


def _without_charges(mol: Mol) -> tuple[Mol, str]:
    return _uncharger().uncharge(mol), "removed charges"


def _canonical_tautomer(mol: Mol) -> tuple[Mol, str]:
    return _tautomers().Canonicalize(mol), "took the canonical tautomer"


@cache
def _normalizer() -> rdMolStandardize.Normalizer:
    return rdMolStandardize.Normalizer()


@cache
def _uncharger() -> rdMolStandardize.Uncharger:
    return rdMolStandardize.Uncharger()


@cache
def _tautomers() -> rdMolStandardize.TautomerEnumerator:
    enumerator = rdMolStandardize.TautomerEnumerator()
    enumerator.SetRemoveSp3Stereo(False)
    enumerator.SetRemoveBondStereo(False)
    return enumerator
