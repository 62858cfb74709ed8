"""A set of atoms as a molecule of its own: sanitized, connected, with attachment points."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdqueries

from vgib.chem.mol import Mol, as_mol
from vgib.errors import InputError

_BOND_TYPES = {
    1: Chem.BondType.SINGLE,
    2: Chem.BondType.DOUBLE,
    3: Chem.BondType.TRIPLE,
}
_Cut: TypeAlias = tuple[int, int, float]

_PLAIN: Any = Chem.SubsetOptions()  # Any: the stubs mistype its fields
_PLAIN.sanitize = False
_PLAIN.copyCoordinates = False
_PLAIN.clearComputedProps = True

_NO_CENTER = Chem.ChiralType.CHI_UNSPECIFIED
_CENTER = rdqueries.HasChiralTagQueryAtom()
_ALKENE = Chem.MolFromSmarts("[C,N]=[C,N]")


@dataclass(frozen=True)
class Fragment:
    """Part of a molecule.

    Attributes:
        atoms: The chosen atoms of the parent, ascending.
        smiles: Canonical, with ``*`` where bonds were cut; ``""`` if not valid.
        capped_smiles: Canonical, with hydrogen where bonds were cut: what an oracle judges.
        atom_map: For each atom of ``smiles`` in its order, the atom of the parent; -1 for a ``*``.
        attachments: The cut bonds as (chosen atom, atom left out) of the parent.
        valid: Whether the atoms make a connected molecule that RDKit can sanitize.
        reason: Why not, else ``None``.
    """

    atoms: tuple[int, ...]
    smiles: str
    capped_smiles: str
    atom_map: tuple[int, ...]
    attachments: tuple[tuple[int, int], ...]
    valid: bool = True
    reason: str | None = None

    def _repr_svg_(self) -> str | None:
        """In a notebook: the fragment, with ``*`` where bonds were cut."""
        from vgib.chem.draw import draw

        return draw(self.smiles, size=(310, 240)) if self.valid else None


def fragment(
    mol_or_smiles: Mol | str,
    atoms: Iterable[int],
    *,
    stereo: bool = True,
    capped: bool = True,
) -> Fragment:
    """The fragment of a sanitized molecule that consists of ``atoms``.

    Charges stay as they are; an atom at a cut loses its stereo mark and gets hydrogen (or ``*``)
    for what was cut, also [nH] in aromatic rings. Where an aromatic or other multiple bond is cut,
    the molecule is kekulized first, so that what is left of the ring becomes an ordinary chain.

    Args:
        stereo: whether the SMILES carry stereo marks and isotopes.
        capped: whether ``capped_smiles`` is made as well; without it (then ``""``) much faster.

    Raises:
        InputError: no atoms were given, or one that the molecule does not have.
    """
    mol = as_mol(mol_or_smiles)
    chosen = tuple(sorted({int(atom) for atom in atoms}))
    if not chosen:
        raise InputError("no atoms were given; a fragment needs at least one")
    if chosen[0] < 0 or chosen[-1] >= mol.GetNumAtoms():
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise InputError(
            f"there is no atom {wrong}; the molecule has atoms 0 to {mol.GetNumAtoms() - 1}"
        )
    cuts = _cuts(mol, chosen)
    attachments = tuple((inner, outer) for inner, outer, _ in cuts)
    try:
        smiles, atom_map, capped_smiles = _written(mol, chosen, cuts, stereo, capped)
    except Chem.MolSanitizeException as error:
        return Fragment(chosen, "", "", (), attachments, False, f"not a molecule: {error}")
    except _SeparateParts as error:
        return Fragment(chosen, "", "", (), attachments, False, str(error))
    return Fragment(chosen, smiles, capped_smiles, atom_map, attachments)


def clean_fragment(
    mol: Mol, chosen: tuple[int, ...], cuts: Sequence[tuple[int, int]], *, stereo: bool = True
) -> str:
    """The SMILES of chosen atoms with ``*`` at each cut, where only clean cuts are made.

    :func:`fragment` gives the same as ``smiles``; here the caller knows the cuts already: single
    bonds outside rings, as (chosen atom, atom left out). ``""`` for atoms that are not connected.
    Without ``stereo`` marks and isotopes, if the molecule has none, it takes a third less time.
    """
    part, _ = _opened(mol, chosen, cuts)
    if stereo:
        _clean_stereo(part)
    smiles = str(Chem.MolToSmiles(part, isomericSmiles=stereo))
    return "" if "." in smiles else smiles


class _SeparateParts(Exception):
    pass


def _written(
    mol: Mol, chosen: tuple[int, ...], cuts: list[_Cut], stereo: bool, capped: bool
) -> tuple[str, tuple[int, ...], str]:
    """The open SMILES, its atom map, and the capped SMILES."""
    if not _is_clean(mol, cuts):
        with rdBase.BlockLogs():  # only here is there something to complain about
            return _written_anew(mol, chosen, stereo, capped)
    part, origin = _opened(mol, chosen, [(inner, outer) for inner, outer, _ in cuts])
    if stereo:
        _clean_stereo(part)
    smiles, atom_map = _read_off(part, origin, stereo)
    if not capped or not cuts:
        return smiles, atom_map, smiles if capped else ""
    closed = _closed(part, chosen, origin, cuts)
    if stereo:
        _clean_stereo(closed)
    return smiles, atom_map, Chem.MolToSmiles(closed, isomericSmiles=stereo)


def _written_anew(
    mol: Mol, chosen: tuple[int, ...], stereo: bool, capped: bool
) -> tuple[str, tuple[int, ...], str]:
    """What :func:`_written` gives, where a ring or a multiple bond is cut: perceived anew."""
    mol = Chem.Mol(mol)
    Chem.Kekulize(mol, clearAromaticFlags=True)
    cuts = _cuts(mol, chosen, force=True)
    smiles, atom_map = _read_off(
        _perceived(_with_dummies(mol, chosen, cuts), stereo), [*chosen, *[-1] * len(cuts)], stereo
    )
    if not capped or not cuts:
        return smiles, atom_map, smiles if capped else ""
    closed = Chem.RWMol(Chem.CopyMolSubset(mol, chosen, _PLAIN))
    _fill(closed, chosen, cuts)
    return smiles, atom_map, Chem.MolToSmiles(_perceived(closed, stereo), isomericSmiles=stereo)


def _read_off(part: Mol, origin: list[int], stereo: bool) -> tuple[str, tuple[int, ...]]:
    """The SMILES of a part, and the atom of the parent for each of its atoms."""
    count = len(Chem.GetMolFrags(part))
    if count > 1:
        raise _SeparateParts(f"the atoms form {count} separate parts; choose one of them")
    smiles = Chem.MolToSmiles(part, isomericSmiles=stereo)
    order = part.GetProp("_smilesAtomOutputOrder").strip("[],").split(",")
    return smiles, tuple(origin[int(place)] for place in order)


def _cuts(mol: Mol, chosen: tuple[int, ...], force: bool = False) -> list[_Cut]:
    """The bonds that leave the set: (chosen atom, atom left out, bond order)."""
    orders = Chem.GetAdjacencyMatrix(mol, useBO=True, force=force)
    inside = np.array(chosen)
    leaving = orders[inside]
    leaving[:, inside] = 0
    rows, columns = leaving.nonzero()
    return list(
        zip(inside[rows].tolist(), columns.tolist(), leaving[rows, columns].tolist(), strict=True)
    )


def _is_clean(mol: Mol, cuts: list[_Cut]) -> bool:
    """Whether only single bonds outside rings are cut."""
    return all(
        order == 1 and not mol.GetBondBetweenAtoms(inner, outer).IsInRing()
        for inner, outer, order in cuts
    )


def _opened(
    mol: Mol, chosen: tuple[int, ...], cuts: Sequence[tuple[int, int]]
) -> tuple[Mol, list[int]]:
    """The chosen atoms with a dummy for each clean cut, and each atom's number in the parent or -1.

    The atoms across the cuts are copied along and made dummies in place: so the rings of the parent
    stay known, and nothing has to be perceived anew.
    """
    outside = {outer for _, outer in cuts}
    atoms = sorted(outside.union(chosen))
    part = Chem.CopyMolSubset(mol, atoms, _PLAIN)
    for inner, outer in cuts:
        dummy = part.GetAtomWithIdx(atoms.index(outer))
        if dummy.GetDegree() > 1:  # the chosen atoms are not connected: let RDKit say how
            part = _with_dummies(mol, chosen, [(*cut, 1.0) for cut in cuts])
            part.UpdatePropertyCache()
            return part, [*chosen, *[-1] * len(cuts)]
        make_dummy(dummy)
        dummy.SetIsAromatic(False)
        dummy.SetAtomMapNum(0)
        part.GetAtomWithIdx(atoms.index(inner)).SetChiralTag(_NO_CENTER)
    part.UpdatePropertyCache()
    return part, [-1 if atom in outside else atom for atom in atoms]


def make_dummy(atom: Any) -> None:
    """Makes an atom a ``*`` in its place."""
    atom.SetAtomicNum(0)
    atom.SetNoImplicit(True)
    for reset in (atom.SetFormalCharge, atom.SetNumExplicitHs, atom.SetIsotope):
        reset(0)
    atom.SetNumRadicalElectrons(0)
    atom.SetChiralTag(_NO_CENTER)


def _closed(part: Mol, chosen: tuple[int, ...], origin: list[int], cuts: list[_Cut]) -> Mol:
    """An open part with its dummies replaced by hydrogen."""
    closed = Chem.RWMol(part)
    closed.BeginBatchEdit()
    for place, atom in enumerate(origin):
        if atom < 0:
            closed.RemoveAtom(place)
    closed.CommitBatchEdit()
    _fill(closed, chosen, cuts)
    closed.UpdatePropertyCache()
    return closed


def _with_dummies(mol: Mol, chosen: tuple[int, ...], cuts: list[_Cut]) -> Mol:
    """The chosen atoms, then a dummy atom for each cut."""
    part = Chem.RWMol(Chem.CopyMolSubset(mol, chosen, _PLAIN))
    for inner, _, order in cuts:
        place = chosen.index(inner)
        part.GetAtomWithIdx(place).SetChiralTag(_NO_CENTER)
        part.AddBond(place, part.AddAtom(Chem.Atom(0)), _BOND_TYPES[int(order)])
    return part


def _fill(part: Mol, chosen: tuple[int, ...], cuts: list[_Cut]) -> None:
    """Gives the chosen atoms hydrogen for what was cut."""
    for inner, _, order in cuts:
        atom = part.GetAtomWithIdx(chosen.index(inner))
        atom.SetChiralTag(_NO_CENTER)
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() + int(order))


def _perceived(part: Mol, stereo: bool) -> Mol:
    Chem.SanitizeMol(part)
    if stereo:
        _clean_stereo(part)
    return part


def _clean_stereo(part: Mol) -> None:
    """Drops the stereo marks of centers that the cuts left without what made them asymmetric."""
    if len(part.GetAtomsMatchingQuery(_CENTER)) or part.HasSubstructMatch(_ALKENE):
        Chem.AssignStereochemistry(part, cleanIt=True, force=True)
