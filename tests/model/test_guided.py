"""Parts of molecules that are predicted like the whole."""

import numpy as np
import pytest
import torch
from rdkit import Chem
from torch import Tensor

from vgib.chem.blocks import blocks_of
from vgib.chem.fragment import fragment
from vgib.data.molecules import capped_parts, from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.model.guided import guided_subgraphs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select import masks as select
from vgib.select.blocktree import block_trees, connected_unions

DRUGS = load_drugs()["smiles"].tolist()


def heavy_hydrogens(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """A predictor that can be checked by hand: the number of hydrogens; scores are all equal."""
    hydrogens = graphs.x[:, 2].float()
    graph = torch.arange(len(graphs)).repeat_interleave(graphs.sizes)
    total = torch.zeros(len(graphs)).index_add_(0, graph, hydrogens)
    return total.unsqueeze(1), torch.full((graphs.num_nodes,), 0.5)


@pytest.mark.parametrize("features", ["rich", "element"])
def test_a_capped_part_has_the_features_of_its_capped_smiles(features: str) -> None:
    graphs = from_smiles(DRUGS, features=features).graphs
    rng = np.random.default_rng(0)
    blocks = blocks_of(graphs, graphs.edge_attr)
    sizes = np.maximum(1, graphs.sizes.numpy() // 2)
    mask = select.random_ring_intact(graphs, blocks, sizes, rng)
    parts = capped_parts(graphs, torch.from_numpy(mask), features)
    pieces = np.split(mask, graphs.node_ptr.numpy()[1:-1])
    different = 0
    for number, (smiles, piece) in enumerate(zip(DRUGS, pieces, strict=True)):
        capped = fragment(smiles, np.flatnonzero(piece)).capped_smiles
        expected = from_smiles([capped], features=features).graphs.x
        ours = sorted(map(tuple, parts.to_data(number).x.tolist()))
        different += ours != sorted(map(tuple, expected.tolist()))
    assert different <= 0.01 * len(DRUGS)  # phosphorus next to a cut


def test_the_part_that_is_predicted_nearest_is_found() -> None:
    graphs = from_smiles(DRUGS[:30]).graphs
    found = guided_subgraphs(graphs, heavy_hydrogens, keep_ratio=0.5, candidates=10**6)
    trees = block_trees(graphs, blocks_of(graphs, graphs.edge_attr))
    whole, _ = heavy_hydrogens(graphs)
    for number, (subgraph,) in enumerate(found):
        mol = Chem.MolFromSmiles(DRUGS[number])
        size = len(subgraph.nodes)
        unions = connected_unions(trees[number], max(1, size - 2), size + 2).masks
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
    for smiles, parts in zip(
        DRUGS, guided_subgraphs(graphs, heavy_hydrogens, n=3, keep_ratio=[0.3, 0.6]), strict=False
    ):
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

    ((part,),) = guided_subgraphs(graphs, outputs, keep_ratio=0.6, candidates=1)
    assert 10 in part.nodes


def test_plain_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="only molecules"):
        guided_subgraphs(generate_ba2motifs(2), heavy_hydrogens)


@pytest.mark.parametrize("classes", [False, True])
def test_the_estimator_takes_it_as_a_rule(classes: bool) -> None:
    y = np.arange(40) % 2 if classes else np.linspace(0, 1, 40)
    model = SubgraphRecognizer("gin", hidden=8, depth=2, epochs=2).fit(DRUGS[:40], y)
    found = model.subgraphs(DRUGS[:3], rule="guided", keep_ratio=0.5)
    assert [len(parts) for parts in found] == [1, 1, 1]
    recognized = model.recognize(DRUGS[:3], rule="guided", keep_ratio=0.5)
    assert [r.subgraphs[0] for r in recognized] == [parts[0] for parts in found]


def test_without_slack_every_part_has_the_nearest_reachable_size() -> None:
    graphs = from_smiles(["CC(C)Cc1ccc(cc1)C(C)C(=O)O"]).graphs
    scores = torch.linspace(0, 1, graphs.num_nodes)

    def outputs(some: PackedGraphs) -> tuple[Tensor, Tensor]:
        return some.sizes.double().unsqueeze(1), scores

    whole = outputs(graphs)
    share = 9 / graphs.num_nodes
    (loose,) = guided_subgraphs(graphs, outputs, 3, keep_ratio=share, whole=whole)
    (exact,) = guided_subgraphs(graphs, outputs, 3, keep_ratio=share, whole=whole, slack=0)
    assert {len(part.nodes) for part in exact} == {9}
    assert len(loose[0].nodes) == 10  # nearest to the whole in size, which is what is predicted
