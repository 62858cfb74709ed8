r"""Every ring-intact part of a molecule with its divergence: what could be found at each size.

The connected unions of whole rings, multiply bonded groups and single atoms of a drug-like molecule
are some dozens to hundreds, so that all of them can be judged. The random control is then an exact
mean and not a draw, and the reachable best an exact minimum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.chem.mol import parse
from vgib.data.molecules import from_smiles
from vgib.oracles.contract import Oracle
from vgib.select.blocktree import block_trees, connected_subgraphs

Floats = npt.NDArray[np.float64]
Nodes = tuple[int, ...]

MOST_PARTS = 20_000
"""Parts of one molecule that are visited; drug-like molecules have 20 to 500."""


@dataclass(frozen=True)
class Judged:
    """The divergence of one part of each molecule.

    Attributes:
        divergence: :math:`|f(G) - f(G_S)|`; NaN where there is no fragment or no judgment.
        kept: The share of the atoms.
        is_valid: Whether RDKit makes a molecule of it.
    """

    divergence: Floats
    kept: Floats
    is_valid: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Controls:
    """What random parts of the same sizes have, and what the best of them has."""

    random: Floats
    best: Floats


class Atlas:
    """The parts of some molecules under an oracle.

    The molecules have their atoms in the order of their graphs.
    """

    def __init__(self, oracle: Oracle, smiles: Sequence[str]) -> None:
        self.oracle, self.smiles = oracle, list(smiles)
        self.mols = [parse(text, stereo=False).mol for text in self.smiles]
        self.whole: Floats = oracle(self.smiles)
        graphs = from_smiles(self.smiles, features="element", workers=1).graphs
        trees = block_trees(graphs, blocks_of(graphs, graphs.x, graphs.edge_attr))
        self.parts: list[dict[Nodes, float]] = []
        listed = [
            [
                tuple(np.flatnonzero(mask).tolist())
                for mask in tree.nodes(connected_subgraphs(tree, 1, atoms, cap=MOST_PARTS).masks)
            ]
            for tree, atoms in zip(trees, graphs.sizes.tolist(), strict=True)
        ]
        counts = np.cumsum([0, *map(len, listed)])
        number = np.repeat(np.arange(len(listed)), np.diff(counts))
        flat = [nodes for parts in listed for nodes in parts]
        divergence, texts = self._divergence(zip(number.tolist(), flat, strict=True))
        self.texts: list[dict[Nodes, str]] = []
        for parts, low, high in zip(listed, counts[:-1], counts[1:], strict=True):
            self.parts.append(dict(zip(parts, divergence[low:high].tolist(), strict=True)))
            self.texts.append(dict(zip(parts, texts[low:high], strict=True)))
        self._sizes = [np.array([len(nodes) for nodes in parts]) for parts in listed]
        self._values = [np.array(list(parts.values())) for parts in self.parts]

    def _divergence(self, chosen: Iterable[tuple[int, Nodes]]) -> tuple[Floats, list[str]]:
        """The divergence of parts (molecule, atoms) that the oracle is asked for, and their SMILES.

        A part of which RDKit makes no molecule has the SMILES "".
        """
        numbers, texts = [], []
        for number, nodes in chosen:
            numbers.append(number)
            found = fragment(self.mols[number], nodes, stereo=False)
            texts.append(found.capped_smiles if found.valid else "")
        is_valid = np.array([bool(text) for text in texts], dtype=np.bool_)
        values = np.full(len(texts), np.nan)
        values[is_valid] = self.oracle([text for text in texts if text])
        return np.abs(values - self.whole[numbers]), texts

    def judge(self, chosen: Sequence[Nodes]) -> Judged:
        """The divergence of one part of each molecule; looked up, or asked for where a ring is cut.

        Args:
            chosen: The atoms, ascending, one tuple for each molecule.
        """
        divergence = np.array(
            [parts.get(nodes, np.nan) for parts, nodes in zip(self.parts, chosen, strict=True)]
        )
        is_valid = np.ones(len(chosen), dtype=np.bool_)
        unknown = [n for n, nodes in enumerate(chosen) if nodes not in self.parts[n]]
        divergence[unknown], texts = self._divergence((n, chosen[n]) for n in unknown)
        is_valid[unknown] = [bool(text) for text in texts]
        atoms = np.array([mol.GetNumAtoms() for mol in self.mols])
        return Judged(divergence, np.array([len(nodes) for nodes in chosen]) / atoms, is_valid)

    def controls(self, sizes: Sequence[int], within: int = 1) -> Controls:
        r"""The mean and the least divergence of the parts within one atom of a size.

        .. math:: R_i = \operatorname{mean}_{S \in \mathcal C_i} d(S), \quad
                  B_i = \min_{S \in \mathcal C_i} d(S), \quad
                  \mathcal C_i = \{S : \bigl||S| - k_i\bigr| \le 1\}

        Where no part is so near, those of the nearest size. ``within`` stands in the place of the
        one atom; with 0 it is exactly the size.
        """
        random, best = np.full((2, len(self.parts)), np.nan)
        for number, (wanted, own) in enumerate(zip(sizes, self._sizes, strict=True)):
            far = np.abs(own - wanted)
            near = self._values[number][far <= max(within, int(far.min()))]
            near = near[np.isfinite(near)]
            if len(near):
                random[number], best[number] = near.mean(), near.min()
        return Controls(random, best)

    def best_part(self, number: int, size: int) -> Nodes:
        """The part of a molecule within one atom of a size that diverges least."""
        near = self.near(number, size)
        return min(near or self.parts[number], key=lambda nodes: near.get(nodes, 0.0))

    def near(self, number: int, size: int) -> dict[Nodes, float]:
        """The parts of a molecule within one atom of a size, or of the nearest, that are judged."""
        parts = self.parts[number]
        nearest = max(1, min(abs(len(nodes) - size) for nodes in parts))
        return {s: d for s, d in parts.items() if abs(len(s) - size) <= nearest and d == d}


@lru_cache(maxsize=8)
def atlas_of(oracle: Oracle, smiles: tuple[str, ...]) -> Atlas:
    """The atlas of some molecules, made once for all methods that are judged on them."""
    return Atlas(oracle, smiles)
