"""Functional groups by name, and the bonds inside them that no cut may divide.

A part of a molecule that ends in half a nitro group means nothing to a chemist. The table
:data:`GROUPS` names what belongs together, and :func:`group_bonds` finds the bonds inside whole
groups in packed arrays of many molecules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from vgib.chem.mol import Mol, as_mol
from vgib.chem.pattern import pattern
from vgib.chem.vocabulary import BOND, ELEMENT


class GroupPattern(NamedTuple):
    """One row of the table of groups.

    Attributes:
        name: What a chemist calls the group.
        smarts: Which atoms belong to it.
        whole: Whether no cut may divide it. Where the nitrogen of an amide or the like is a ring
            atom, the bond to it may be cut: else the group would swallow the ring.
    """

    name: str
    smarts: str
    whole: bool = True


_Place: TypeAlias = tuple[GroupPattern, set[int]]

GROUPS = (
    # nitrogen and oxygen
    GroupPattern("nitro", "[NX3+](=O)[O-]"),
    GroupPattern("nitrate ester", "[OX2][NX3+](=O)[O-]"),
    GroupPattern("nitramine", "[N,n]-[NX3+](=O)[O-]"),
    GroupPattern("nitroso", "[NX2]=[OX1]"),
    GroupPattern("nitrosamine", "[N,n]-[NX2]=[OX1]"),
    GroupPattern("nitrite ester", "[OX2]-[NX2]=[OX1]"),
    GroupPattern("N-oxide", "[#7+;!$([#7]=[OX1])]-[OX1-]"),
    GroupPattern("oxime", "[#6X3]=[NX2]-[OX2]"),
    GroupPattern("hydroxylamine", "[#7X3]-[OX2]"),
    GroupPattern("hydroxamic acid", "[CX3](=O)[NX3;!R][OX2;!R]"),
    # nitrogen and nitrogen
    GroupPattern("azide", "[NX2]=[NX2+]=[NX1-]"),
    GroupPattern("diazo", "[CX3]=[NX2+]=[NX1-]"),
    GroupPattern("diazonium", "[NX2+]#[NX1]"),
    GroupPattern("azo", "[NX2;!R]=[NX2;!R]"),
    GroupPattern("diazo hydroxide or ether", "[NX2;!R]=[NX2;!R]-[O]"),
    GroupPattern("triazene", "[NX3;!R]-[NX2;!R]=[NX2;!R]"),
    GroupPattern("hydrazine", "[N;X3,X4;!R]-[N;X3,X4;!R]"),
    GroupPattern("hydrazine", "[NX3;R]-[NX3;D1]"),
    GroupPattern("hydrazine", "n-[NX3;D1]"),
    GroupPattern("hydrazine", "[NX3;R]-[NX3;!R;!D1]", whole=False),
    GroupPattern("hydrazone", "[#6X3]=[NX2;!R]-[NX3;!R]"),
    GroupPattern("hydrazone", "[#6X3]=[NX2;!R]-[NX3;R]", whole=False),
    GroupPattern("azine", "[#6X3]=[NX2;!R]-[NX2;!R]=[#6X3]"),
    GroupPattern("hydrazide", "[CX3](=O)[NX3;!R]-[NX3;!R]"),
    # acids of carbon and what is made of them
    GroupPattern("carboxyl", "[CX3](=O)[OX2H,OX1-]"),
    GroupPattern("ester", "[CX3](=O)[OX2H0]"),
    GroupPattern("thioacid or thioester", "[CX3](=[O,S])[SX2,SX1-]"),
    GroupPattern("thionoester", "[CX3](=S)[OX2,OX1-]"),
    GroupPattern("acyl halide", "[CX3](=[O,S])[F,Cl,Br,I]"),
    GroupPattern("carbonate", "[OX2][CX3](=O)[OX2,OX1-]"),
    GroupPattern("anhydride", "[CX3](=O)[OX2][CX3]=O"),
    GroupPattern("amide", "[CX3](=O)-[N;!R]"),
    GroupPattern("amide", "[CX3](=O)[N,n;R]", whole=False),
    GroupPattern("thioamide", "[CX3](=S)-[N;!R]"),
    GroupPattern("thioamide", "[CX3](=S)[N,n;R]", whole=False),
    GroupPattern("imide", "[CX3](=O)[NX3;!R][CX3]=O"),
    GroupPattern("carbamate", "[NX3;!R][CX3](=O)[OX2,OX1-]"),
    GroupPattern("carbamate", "[NX3;R][CX3](=O)[OX2,OX1-]", whole=False),
    GroupPattern("urea", "[NX3;!R][CX3](=O)[NX3;!R]"),
    GroupPattern("urea", "[NX3][CX3](=O)[NX3;R]", whole=False),
    GroupPattern("thiourea", "[NX3;!R][CX3](=S)[NX3;!R]"),
    # carbon and nitrogen
    GroupPattern("nitrile", "[CX2]#[NX1]"),
    GroupPattern("cyanamide", "[NX3;!R]-[CX2]#[NX1]"),
    GroupPattern("cyanate or thiocyanate", "[OX2,SX2]-[CX2]#[NX1]"),
    GroupPattern("isocyanate", "[NX2]=[CX2]=[OX1]"),
    GroupPattern("isothiocyanate", "[NX2]=[CX2]=[SX1]"),
    GroupPattern("isonitrile", "[NX2+]#[CX1-]"),
    GroupPattern("carbodiimide", "[NX2]=[CX2]=[NX2]"),
    GroupPattern("amidine", "[CX3;!R](=N)-[N;!R]"),
    GroupPattern("amidine", "[CX3](=N)[NX3;D1]"),
    GroupPattern("amidine", "[CX3;R](=N)[NX3;!D1]", whole=False),
    GroupPattern("amidine", "[CX3;!R](=N)[N,n;R]", whole=False),
    GroupPattern("guanidine", "[NX3;!R][CX3;!R](=N)[NX3;!R]"),
    GroupPattern("guanidine", "[NX3][CX3](=N)[NX3;R]", whole=False),
    GroupPattern("imidate or isothiourea", "[CX3;!R](=N)-[O,S]"),
    # carbon alone, and its halogens
    GroupPattern("alkyl halide", "[CX4;!R][F,Cl,Br,I]"),
    GroupPattern("mustard", "[N,S;!R]-[CX4;!R]-[CX4;!R]-[Cl,Br,I]"),
    GroupPattern("trihalomethyl", "[CX4]([F,Cl,Br,I])([F,Cl,Br,I])[F,Cl,Br,I]"),
    GroupPattern("tert-butyl", "[CX4H0]([CH3])([CH3])[CH3]"),
    # sulfur
    GroupPattern("sulfoxide", "[SX3;$(S(=O)),$([S+][O-])]~[OX1]"),
    GroupPattern("sulfonyl", "[SX4](=[OX1])=[OX1]"),
    GroupPattern("sulfonamide", "[SX4](=[OX1])(=[OX1,N])-[N;!R]"),
    GroupPattern("sulfonamide", "[SX4](=[OX1])(=[OX1])[N,n;R]", whole=False),
    GroupPattern("sulfinamide", "[SX3;$(S(=O)),$([S+][O-])](~[OX1])[N;!R]"),
    GroupPattern("sulfinic acid or ester", "[SX3](=[OX1])[OX2,OX1-]"),
    GroupPattern("sulfonic acid or ester", "[SX4](=[OX1])(=[OX1,N])[OX2,OX1-]"),
    GroupPattern("sulfate", "[OX2,OX1-][SX4](=[OX1])(=[OX1])[OX2,OX1-]"),
    GroupPattern("sulfonyl halide", "[SX4](=[OX1])(=[OX1])[F,Cl,Br,I]"),
    GroupPattern("disulfide", "[SX2;!R]-[SX2;!R]"),
    # phosphorus, boron, peroxide
    GroupPattern("phosphoryl", "[PX4]=[O,S]"),
    GroupPattern("phosphate or phosphonate", "[PX4](=[O,S])[O,S;X2,X1-]"),
    GroupPattern("phosphoramide", "[PX4](=[O,S,N])-[N;!R]"),
    GroupPattern("phosphoramide", "[PX4](=[O,S])[NX3;R]", whole=False),
    GroupPattern("phosphorus halide", "[P][F,Cl,Br,I]"),
    GroupPattern("phosphite", "[PX3][O,S;X2,X1-]"),
    GroupPattern("boronic acid or ester", "[BX3][OX2,OX1-]"),
    GroupPattern("peroxide", "[OX2;!R]-[OX2;!R]"),
    # small rings and reactive double bonds
    GroupPattern("epoxide", "C1OC1"),
    GroupPattern("aziridine", "C1NC1"),
    GroupPattern("aldehyde", "[CX3H1]=[OX1]"),
    GroupPattern("conjugated carbonyl", "[CX3;!R]=[CX3;!R]-[CX3;!R]=[O,S]"),
    GroupPattern("quinone", "O=C1[#6]~[#6]C(=O)[#6]~[#6]1"),
)
"""Every group that is known by name."""


@dataclass(frozen=True)
class FunctionalGroup:
    """A functional group of one molecule.

    Attributes:
        name: What a chemist calls it.
        atoms: Its atoms, ascending.
        whole: Whether no cut may divide it.
    """

    name: str
    atoms: tuple[int, ...]
    whole: bool = True


def functional_groups(mol_or_smiles: Mol | str) -> list[FunctionalGroup]:
    """The functional groups of a molecule, by their first atom.

    Groups of one name that share atoms are one, and a group inside a larger one is not told apart:
    a urea is not two amides as well.

    >>> [(group.name, group.atoms) for group in functional_groups("CC(=O)Nc1ccc([N+](=O)[O-])cc1")]
    [('amide', (1, 2, 3)), ('nitro', (8, 9, 10))]
    """
    mol = as_mol(mol_or_smiles)
    found = [
        (definition, set(match))
        for definition in GROUPS
        for match in mol.GetSubstructMatches(pattern(definition.smarts))
    ]
    places: dict[tuple[str, bool], list[set[int]]] = {}
    for definition, atoms in _outermost(found):
        places.setdefault((definition.name, definition.whole), []).append(atoms)
    groups = [
        FunctionalGroup(name, tuple(sorted(atoms)), whole)
        for (name, whole), sets in places.items()
        for atoms in _united(sets)
    ]
    return sorted(groups, key=lambda group: (group.atoms, group.name))


def _outermost(
    found: Sequence[tuple[GroupPattern, set[int]]],
) -> list[tuple[GroupPattern, set[int]]]:
    """The groups that lie in no larger one; a whole one stays if the larger one may be cut."""
    return [
        (row, atoms)
        for row, atoms in found
        if not any(atoms < larger and other.whole >= row.whole for other, larger in found)
    ]


def _united(places: Iterable[set[int]]) -> list[set[int]]:
    """The sets, with those that share atoms put together."""
    united: list[set[int]] = []
    for place in places:
        apart = [other for other in united if other.isdisjoint(place)]
        united = [*apart, place.union(*(other for other in united if other not in apart))]
    return united


def group_bonds(
    elements: npt.NDArray[Any],
    bonds: npt.NDArray[Any],
    here: npt.NDArray[np.int64],
    there: npt.NDArray[np.int64],
    in_ring: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Which single bonds lie inside a whole functional group, for many molecules at once.

    It finds in the arrays what the table finds in molecules, a hundred times as fast: the bond
    between two atoms is decided by their elements, their other bonds and whether they are in rings.

    Args:
        elements: ``int [atoms]``, codes of :data:`vgib.chem.vocabulary.ELEMENT`.
        bonds: ``int [edges]``, codes of :data:`vgib.chem.vocabulary.BOND`.
        here, there: ``int [edges]``, the two atoms of each bond; each bond is listed both ways.
        in_ring: ``bool [edges]``, as :func:`vgib.chem.blocks.ring_bonds` gives them.

    Returns:
        ``bool [edges]``; False for bonds that are not single.
    """
    atoms = _Atoms(elements, bonds, here, there, in_ring)
    joined = _belongs_to(atoms, here, there) | _belongs_to(atoms, there, here)
    single: npt.NDArray[np.bool_] = bonds == BOND.codes["single"]
    return joined & single


class _Atoms:
    """What the rules ask of atoms, each ``bool [atoms]``."""

    def __init__(
        self,
        elements: npt.NDArray[Any],
        bonds: npt.NDArray[Any],
        here: npt.NDArray[np.int64],
        there: npt.NDArray[np.int64],
        in_ring: npt.NDArray[np.bool_],
    ) -> None:
        def is_of(*symbols: str) -> npt.NDArray[np.bool_]:
            return np.isin(elements, [ELEMENT.codes[symbol] for symbol in symbols])

        def count(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
            return np.bincount(here[edges], minlength=len(elements))

        single, double, triple = (
            bonds == BOND.codes[kind] for kind in ("single", "double", "triple")
        )
        self.carbon, self.nitrogen, self.oxygen = is_of("C"), is_of("N"), is_of("O")
        self.sulfur, self.phosphorus, self.boron = is_of("S"), is_of("P"), is_of("B")
        self.halogen = is_of("F", "Cl", "Br", "I")
        degree = count(np.ones_like(single))
        self.lone = degree == 1
        self.chain = count(in_ring) == 0
        self.alkyl = self.carbon & self.chain & (count(single) == degree)
        self.alkylator = self.alkyl & (count(single & is_of("Cl", "Br", "I")[there]) > 0)
        self.base = (self.nitrogen | self.sulfur) & self.chain
        self.arm = self.alkyl & (count(self.base[there]) > 0)
        self.arm &= count(single & self.alkylator[there]) > 0
        self.methyl = self.carbon & self.lone & (count(single) == 1)
        doubly = {name: count(double & kind[there]) > 0 for name, kind in self._partners()}
        self.alkene = self.carbon & self.chain
        self.alkene &= count(double & self.alkene[there]) > 0
        self.acyl = self.carbon & (doubly["oxygen"] | doubly["sulfur"])
        self.amidine = self.carbon & doubly["nitrogen"]
        self.cyano = self.carbon & (count(triple & self.nitrogen[there]) > 0)
        self.nitroso = self.nitrogen & doubly["oxygen"]
        self.oxidized = self.sulfur & (count(self.oxygen[there] & self.lone[there]) > 0)
        self.trihalo = self.carbon & (count(single & self.halogen[there]) >= 3)
        self.butyl = self.carbon & (degree == 4) & (count(single & self.methyl[there]) >= 3)

    def _partners(self) -> list[tuple[str, npt.NDArray[np.bool_]]]:
        return [("oxygen", self.oxygen), ("sulfur", self.sulfur), ("nitrogen", self.nitrogen)]


def _belongs_to(
    atoms: _Atoms, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether the bond from ``a`` is one that keeps ``b`` in the group of ``a``."""
    amine = atoms.nitrogen & atoms.chain
    rules = (
        (atoms.nitrogen | atoms.phosphorus | atoms.boron | atoms.oxidized, atoms.oxygen),
        (atoms.oxygen & atoms.chain, atoms.oxygen & atoms.chain),
        (amine, amine),
        (atoms.nitrogen, amine & (atoms.lone | atoms.nitroso)),
        (atoms.sulfur & atoms.chain, atoms.sulfur & atoms.chain),
        (atoms.oxidized | atoms.phosphorus, amine | atoms.halogen),
        (atoms.phosphorus, atoms.sulfur),
        (atoms.acyl, atoms.oxygen | atoms.sulfur | atoms.halogen | amine),
        (atoms.amidine & atoms.chain, atoms.oxygen | atoms.sulfur | amine),
        (atoms.amidine, amine & atoms.lone),
        (atoms.cyano, atoms.oxygen | atoms.sulfur | amine),
        (atoms.acyl & atoms.chain, atoms.alkene),
        (atoms.trihalo | atoms.alkyl, atoms.halogen),
        (atoms.arm, atoms.base | atoms.alkylator),
        (atoms.butyl, atoms.methyl),
    )
    joined = np.zeros(len(a), dtype=np.bool_)
    for inner, outer in rules:
        joined |= inner[a] & outer[b]
    return joined
