"""The part that is predicted most nearly like its molecule, among all of its size."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from rdkit import Chem
from torch import Tensor

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.model.answer import Answer
from vgib.model.parts import Ask
from vgib.select.blocktree import block_trees, connected_subgraphs
from vgib.select.policy import Selection

DRUGS = load_drugs()["smiles"].tolist()
HALF = Selection(0.5, by="prediction")


def answered(graphs: PackedGraphs, ask: Any) -> Answer:
    """The answer of a predictor that can be checked by hand."""
    outputs, scores = ask(graphs)

    def again(some: PackedGraphs, members: Sequence[int]) -> Tensor:
        return torch.stack([ask(some)[0] for _ in members])

    wanted: Ask = again
    return Answer.of(graphs, outputs[None], scores[None], wanted)


def heavy_hydrogens(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """The number of hydrogens; scores are all equal."""
    hydrogens = graphs.x[:, 2].float()
    graph = torch.arange(len(graphs)).repeat_interleave(graphs.sizes)
    total = torch.zeros(len(graphs)).index_add_(0, graph, hydrogens)
    return total.unsqueeze(1), torch.full((graphs.num_nodes,), 0.5)


def test_the_part_that_is_predicted_nearest_is_found() -> None:
    graphs = from_smiles(DRUGS[:30]).graphs
    found = answered(graphs, heavy_hydrogens).choose(HALF, most=10**6)
    trees = block_trees(graphs, blocks_of(graphs, graphs.x, graphs.edge_attr))
    whole, _ = heavy_hydrogens(graphs)
    for number, (subgraph,) in enumerate(found):
        mol = Chem.MolFromSmiles(DRUGS[number])
        size = len(subgraph.nodes)
        unions = connected_subgraphs(trees[number], max(1, size - 2), size + 2).masks
        rows = trees[number].nodes(unions)
        near = rows[
            np.abs(rows.sum(1) - mol.GetNumAtoms() / 2) <= abs(size - mol.GetNumAtoms() / 2)
        ]
        own = _hydrogens(
            DRUGS[number], np.flatnonzero(rows[(rows == _row(subgraph.nodes, mol)).all(1)][0])
        )
        distances = [
            abs(_hydrogens(DRUGS[number], np.flatnonzero(r)) - float(whole[number])) for r in near
        ]
        assert abs(own - float(whole[number])) <= min(distances) + 1e-6


def _row(nodes: tuple[int, ...], mol: Chem.Mol) -> np.ndarray:
    row = np.zeros(mol.GetNumAtoms(), dtype=bool)
    row[list(nodes)] = True
    return row


def _hydrogens(smiles: str, atoms: np.ndarray) -> int:
    capped = Chem.MolFromSmiles(fragment(smiles, atoms).capped_smiles)
    return sum(atom.GetTotalNumHs() for atom in capped.GetAtoms())


def test_no_ring_is_cut_and_fragments_are_connected() -> None:
    graphs = from_smiles(DRUGS[:20]).graphs
    found = answered(graphs, heavy_hydrogens).choose(Selection((0.3, 0.6), by="prediction", n=3))
    for smiles, parts in zip(DRUGS, found, strict=False):
        assert 1 <= len(parts) <= 6
        for part in parts:
            assert fragment(smiles, part.nodes).valid
            assert part.smiles is not None
            assert "." not in part.smiles


def test_few_candidates_are_those_of_the_highest_score() -> None:
    graphs = from_smiles(["CC(=O)Nc1ccc(O)cc1"]).graphs

    def outputs(some: PackedGraphs) -> tuple[Tensor, Tensor]:
        scores = torch.zeros(some.num_nodes)
        scores[-1] = 1.0  # the last ring atom
        return torch.zeros(len(some), 1), scores

    ((part,),) = answered(graphs, outputs).choose(Selection(0.6, by="prediction"), most=1)
    assert 10 in part.nodes


def test_without_slack_every_part_has_the_nearest_reachable_size() -> None:
    graphs = from_smiles(["CC(C)Cc1ccc(cc1)C(C)C(=O)O"]).graphs

    def outputs(some: PackedGraphs) -> tuple[Tensor, Tensor]:
        return some.sizes.double().unsqueeze(1), torch.linspace(0, 1, graphs.num_nodes)

    answer = answered(graphs, outputs)
    nine = Selection(9 / graphs.num_nodes, by="prediction", n=3)
    (loose,) = answer.choose(nine)
    (exact,) = answer.choose(nine, slack=0)
    assert {len(part.nodes) for part in exact} == {9}
    assert len(loose[0].nodes) == 10  # nearest to the whole in size, which is what is predicted
