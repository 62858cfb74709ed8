"""The SMILES of many subgraphs of many molecules at once."""

import re
from collections.abc import Sequence

import numpy as np

from vgib.chem.fragment import clean_fragment, fragment
from vgib.chem.mol import Mol, as_mol
from vgib.data.packed import PackedGraphs
from vgib.select.blocktree import Array
from vgib.select.policy import Nodes

MARKS = re.compile(r"[@/\\]|\[\d")
"""What a SMILES with stereo centers, stereo bonds or isotopes has."""


def fragments_of(
    graphs: PackedGraphs,
    found: Sequence[Sequence[Nodes]],
    blocks: Array,
    mols: Sequence[Mol] | None = None,
) -> list[list[str]]:
    """The fragment of each subgraph, with ``*`` where bonds were cut; ``""`` if it is no molecule.

    The cut bonds of all molecules are found at once: to ask RDKit for them, molecule by molecule,
    would take as long as to write the SMILES.

    Args:
        graphs: Molecules.
        found: The subgraphs of each.
        blocks: Their indivisible blocks; see :func:`vgib.chem.blocks.blocks_of`.
        mols: The molecules themselves, where they were kept, so that no SMILES is read again.
    """
    assert graphs.ids is not None
    mols = mols or [as_mol(smiles) for smiles in graphs.ids]
    node_ptr, indptr, col = (a.numpy() for a in (graphs.node_ptr, graphs.indptr, graphs.col))
    receiver = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    first = np.repeat(node_ptr[:-1], np.diff(indptr[node_ptr]))
    # Between blocks every bond is single and in no ring.
    firm = blocks[receiver] == blocks[first + col]
    starts = node_ptr.tolist()
    marked = [MARKS.search(smiles) is not None for smiles in graphs.ids]
    written: list[list[str]] = [[] for _ in found]
    for rank in range(max(map(len, found), default=0)):
        some = [number for number, ranked in enumerate(found) if len(ranked) > rank]
        chosen = np.zeros(node_ptr[-1], dtype=bool)
        chosen[[starts[g] + node for g in some for node in found[g][rank]]] = True
        cut = np.flatnonzero(chosen[receiver] & ~chosen[first + col])
        cuts = list(zip((receiver - first)[cut].tolist(), col[cut].tolist(), strict=True))
        bounds = np.searchsorted(receiver[cut], node_ptr)
        broken = np.diff(np.concatenate([[0], np.cumsum(firm[cut])])[bounds]).tolist()
        bounds = bounds.tolist()
        for g in some:
            mol, nodes = mols[g], found[g][rank]
            if broken[g]:
                written[g].append(fragment(mol, nodes, capped=False).smiles)
            else:
                own = cuts[bounds[g] : bounds[g + 1]]
                written[g].append(clean_fragment(mol, nodes, own, stereo=marked[g]))
    return written
