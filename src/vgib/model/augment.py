"""Parts of training molecules as further training molecules, so that a model knows fragments."""

import logging
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.chem.mol import parse
from vgib.data.capped import atom_features
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.select.random import random_ring_intact

log = logging.getLogger(__name__)

Label = Callable[[Sequence[str]], npt.ArrayLike]


def with_fragments(
    graphs: PackedGraphs,
    label: Label,
    *,
    seed: int,
    per_molecule: int = 1,
    shares: tuple[float, float] = (0.2, 0.9),
    whole: bool = True,
) -> PackedGraphs:
    r"""The molecules, then ``per_molecule`` random fragments of each, with their own labels.

    A model that is to choose parts by what it predicts from them must have seen parts in training.
    Each fragment is a connected set of whole rings, multiply bonded groups and single atoms,
    capped with hydrogen, of a share of the atoms that is drawn uniformly.

    >>> from vgib.data.molecules import from_smiles
    >>> molecules = from_smiles(["CC(=O)Nc1ccc(O)cc1"], [0.6]).graphs
    >>> more = with_fragments(molecules, lambda smiles: [len(s) for s in smiles], seed=0)
    >>> more.ids[1], more.y.tolist()[1]
    ('c1ccccc1', 8.0)

    Args:
        graphs: Labeled molecules; those for training only, or the labels of others leak.
        label: Gives each SMILES its value, or class number; an oracle. A fragment to which it gives
            NaN is left out, and the log says how many were.
        per_molecule: Fragments of each molecule.
        shares: The least and the largest share of the atoms.
        whole: Whether the molecules themselves stay. A learned oracle may know some of them by
            heart and say more of them than of molecules that are new to it. Fragments are new to
            it, so that from them alone a model learns what the oracle says of new molecules;
            ``shares`` should then reach 1.
    """
    if atom_features(graphs) is None or graphs.y is None:
        raise InputError("only molecules with labels can be completed by fragments")
    if graphs.y.dim() != 1:
        raise InputError("fragments get one label each; the molecules have several")
    smiles = random_fragments(graphs, seed=seed, per_molecule=per_molecule, shares=shares)
    values = np.asarray(label(smiles), dtype=np.float64)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < len(smiles):
        lost = len(smiles) - len(known)
        log.warning("%d of %d fragments have no label and are left out", lost, len(smiles))
    if not len(known) and whole:
        return graphs
    if not len(known):
        raise InputError("no fragment has a label, so that there is nothing to train on")
    labels = values[known].astype(graphs.y.numpy().dtype)
    parts = from_smiles(
        [smiles[i] for i in known], labels, features=atom_features(graphs) or "rich", workers=1
    )
    return PackedGraphs.concat([graphs, parts.graphs]) if whole else parts.graphs


def random_fragments(
    graphs: PackedGraphs,
    *,
    seed: int,
    per_molecule: int = 1,
    shares: tuple[float, float] = (0.2, 0.9),
) -> list[str]:
    """The capped SMILES of ``per_molecule`` random ring-intact parts of each molecule, in turn."""
    low, high = shares
    if not 0 < low <= high <= 1:
        raise InputError(f"shares must lie between 0 and 1, the lower first; got {shares}")
    assert graphs.ids is not None
    rng = np.random.default_rng(seed)
    blocks = blocks_of(graphs, graphs.x, graphs.edge_attr)
    ptr, atoms = graphs.node_ptr.tolist(), graphs.sizes.numpy()
    masks = []
    for _ in range(per_molecule):
        wanted = np.maximum(1, np.rint(rng.uniform(low, high, len(graphs)) * atoms)).astype(int)
        masks.append(random_ring_intact(graphs, blocks, wanted, rng))
    found = []
    for smiles, (start, end) in zip(graphs.ids, pairwise(ptr), strict=True):
        mol = parse(smiles, stereo=False).mol
        for mask in masks:
            part = fragment(mol, np.flatnonzero(mask[start:end]).tolist(), stereo=False)
            if part.valid:
                found.append(part.capped_smiles)
    return found
