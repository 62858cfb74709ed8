"""What no cut may divide: ring systems, multiple bonds and functional groups, for a whole batch."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]  # ships no types
from scipy.sparse.csgraph import (  # type: ignore[import-untyped]
    breadth_first_order,
    connected_components,
)

from vgib.chem.groups import group_bonds
from vgib.chem.mol import Ends, Mol, as_mol, encode
from vgib.chem.vocabulary import BOND, ELEMENT
from vgib.select.blocktree import Graphs


def indivisible_blocks(mol_or_smiles: Mol | str) -> npt.NDArray[np.int64]:
    """The block of each atom of one molecule.

    >>> indivisible_blocks("CC(=O)Oc1ccccc1").tolist()
    [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    """
    arrays = encode([as_mol(mol_or_smiles)], "element")
    return blocks_of(arrays, arrays.codes, arrays.bonds)


def blocks_of(graphs: Graphs, codes: Any, bonds: Any) -> npt.NDArray[np.int64]:
    """The block of each atom of many molecules, ``int64 [atoms]``, from 0 in each molecule.

    Atoms that are joined by a ring bond or by a double, triple or aromatic bond share a block, so
    fused rings are one block, and so are a carbonyl group or a ring with its exocyclic double bond.
    Functional groups (:mod:`vgib.chem.groups`) stay whole too. Only single bonds outside rings are
    left between blocks.

    Args:
        codes: atom codes, of which the first column is :data:`vgib.chem.vocabulary.ELEMENT`.
        bonds: codes of :data:`vgib.chem.vocabulary.BOND` for each entry of ``graphs.col``.
    """
    ptr = np.asarray(graphs.node_ptr)
    receiver, sender = _edges(graphs)
    kinds, elements = np.asarray(bonds), np.asarray(codes)[:, 0]
    in_ring = ring_bonds(graphs)
    firm = in_ring | (kinds != BOND.codes["single"])
    firm |= group_bonds(elements, kinds, receiver, sender, in_ring)
    return _numbered(receiver[firm], sender[firm], ptr)


def pieces_of(graphs: Graphs, codes: Any, blocks: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Blocks as a chemist would name them: plain carbon atoms that are joined are one piece.

    >>> arrays = encode([as_mol("CCCC(=O)O")], "element")
    >>> pieces_of(arrays, arrays.codes, blocks_of(arrays, arrays.codes, arrays.bonds)).tolist()
    [0, 0, 0, 1, 1, 1]

    Args: as of :func:`blocks_of`, and what it gives.
    """
    ptr, own = np.asarray(graphs.node_ptr), np.asarray(blocks)
    first = np.repeat(ptr[:-1], np.diff(ptr))
    alone = np.bincount(first + own, minlength=len(own))[first + own] == 1
    plain = alone & (np.asarray(codes)[:, 0] == ELEMENT.codes["C"])
    receiver, sender = _edges(graphs)
    joined = (own[receiver] == own[sender]) | (plain[receiver] & plain[sender])
    return _numbered(receiver[joined], sender[joined], ptr)


def joined_by(bonds: Sequence[Ends], atoms: int) -> npt.NDArray[np.int64]:
    """The part of each atom of a molecule in which nothing but these bonds holds atoms together.

    >>> joined_by([(0, 2), (3, 4)], atoms=5).tolist()
    [0, 1, 0, 2, 2]
    """
    ends = np.array(bonds, dtype=np.int64).reshape(-1, 2)
    return _numbered(ends[:, 0], ends[:, 1], np.array([0, atoms]))


def over_groups(
    scores: npt.NDArray[np.float32], graphs: Graphs, blocks: npt.ArrayLike
) -> npt.NDArray[np.float32]:
    """Atom scores ``[..., atoms]`` in which each functional group has the score of its best atom.

    A group is a block without a ring: where one of its atoms passes, all of them do. A gate that
    knows nitro groups by their nitrogen has no use for the oxygens, but whoever looks at it has.
    """
    ptr, own = np.asarray(graphs.node_ptr), np.asarray(blocks)
    block = np.repeat(ptr[:-1], np.diff(ptr)) + own
    receiver, sender = _edges(graphs)
    inside = block[receiver[block[receiver] == block[sender]]]
    atoms, bonds = (np.bincount(each, minlength=len(own)) for each in (block, inside))
    best = np.zeros_like(scores)
    np.maximum.at(best.T, block, scores.T)
    is_group = bonds < 2 * atoms  # both directions of each bond: one less than atoms, if a tree
    shared: npt.NDArray[np.float32] = np.where(is_group[block], best[..., block], scores)
    return shared


def ring_bonds(graphs: Graphs) -> npt.NDArray[np.bool_]:
    """Whether each edge lies on a cycle.

    Each edge outside a spanning forest closes one cycle and gets a random 64-bit label; a forest
    edge gets the exclusive or of the labels of all cycles through it, summed up from the leaves.
    It lies on a cycle exactly if its label is not zero (but for a chance of 1 in 10^19).

    RDKit's ring information says the same of one molecule, and sooner. For 2,048 of them this took
    8 ms and asking RDKit took 39 ms, and parts of molecules and stored graphs come without RDKit's.
    """
    count = int(np.asarray(graphs.node_ptr)[-1])
    receiver, sender = _edges(graphs)
    order, parent = _forest(receiver, sender, count)
    in_forest = (parent[receiver] == sender) | (parent[sender] == receiver)
    extra = ~in_forest & (receiver < sender)
    label = np.zeros(count + 1, dtype=np.uint64)
    names = np.random.default_rng(0).integers(1, 1 << 63, size=int(extra.sum()), dtype=np.uint64)
    np.bitwise_xor.at(label, receiver[extra], names)
    np.bitwise_xor.at(label, sender[extra], names)
    for level in _levels(order, parent)[:0:-1]:
        np.bitwise_xor.at(label, parent[level], label[level])
    lower = np.where(parent[receiver] == sender, receiver, sender)
    on_cycle: npt.NDArray[np.bool_] = ~in_forest | (label[lower] != 0)
    return on_cycle


def _edges(graphs: Graphs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    ptr, indptr, col = (np.asarray(a) for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    receiver = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return receiver, col + np.repeat(ptr[:-1], np.diff(indptr[ptr]))


def _numbered(
    receiver: npt.NDArray[Any], sender: npt.NDArray[Any], ptr: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """The connected components of these edges, numbered by their lowest atom in each molecule."""
    _, part = connected_components(_matrix(receiver, sender, ptr[-1]), directed=False)
    _, first, part = np.unique(part, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    block = rank[part]
    opened = np.searchsorted(np.sort(first), ptr[:-1])
    blocks: npt.NDArray[np.int64] = block - np.repeat(opened, np.diff(ptr))
    return blocks


def _matrix(rows: npt.NDArray[Any], columns: npt.NDArray[Any], size: int) -> Any:
    return csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))


def _forest(
    receiver: npt.NDArray[Any], sender: npt.NDArray[Any], count: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Nodes in breadth-first order from one extra root above every component, and their parents."""
    _, part = connected_components(_matrix(receiver, sender, count), directed=False)
    tops = np.unique(part, return_index=True)[1]
    rows = np.concatenate([receiver, np.full(len(tops), count), tops])
    columns = np.concatenate([sender, tops, np.full(len(tops), count)])
    order, parent = breadth_first_order(_matrix(rows, columns, count + 1), count, directed=True)
    parent[count] = count
    return order, parent


def _levels(order: npt.NDArray[Any], parent: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The nodes of each depth, the root first: parents come before children in ``order``."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    above = place[parent[order]]  # ascending
    bounds = [0, 1]
    while bounds[-1] < len(order):
        bounds.append(int(np.searchsorted(above, bounds[-1])))
    return [order[low:high] for low, high in pairwise(bounds)]
