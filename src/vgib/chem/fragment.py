"""A set of atoms as a molecule of its own: sanitised, connected, with attachment points."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

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

_CENTRE = rdqueries.HasChiralTagQueryAtom()
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
        valid: Whether the atoms make a connected molecule that RDKit can sanitise.
        reason: Why not, else ``None``.
    """

    atoms: tuple[int, ...]
    smiles: str
    capped_smiles: str
    atom_map: tuple[int, ...]
    attachments: tuple[tuple[int, int], ...]
    valid: bool = True
    reason: str | None = None


def fragment(
    mol_or_smiles: Mol | str,
    atoms: Iterable[int],
    *,
    stereo: bool = True,
    capped: bool = True,
) -> Fragment:
    """The fragment of a sanitised molecule that consists of ``atoms``.

    Charges stay as they are; an atom at a cut loses its stereo mark and gets hydrogen (or ``*``)
    for what was cut, also [nH] in aromatic rings. Where an aromatic or other multiple bond is cut,
    the molecule is kekulised first, so that what is left of the ring becomes an ordinary chain.

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
    with rdBase.BlockLogs():
        cuts = _cuts(mol, chosen)
        attachments = tuple((inner, outer) for inner, outer, _ in cuts)
        try:
            smiles, atom_map, capped_smiles = _written(mol, chosen, cuts, stereo, capped)
        except Chem.MolSanitizeException as error:
            return Fragment(chosen, "", "", (), attachments, False, f"not a molecule: {error}")
        except _SeparateParts as error:
            return Fragment(chosen, "", "", (), attachments, False, str(error))
    return Fragment(chosen, smiles, capped_smiles, atom_map, attachments)


class _SeparateParts(Exception):
    pass


def _written(
    mol: Mol, chosen: tuple[int, ...], cuts: list[_Cut], stereo: bool, capped: bool
) -> tuple[str, tuple[int, ...], str]:
    """The open SMILES, its atom map, and the capped SMILES."""
    is_clean = _is_clean(mol, cuts)
    if not is_clean:
        mol = Chem.Mol(mol)
        Chem.Kekulize(mol, clearAromaticFlags=True)
        cuts = _cuts(mol, chosen, force=True)
    part = _part(mol, chosen, cuts, is_clean, stereo, is_open=True)
    count = len(Chem.GetMolFrags(part))
    if count > 1:
        raise _SeparateParts(f"the atoms form {count} separate parts; choose one of them")
    smiles = Chem.MolToSmiles(part, isomericSmiles=stereo)
    order = part.GetProp("_smilesAtomOutputOrder").strip("[],").split(",")
    atom_map = tuple(chosen[index] if index < len(chosen) else -1 for index in map(int, order))
    if not capped or not cuts:
        return smiles, atom_map, smiles if capped else ""
    if is_clean:
        _close(part, chosen, cuts, stereo)
    else:
        part = _part(mol, chosen, cuts, is_clean, stereo, is_open=False)
    return smiles, atom_map, Chem.MolToSmiles(part, isomericSmiles=stereo)


def _cuts(mol: Mol, chosen: tuple[int, ...], force: bool = False) -> list[_Cut]:
    """The bonds that leave the set: (chosen atom, atom left out, bond order)."""
    orders = Chem.GetAdjacencyMatrix(mol, useBO=True, force=force).tolist()
    outside = sorted(set(range(len(orders))).difference(chosen))
    return [
        (inner, outer, orders[inner][outer])
        for inner in chosen
        for outer in outside
        if orders[inner][outer]
    ]


def _is_clean(mol: Mol, cuts: list[_Cut]) -> bool:
    """Whether only single bonds outside rings are cut."""
    return all(
        order == 1 and not mol.GetBondBetweenAtoms(inner, outer).IsInRing()
        for inner, outer, order in cuts
    )


def _part(
    mol: Mol,
    chosen: tuple[int, ...],
    cuts: list[_Cut],
    is_clean: bool,
    stereo: bool,
    is_open: bool,
) -> Mol:
    """The chosen atoms, then, if the part is open, a dummy atom for each cut."""
    part = Chem.RWMol(mol)
    for inner, _, order in cuts:
        atom = part.GetAtomWithIdx(inner)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        if is_open:
            part.AddBond(inner, part.AddAtom(Chem.Atom(0)), _BOND_TYPES[int(order)])
        else:
            atom.SetNumExplicitHs(atom.GetNumExplicitHs() + int(order))
    part.BeginBatchEdit()
    for outer in set(range(mol.GetNumAtoms())).difference(chosen):
        part.RemoveAtom(outer)
    part.CommitBatchEdit()
    if is_clean:
        part.UpdatePropertyCache()  # rings that were left whole stay what they were
    else:
        Chem.SanitizeMol(part)
    if stereo:
        _clean_stereo(part)
    return part


def _close(part: Mol, chosen: tuple[int, ...], cuts: list[_Cut], stereo: bool) -> None:
    """Replaces the dummy atoms of an open part, which come last, by hydrogen."""
    part.BeginBatchEdit()
    for dummy in range(len(chosen), part.GetNumAtoms()):
        part.RemoveAtom(dummy)
    part.CommitBatchEdit()
    for inner, _, order in cuts:
        atom = part.GetAtomWithIdx(chosen.index(inner))
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() + int(order))
    part.UpdatePropertyCache()
    if stereo:
        _clean_stereo(part)


def _clean_stereo(part: Mol) -> None:
    """Centres away from the cuts may have lost what made them asymmetric."""
    if len(part.GetAtomsMatchingQuery(_CENTRE)) or part.HasSubstructMatch(_ALKENE):
        Chem.AssignStereochemistry(part, cleanIt=True, force=True)
