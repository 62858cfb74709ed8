"""Packed molecules: whether graphs are some, and their parts, capped with hydrogen where cut."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from vgib.chem.vocabulary import BOND, VOCABULARIES, capped_codes, vocabulary
from vgib.data.packed import PackedGraphs


def atom_features(graphs: PackedGraphs) -> str | None:
    """The atom vocabulary that these graphs are written in; ``None`` for other graphs.

    Molecules are graphs with SMILES for names, bond types on their edges, and the columns of one of
    our vocabularies.
    """
    if graphs.ids is None or graphs.edge_attr is None:
        return None
    known = {words.cardinalities: name for name, words in VOCABULARIES.items()}
    return known.get(graphs.cardinalities or ())


def capped_parts(
    graphs: PackedGraphs, mask: torch.Tensor, features: str, owner: torch.Tensor | None = None
) -> PackedGraphs:
    """The parts of molecules on a ``bool [atoms]`` mask, capped with hydrogen where they were cut.

    With ``owner``, many parts of some molecules; see :meth:`vgib.data.packed.PackedGraphs.parts`.

    As reading the capped fragment's SMILES would give it, at the speed of index arithmetic, as long
    as only single bonds outside rings are cut. The parts have no SMILES.
    """
    owner = torch.arange(len(graphs)) if owner is None else owner
    parts = replace(graphs, ids=None).parts(owner, mask)
    cuts = graphs.indptr.diff()[graphs.part_nodes(owner, mask)] - parts.indptr.diff()
    codes = capped_codes(
        parts.x.numpy().astype(np.int64), cuts.numpy(), _is_lone(parts), vocabulary(features)
    )
    return replace(parts, x=torch.from_numpy(codes.astype(parts.x.numpy().dtype)))


def _is_lone(graphs: PackedGraphs) -> npt.NDArray[np.bool_]:
    """Which atoms have no multiple bond, and no neighbor that has one."""
    assert graphs.edge_attr is not None
    degree, node_ptr = graphs.indptr.diff().numpy(), graphs.node_ptr.numpy()
    receiver = np.repeat(np.arange(len(degree)), degree)
    sender = graphs.col.numpy() + np.repeat(node_ptr[:-1], np.diff(graphs.edge_ptr.numpy()))
    is_multiple = graphs.edge_attr.numpy() != BOND.codes["single"]
    near = np.zeros(len(degree), dtype=np.bool_)
    near[receiver[is_multiple]] = True
    is_lone = ~near
    is_lone[receiver[near[sender]]] = False
    return is_lone
