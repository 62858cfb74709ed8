"""Datasets in which the part of each graph that makes its class is known."""

from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import torch

from vgib.data import catalog
from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.data.splits import Fractions, Index, Split, random_split
from vgib.errors import unknown_name

KNOWN = (
    "BA-2Motifs",
    "BA-2Motifs-published",
    "Mutagenicity",
    "attribution/benzene",
    "attribution/fluoride_carbonyl",
    "OpenGraphXAI/alfa",
    "OpenGraphXAI/bravo",
    "OpenGraphXAI/charlie",
    "SPMotif-0.5",
    "SPMotif-0.7",
    "SPMotif-0.9",
)
FRACTIONS: Fractions = (0.8, 0.1, 0.1)
VALIDATION_SHARE = 0.1
"""The share of official training graphs that validate where only training and test are given."""
MUTAGEN = 0
"""The class of mutagens in the TU files."""

Alternatives = tuple[tuple[int, ...], ...]
"""The sets of nodes, numbered within their graph, of which each one explains the class."""


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Graphs with the nodes that make their class.

    Attributes:
        graphs: With classes as labels; ``node_truth`` marks the nodes of all explanations.
        alternatives: For each graph its right explanations: an empty tuple for a graph whose class
            is the absence of something, such as a molecule without a benzene ring, and ``None``
            where nobody knows, such as a mutagen without a marked group.
        split: Who trains, validates and tests.
    """

    graphs: PackedGraphs
    alternatives: tuple[Alternatives | None, ...]
    split: Split

    def __len__(self) -> int:
        return len(self.graphs)

    def part(self, index: Index) -> tuple[PackedGraphs, list[Alternatives | None]]:
        """Some of the graphs with their explanations."""
        return self.graphs[index], [self.alternatives[number] for number in index]


def load_known(name: str, *, seed: int = 0, **places: Unpack[Places]) -> KnownAnswers:
    """A dataset of :data:`KNOWN`; the seed is that of random splits and of generated graphs.

    The split is the official one where there is one, else 80/10/10 at random. In Mutagenicity only
    mutagens with marked edges have an explanation: the ends of those edges. What makes the other
    mutagens so is not known.
    """
    if name not in KNOWN:
        raise unknown_name("dataset with known answers", name, KNOWN)
    if name.startswith("attribution/"):
        return _attribution(name, seed, places)
    graphs = catalog.load(name, seed=seed, progress=False, **places)
    if catalog.entry(name).split_file:
        split = catalog.load_split(name, progress=False, **places)
    elif name.startswith("SPMotif"):
        from vgib.data.spmotif import spmotif_split

        split = spmotif_split()
    else:
        split = random_split(len(graphs), FRACTIONS, seed=seed)
    return KnownAnswers(graphs, _marked_nodes(name, graphs), split)


def _marked_nodes(name: str, graphs: PackedGraphs) -> tuple[Alternatives | None, ...]:
    """The marked nodes of each graph as its only explanation."""
    assert graphs.node_truth is not None
    places = graphs.node_truth.nonzero().squeeze(1)
    of_graph = torch.searchsorted(graphs.node_ptr, places, right=True) - 1
    local = (places - graphs.node_ptr[of_graph]).numpy()
    cuts = np.searchsorted(of_graph.numpy(), np.arange(1, len(graphs)))
    marked = [tuple(nodes.tolist()) for nodes in np.split(local, cuts)]
    if name != "Mutagenicity":
        return tuple((nodes,) if nodes else () for nodes in marked)
    return tuple(
        () if label != MUTAGEN else (nodes,) if nodes else None
        for nodes, label in zip(marked, graphs.labels.tolist(), strict=True)
    )


def _attribution(name: str, seed: int, places: Places) -> KnownAnswers:
    """Molecules of google-research/graph-attribution with all of their right explanations."""
    from vgib.data.molecules import from_smiles

    table = catalog.load_table(name, progress=False, **places)
    read = from_smiles(table["smiles"].tolist(), table["label"].to_numpy().astype(int), workers=1)
    told = [table["explanations"].iloc[row] for row in read.rows]
    alternatives = tuple(tuple(tuple(map(int, nodes)) for nodes in choices) for choices in told)
    truth = torch.zeros(read.graphs.num_nodes, dtype=torch.bool)
    for first, choices in zip(read.graphs.node_ptr.tolist(), alternatives, strict=False):
        truth[[first + node for nodes in choices for node in nodes]] = True
    is_test = table["split"].to_numpy()[read.rows] == "test"
    rest = np.flatnonzero(~is_test)
    shares = (1 - VALIDATION_SHARE, VALIDATION_SHARE, 0.0)
    inner = random_split(len(rest), shares, seed=seed)
    split = Split(rest[inner.train], rest[inner.val], np.flatnonzero(is_test))
    return KnownAnswers(replace(read.graphs, node_truth=truth), alternatives, split)
