"""Molecules to atom and bond arrays and back; reading SMILES with reasons a chemist can act on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
from rdkit import Chem, rdBase
from rdkit.Chem.rdMolDescriptors import GetConnectivityInvariants
from rdkit.Chem.Scaffolds import MurckoScaffold

from vgib.chem.diagnose import UNCHECKED, why_unreadable
from vgib.chem.salts import without_counter_ions
from vgib.chem.vocabulary import BOND, RICH, Vocabulary, read_atom, vocabulary
from vgib.errors import InputError, unknown_name
from vgib.limits import BLOCK_LETTERS_AN_ATOM, LETTERS_AN_ATOM, MAX_ATOMS, most_rings

Mol: TypeAlias = Any  # RDKit ships no types
Ends: TypeAlias = tuple[int, int]
"""The two atoms of a bond."""

Mixtures = Literal["largest", "error"]
INCHI = "InChI="
"""How every InChI begins; no SMILES does."""


class Parsed(NamedTuple):
    """A molecule, the SMILES whose atom order it has, and a remark about what was changed."""

    mol: Mol
    smiles: str
    note: str | None = None


def parse(
    smiles: str,
    *,
    mixtures: Mixtures = "largest",
    max_atoms: int = MAX_ATOMS,
    stereo: bool = True,
) -> Parsed:
    """Reads one SMILES or InChI; text after the first blank is left out.

    Explicit hydrogens become implicit, as RDKit does by default. Isotope labels stay on the
    molecule and change no feature.

    Args:
        mixtures: ``"largest"`` keeps the largest component that contains carbon (or, without one,
            the largest) and says so in the note; known counter-ions and solvents, such as pamoate,
            lose against anything else with carbon. ``"error"`` refuses salts and mixtures.
        max_atoms: the largest number of heavy atoms that is accepted; see :func:`within_limits`.
        stereo: whether stereo marks are perceived; features need none, and it costs a quarter.

    Raises:
        InputError: the reason, in words of chemistry, and what to check.
    """
    if mixtures not in get_args(Mixtures):
        raise unknown_name("treatment of mixtures", mixtures, get_args(Mixtures))
    with rdBase.BlockLogs():
        return parse_aloud(smiles, mixtures=mixtures, max_atoms=max_atoms, stereo=stereo)


def parse_aloud(smiles: str, *, mixtures: Mixtures, max_atoms: int, stereo: bool) -> Parsed:
    """As :func:`parse`, while RDKit logs: to silence it costs a tenth, so do it once for many."""
    text = written_as_smiles(smiles, max_atoms=max_atoms)
    mol = within_limits(text, max_atoms)
    if "." in text:
        return _component(text, mol, mixtures, max_atoms, stereo)
    return Parsed(_perceived(text, mol, stereo), text)


def written_as_smiles(text: str, *, max_atoms: int = MAX_ATOMS) -> str:
    """The first word of a text, which is a SMILES, or the SMILES of the InChI that it is.

    >>> written_as_smiles("CCO ethanol"), written_as_smiles("InChI=1S/CH4O/c1-2/h2H,1H3")
    ('CCO', 'CO')

    Raises:
        InputError: there is nothing, or an InChI that cannot be read or is too large.
    """
    word = text.split(maxsplit=1)[0] if text and not text.isspace() else ""
    if not word:
        raise InputError("the SMILES is empty; give a structure or remove the line")
    if not word.startswith(INCHI):
        return word
    _refuse_text(word, LETTERS_AN_ATOM * max_atoms, "InChI", max_atoms)
    with rdBase.BlockLogs():
        read = cast("Callable[..., Mol]", Chem.MolFromInchi)  # RDKit's stubs have no types for it
        mol = read(word, sanitize=False, removeHs=False)
        if mol is None or not mol.GetNumAtoms():
            raise InputError("this InChI cannot be read; check that it is complete")
        _refuse_size(mol, max_atoms, has_parts=len(Chem.GetMolFrags(mol)) > 1)
        mol = read(word)
        if mol is None:
            raise InputError("this InChI describes an impossible structure; export it again")
        return str(Chem.MolToSmiles(mol))


def whole(smiles: str, *, max_atoms: int = MAX_ATOMS) -> Mol:
    """The molecule of a SMILES with all its components, as RDKit reads it by default.

    Raises:
        InputError: it cannot be read, or is too large; see :func:`within_limits`.
    """
    text = written_as_smiles(smiles, max_atoms=max_atoms)
    return _perceived(text, within_limits(text, max_atoms), stereo=True)


def within_limits(text: str, max_atoms: int) -> Mol:
    """A SMILES as it is written, not sanitized, after its letters, atoms and rings were counted.

    RDKit reads the syntax of any text in no time. What comes after takes a time that grows with the
    power of the rings, and writes SMILES by a recursion that ends the process at some ten thousand
    atoms. So nothing but this function hands the text of a user to RDKit first; InChIs and mol
    blocks are counted in their own ways.

    Raises:
        InputError: the syntax is wrong, or there are too many letters, atoms or rings.
    """
    _refuse_text(text, LETTERS_AN_ATOM * max_atoms, "SMILES", max_atoms)
    mol = Chem.MolFromSmiles(text, UNCHECKED)
    if mol is None:
        raise InputError(why_unreadable(text))
    _refuse_size(mol, max_atoms, has_parts="." in text)
    return mol


def _refuse_text(text: str, most: int, what: str, max_atoms: int) -> None:
    """Refuses a text that is too long, or that holds bytes which are no letters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the {what} holds bytes that are no text; write it again") from None
    if len(text) > most:
        raise InputError(
            f"a {what} of {len(text):,} letters, more than the {most:,} that are read where "
            f"molecules may have {max_atoms} atoms; split it or raise max_atoms"
        )


def _refuse_size(mol: Mol, max_atoms: int, *, has_parts: bool) -> None:
    """Refuses too many atoms or rings; the number of rings is bonds - atoms + components."""
    atoms, limit = mol.GetNumHeavyAtoms(), 2 * max_atoms if has_parts else max_atoms
    if atoms > limit:
        raise InputError(
            f"{atoms} heavy atoms, more than the limit of {limit}; "
            "split the molecule or raise max_atoms"
        )
    rings = mol.GetNumBonds() - mol.GetNumAtoms() + 1
    if has_parts:
        rings += len(Chem.GetMolFrags(mol)) - 1
    if rings > most_rings(max_atoms):
        raise InputError(
            f"{rings} rings, more than the {most_rings(max_atoms)} that are read where molecules "
            f"may have {max_atoms} atoms; check the bonds or raise max_atoms"
        )


def _perceived(text: str, mol: Mol, stereo: bool) -> Mol:
    # Only the full reader merges written-out hydrogens into their atoms.
    if stereo or "[H" in text:
        mol = Chem.MolFromSmiles(text)
        if mol is None:
            raise InputError(why_unreadable(text))
        return mol
    try:
        Chem.SanitizeMol(mol)
    except (Chem.MolSanitizeException, RuntimeError):  # a refusal, or an invariant of its own
        raise InputError(why_unreadable(text)) from None
    return mol


def _component(text: str, mol: Mol, mixtures: Mixtures, max_atoms: int, stereo: bool) -> Parsed:
    entire = _perceived(text, mol, stereo=True)
    parts = Chem.GetMolFrags(entire, asMols=True)
    if len(parts) == 1:  # ring-closure digits can join what a dot separates
        _refuse_size(mol, max_atoms, has_parts=False)
        return Parsed(_perceived(text, mol, stereo), text)
    if mixtures == "error":
        raise InputError(
            f"a mixture of {len(parts)} components; remove salts and solvents, "
            "or read with mixtures='largest'"
        )
    meant = Chem.GetMolFrags(without_counter_ions(entire), asMols=True)
    chosen, largest = max(meant, key=_importance), max(parts, key=_importance)
    _refuse_size(chosen, max_atoms, has_parts=False)
    best = Chem.MolToSmiles(chosen)
    is_largest = best == Chem.MolToSmiles(largest)
    which = "" if is_largest else " other than counter-ions and solvents"
    note = f"kept the largest of {len(parts)} components{which}, {best}"
    # Read again, so that the atoms are in the order of the SMILES that is handed out.
    return Parsed(_perceived(best, within_limits(best, max_atoms), stereo), best, note)


def _importance(mol: Mol) -> tuple[bool, int, int]:
    numbers = [atom.GetAtomicNum() for atom in mol.GetAtoms()]
    return 6 in numbers, len(numbers), sum(numbers)


def smiles_of_molblock(block: str, *, max_atoms: int = MAX_ATOMS) -> str:
    """The SMILES of one structure in MDL format (one record of an SD file, up to ``M  END``).

    Raises:
        InputError: the block cannot be read, is too large, or the structure is impossible.
    """
    _refuse_text(block, BLOCK_LETTERS_AN_ATOM * max_atoms, "mol block", max_atoms)
    with rdBase.BlockLogs():
        if not _is_small(block, max_atoms):
            unchecked = _as_drawn(block)
            _refuse_size(unchecked, max_atoms, has_parts=len(Chem.GetMolFrags(unchecked)) > 1)
        mol = Chem.MolFromMolBlock(block)
        if mol is not None and mol.GetNumAtoms():
            return str(Chem.MolToSmiles(mol))
        if mol is not None:
            raise InputError("the record holds no atoms; remove it or add the structure")
        unchecked = _as_drawn(block)
        raise InputError(why_unreadable(Chem.MolToSmiles(unchecked), unchecked))


def _is_small(block: str, max_atoms: int) -> bool:
    """Whether the counts of a mol block tell that it cannot be too large; most are such."""
    counts = next(iter(block.split("\n", 4)[3:4]), "")
    atoms, bonds = counts[:3].strip(), counts[3:6].strip()
    if "V3000" in counts or not (atoms.isdecimal() and bonds.isdecimal()):
        return False
    return int(atoms) <= max_atoms and int(bonds) <= most_rings(max_atoms)


def _as_drawn(block: str) -> Mol:
    mol = Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
    if mol is None:
        raise InputError("the record is no complete MDL mol block; export the file again")
    return mol


def as_mol(mol_or_smiles: Mol | str) -> Mol:
    """A molecule as it is, or the one that a SMILES describes (the largest of a mixture)."""
    return parse(mol_or_smiles).mol if isinstance(mol_or_smiles, str) else mol_or_smiles


def bonds_of(mol: Mol) -> list[Ends]:
    """The atoms of each bond, the bonds in the order of the molecule."""
    return [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]


def scaffold(smiles: str) -> str:
    """The Bemis-Murcko scaffold, without stereo marks; ``""`` for a molecule without rings.

    >>> scaffold("CC(=O)Oc1ccccc1C(=O)O")
    'c1ccccc1'
    """
    mol = parse(smiles).mol
    Chem.RemoveStereochemistry(mol)
    core = MurckoScaffold.GetScaffoldForMol(mol)  # type: ignore[no-untyped-call]
    return str(Chem.MolToSmiles(core))


@dataclass(frozen=True, eq=False)
class MolArrays:
    """Molecules as flat arrays, rows sorted by atom and neighbors ascending in each row.

    Attributes:
        codes: ``uint8 [atoms, columns]``, in the words of a vocabulary.
        node_ptr: ``int64 [molecules + 1]``; the atoms of molecule *g*.
        indptr: ``int64 [atoms + 1]``; the neighbors of each atom.
        col: ``int32 [2 bonds]``; the neighbor, numbered within its molecule.
        bonds: ``uint8 [2 bonds]``, codes of :data:`vgib.chem.vocabulary.BOND`.
    """

    codes: npt.NDArray[np.uint8]
    node_ptr: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    col: npt.NDArray[np.int32]
    bonds: npt.NDArray[np.uint8]


# Bond codes by twice the bond order; a dative bond counts as single, an order of zero as other.
_BOND_OF_ORDER = np.full(16, BOND.codes["other"], dtype=np.uint8)
for _order, _kind in {2: "single", 3: "aromatic", 4: "double", 6: "triple"}.items():
    _BOND_OF_ORDER[_order] = BOND.codes[_kind]

_SP2 = Chem.MolFromSmarts("[^2]")
_SP = Chem.MolFromSmarts("[^1]")
_EVERY_MATCH: Any = Chem.SubstructMatchParameters()  # Any: the stubs mistype its fields
_EVERY_MATCH.uniquify = False
_EVERY_MATCH.maxMatches = 1_000_000

_rows: dict[tuple[str, int], tuple[int, ...]] = {}
_MOST_ROWS = 100_000  # drugs need some hundred; no input can fill the memory


def encode(mols: Sequence[Mol], features: str = "rich") -> MolArrays:
    """The arrays of sanitized molecules.

    Asking RDKit for each property of each atom costs as much as reading the SMILES. Instead each
    atom gets one number from a few whole-molecule calls that determine all its properties (RDKit's
    connectivity invariant: element, neighbors, hydrogens, charge, isotope, ring; the
    hybridization; bond orders), and the properties are read once for each *distinct* number.
    """
    words = vocabulary(features)
    matrices = [Chem.GetAdjacencyMatrix(mol, useBO=True).ravel() for mol in mols]
    cells = [_bonded(mol, matrix) for mol, matrix in zip(mols, matrices, strict=True)]
    sizes = np.array([mol.GetNumAtoms() for mol in mols], dtype=np.int64)
    counts = np.array([len(cell) for cell in cells], dtype=np.int64)
    node_ptr = np.concatenate([[0], np.cumsum(sizes)])
    cell, width = _flat(cells, np.int64), np.repeat(sizes, counts)
    row = cell // width + np.repeat(node_ptr[:-1], counts)
    doubled = np.rint(2 * _flat([m[c] for m, c in zip(matrices, cells, strict=True)], np.float64))
    degree = np.bincount(row, minlength=node_ptr[-1])
    valence = np.bincount(row, weights=doubled, minlength=node_ptr[-1])
    aromatic = np.bincount(row[doubled == 3], minlength=node_ptr[-1]) > 0
    key = _atom_keys(mols, words)
    for shift, part in ((34, aromatic), (40, degree), (48, valence)):
        key |= part.astype(np.uint64) << np.uint64(shift)
    return MolArrays(
        codes=_look_up(key, mols, node_ptr, words),
        node_ptr=node_ptr,
        indptr=np.concatenate([[0], np.cumsum(degree)]),
        col=(cell % width).astype(np.int32),
        bonds=_BOND_OF_ORDER[np.minimum(doubled.astype(np.intp), 15)],
    )


def _bonded(mol: Mol, orders: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    cell = np.flatnonzero(orders)
    if len(cell) != 2 * mol.GetNumBonds():  # a bond of order zero
        cell = np.flatnonzero(Chem.GetAdjacencyMatrix(mol).ravel())
    return cell


def _flat(parts: Sequence[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype=dtype)


def _atom_keys(mols: Sequence[Mol], words: Vocabulary) -> npt.NDArray[np.uint64]:
    keys: list[int] = []
    start = 0
    for mol in mols:
        keys += GetConnectivityInvariants(mol)
        if words is RICH:
            for (atom,) in mol.GetSubstructMatches(_SP2, _EVERY_MATCH):
                keys[start + atom] |= 1 << 32
            for (atom,) in mol.GetSubstructMatches(_SP, _EVERY_MATCH):
                keys[start + atom] |= 1 << 33
        start = len(keys)
    return np.array(keys, dtype=np.uint64)


def _look_up(
    key: npt.NDArray[np.uint64],
    mols: Sequence[Mol],
    node_ptr: npt.NDArray[np.int64],
    words: Vocabulary,
) -> npt.NDArray[np.uint8]:
    distinct, first, where = np.unique(key, return_index=True, return_inverse=True)
    if len(_rows) > _MOST_ROWS:
        _rows.clear()
    table = np.empty((len(distinct), len(words.columns)), dtype=np.uint8)
    for line, (number, example) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
        row = _rows.get((words.name, number))
        if row is None:
            mol = int(np.searchsorted(node_ptr, example, side="right")) - 1
            atom = mols[mol].GetAtomWithIdx(example - int(node_ptr[mol]))
            row = _rows[words.name, number] = read_atom(atom, words)
        table[line] = row
    return table[where]
