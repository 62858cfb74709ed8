"""From node scores to subgraphs that people can read."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from rdkit import Chem
from torch_geometric.data import Data

from vgib.chem.fragment import fragment
from vgib.data.capped import atom_features
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError, UnknownNameError
from vgib.model.results import MOST_SHOWN, Recognition, Recognitions, Subgraph, recognitions
from vgib.model.subgraphs import find_subgraphs
from vgib.select.policy import Selection

SMILES = load_drugs()["smiles"].tolist()[:20]
MOLECULES: PackedGraphs = from_smiles(SMILES).graphs
MOTIFS = generate_ba2motifs(6)
RULES: list[Any] = ["ring_intact", "connected", "largest_part", "nodes"]


def random_scores(graphs: PackedGraphs, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(graphs.num_nodes)


def path(*scores: float) -> tuple[PackedGraphs, Any]:
    """A path whose nodes have these scores."""
    n = len(scores)
    forth = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    data = Data(x=torch.ones(n, 1), edge_index=torch.cat([forth, forth.flip(0)], dim=1))
    return PackedGraphs.from_data([data]), np.array(scores)


def components(graphs: PackedGraphs, number: int, nodes: tuple[int, ...]) -> int:
    """How many parts a set of nodes has, by flooding."""
    edges = graphs.to_data(number).edge_index.t().tolist()
    left, count = set(nodes), 0
    while left:
        count += 1
        seen, queue = set(), [left.pop()]
        while queue:
            node = queue.pop()
            seen.add(node)
            queue += [b for a, b in edges if a == node and b in left and b not in seen]
        left -= seen
    return count


# ---- the rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("nodes", (0, 3, 4)),  # the three best
        ("largest_part", (3, 4)),  # of these the largest part
        ("connected", (2, 3, 4)),  # grown from the best; node 5 is worse than node 2
    ],
)
def test_each_rule_chooses_what_it_says(rule: Any, expected: tuple[int, ...]) -> None:
    graphs, scores = path(0.8, 0.1, 0.4, 0.7, 0.9, 0.2)
    ((found,),) = find_subgraphs(graphs, scores, keep_ratio=0.5, rule=rule)
    assert found.nodes == expected
    assert found.score == pytest.approx(scores[list(expected)].mean())
    assert found.keep_ratio == pytest.approx(len(expected) / 6)
    assert found.smiles is None


def test_rings_and_multiple_bonds_stay_whole_in_molecules() -> None:
    graphs = from_smiles(["CC(=O)Oc1ccccc1"]).graphs
    scores = np.array([0.1, 0.9, 0.2, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1])
    ((found,),) = find_subgraphs(graphs, scores, keep_ratio=0.2)
    assert found == Subgraph((1, 2, 3), pytest.approx(0.4), 0.3, "*OC(*)=O")
    ((greedy,),) = find_subgraphs(graphs, scores, keep_ratio=0.2, rule="nodes")
    assert greedy.nodes == (1, 4)


def test_without_a_share_as_many_nodes_are_kept_as_score_one_half() -> None:
    graphs, scores = path(0.6, 0.2, 0.5, 0.1, 0.49)
    assert Selection(rule="nodes").sizes(scores, graphs)[0].tolist() == [2]
    ((found,),) = find_subgraphs(graphs, scores, rule="nodes")
    assert found.nodes == (0, 2)
    low, below = path(0.1, 0.3, 0.2)
    assert find_subgraphs(low, below)[0][0].nodes == (1,)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_good_fragments_of_molecules(rule: Any) -> None:
    found = find_subgraphs(MOLECULES, random_scores(MOLECULES), keep_ratio=[0.3, 0.6], rule=rule)
    assert len(found) == len(SMILES)
    for number, (smiles, subgraphs) in enumerate(zip(MOLECULES.ids, found, strict=True)):
        for subgraph in subgraphs:
            parts = components(MOLECULES, number, subgraph.nodes)
            assert rule == "nodes" or parts == 1
            if parts > 1:
                assert subgraph.smiles == ""  # no molecule
                continue
            parent, part = Chem.MolFromSmiles(smiles), Chem.MolFromSmiles(subgraph.smiles)
            assert part is not None
            mapped = fragment(smiles, subgraph.nodes).atom_map
            kept = [(a, b) for a, b in zip(part.GetAtoms(), mapped, strict=True) if b >= 0]
            assert {b for _, b in kept} == set(subgraph.nodes)
            for atom, original in kept:
                assert atom.GetSymbol() == parent.GetAtomWithIdx(original).GetSymbol()


def test_ring_intact_is_the_default_for_molecules_and_connected_for_others() -> None:
    scores = random_scores(MOLECULES)
    for graphs, rule in ((MOLECULES, "ring_intact"), (MOTIFS, "connected")):
        scores = random_scores(graphs)
        expected = find_subgraphs(graphs, scores, keep_ratio=0.4, rule=rule)
        assert find_subgraphs(graphs, scores, keep_ratio=0.4) == expected
    parent = [Chem.MolFromSmiles(smiles) for smiles in MOLECULES.ids]
    for mol, (found, *_) in zip(
        parent, find_subgraphs(MOLECULES, random_scores(MOLECULES)), strict=True
    ):
        for inner, outer in fragment(mol, found.nodes).attachments:
            bond = mol.GetBondBetweenAtoms(inner, outer)
            assert not bond.IsInRing() and bond.GetBondTypeAsDouble() == 1


def test_several_subgraphs_are_ranked_and_different() -> None:
    scores = random_scores(MOTIFS)
    for found in find_subgraphs(MOTIFS, scores, 3, keep_ratio=0.2):
        assert 1 < len(found) <= 3
        assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
        assert len({s.nodes for s in found}) == len(found)


def test_several_sizes_come_in_the_order_asked_for() -> None:
    scores = random_scores(MOTIFS)
    for found in find_subgraphs(MOTIFS, scores, keep_ratio=(0.6, 0.2, 0.4)):
        assert [len(s.nodes) for s in found] == [15, 5, 10]


@pytest.mark.parametrize("share", [np.float32(0.2), np.float64(0.2), torch.tensor(0.2), [0.2]])
def test_a_share_may_be_any_number(share: Any) -> None:
    scores = random_scores(MOTIFS)
    assert find_subgraphs(MOTIFS, scores, keep_ratio=share) == find_subgraphs(
        MOTIFS, scores, keep_ratio=0.2
    )


def test_a_share_of_one_keeps_everything() -> None:
    assert find_subgraphs(MOTIFS, random_scores(MOTIFS), keep_ratio=1)[0][0].nodes == tuple(
        range(25)
    )


# ---- odd graphs and mistakes ---------------------------------------------------------------------


@pytest.mark.parametrize("share", [None, 0.5])
@pytest.mark.parametrize("rule", RULES[1:])
def test_a_graph_without_nodes_has_no_subgraphs(rule: Any, share: float | None) -> None:
    empty = Data(x=torch.zeros(0, 1), edge_index=torch.zeros(2, 0, dtype=torch.int64))
    graphs = PackedGraphs.from_data([MOTIFS[0], empty, MOTIFS[1]])
    found = find_subgraphs(graphs, random_scores(graphs), keep_ratio=share, rule=rule)
    assert [len(item) for item in found] == [1, 0, 1]


def test_no_graphs_have_no_subgraphs() -> None:
    assert find_subgraphs(MOTIFS[[]], np.zeros(0), keep_ratio=0.5) == []


def test_a_molecule_of_one_atom_is_its_own_subgraph() -> None:
    graphs = from_smiles(["C"]).graphs
    assert find_subgraphs(graphs, np.array([0.1])) == [[Subgraph((0,), 0.1, 1.0, "C")]]


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ring_intact'"):
        find_subgraphs(MOLECULES, random_scores(MOLECULES), rule="ring-intact")


def test_only_molecules_have_rings_to_keep_whole() -> None:
    with pytest.raises(InputError, match="use rule='connected'"):
        find_subgraphs(MOTIFS, random_scores(MOTIFS), rule="ring_intact")


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan"), []])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(InputError, match="keep_ratio"):
        find_subgraphs(MOTIFS, random_scores(MOTIFS), keep_ratio=share)


def test_at_least_one_subgraph_must_be_asked_for() -> None:
    with pytest.raises(InputError, match="n is 0"):
        find_subgraphs(MOTIFS, random_scores(MOTIFS), 0)


@pytest.mark.parametrize("scores", [np.zeros(3), np.full(MOTIFS.num_nodes, np.nan)])
def test_scores_that_do_not_fit_are_refused(scores: Any) -> None:
    with pytest.raises(InputError, match="score"):
        find_subgraphs(MOTIFS, scores, keep_ratio=0.5)


# ---- what graphs are, and what is said of them ---------------------------------------------------


def test_molecules_are_known_by_their_names_bonds_and_words() -> None:
    assert atom_features(MOLECULES) == "rich"
    assert atom_features(from_smiles(["CC"], features="element").graphs) == "element"
    assert atom_features(MOTIFS) is None
    assert atom_features(PackedGraphs.from_data(MOLECULES.to_data_list()[:2])) is None


def test_a_recognition_becomes_plain_json() -> None:
    subgraph = Subgraph((0, 1), 0.123456, 0.5, "*CC")
    record = Recognition("CCO", 0.25, (0.123456, 0.5, 0.9), (subgraph,)).to_json()
    assert record == json.loads(json.dumps(record)) | {
        "subgraphs": [
            {"nodes": (0, 1), "score": 0.1235, "keep_ratio": 0.5, "smiles": "*CC"}
            | {"value": None, "effect": None}
        ]
    }
    assert record["scores"] == [0.1235, 0.5, 0.9]


def test_by_default_a_molecule_keeps_the_part_whose_blocks_score_one_half() -> None:
    graphs = from_smiles(["CC(=O)Nc1ccc(O)cc1"]).graphs
    ring = [4, 5, 6, 7, 9, 10]
    scores = np.full(11, 0.1)
    scores[ring] = [0.9, 0.4, 0.9, 0.6, 0.7, 0.6]
    ((found,),) = find_subgraphs(graphs, scores)
    assert found.nodes == tuple(ring)


# ---- how they show themselves --------------------------------------------------------------------


def circles(html: str) -> int:
    return html.count("<circle ")


def test_a_molecule_shows_itself_with_its_fragment() -> None:
    part = Subgraph((0, 1), 0.375, 2 / 3, "*CC")
    shown = Recognition("CCO", 0.123456, (0.5, 0.25, 1.0), (part,))._repr_html_()
    assert "<svg" in shown and "prediction 0.12346" in shown and "<code>*CC</code>" in shown
    assert "Molecule CCO; 2 of 3 atoms chosen" in shown
    assert "<svg" in (part._repr_html_() or "") and "67% of the atoms" in (part._repr_html_() or "")
    assert Subgraph((0,), 1.0, 1.0)._repr_html_() is None
    assert str(part) == "nodes 0, 1; score 0.38"


def test_the_best_part_is_outlined_unless_another_is_asked_for() -> None:
    parts = (Subgraph((0, 1), 0.5, 2 / 3), Subgraph((2,), 0.25, 1 / 3))
    one = Recognition("CCO", 0.5, (0.5, 0.5, 0.25), parts)
    assert "2 of 3 atoms chosen" in one.svg() and one.svg() == one.svg(0)
    assert "1 of 3 atoms chosen" in one.svg(1)


def test_a_plain_graph_shows_itself_by_its_edges() -> None:
    graphs = generate_ba2motifs(2)
    scores = np.linspace(0, 1, graphs.num_nodes)
    found = recognitions(graphs, [0, 1], scores, find_subgraphs(graphs, scores, keep_ratio=0.2))
    for number, one in enumerate(found):
        edges = graphs[number].edge_index.t().tolist()
        assert one.edges.tolist() == edges and len(one.scores) == graphs[number].num_nodes
        shown = one._repr_html_()
        assert circles(shown) == graphs[number].num_nodes
        assert shown.count("<line ") == len(edges) // 2
    assert "edges" not in repr(found[0]) and "edges" not in found[0].to_json()


def test_a_list_shows_the_first_of_its_pictures() -> None:
    one = Recognition("g<1>", 1, (0.5, 0.2), (Subgraph((0,), 0.5, 0.5),), np.array([[0, 1]]))
    found = Recognitions([one] * (MOST_SHOWN + 3))
    assert circles(found._repr_html_()) == 2 * MOST_SHOWN
    assert "and 3 more" in found._repr_html_()
    assert circles(found[:2]._repr_html_()) == 4 and "more" not in found[:2]._repr_html_()
    assert found[0] is one and "g&lt;1&gt;" in found[0]._repr_html_()


@pytest.mark.parametrize(("beyond", "told"), [(0, ""), (1, "and 1 more"), (2, "and 2 more")])
def test_a_gallery_says_how_many_it_leaves_out(beyond: int, told: str) -> None:
    one = Recognition("g", 1, (0.5, 0.2), (Subgraph((0,), 0.5, 0.5),), np.array([[0, 1]]))
    shown = Recognitions([one] * (MOST_SHOWN + beyond))._repr_html_()
    assert told in shown and ("more" in shown) == bool(told)
