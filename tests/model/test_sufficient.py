"""The smallest part that suffices, against predictors that can be checked by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from vgib.chem.vocabulary import ELEMENT
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.model.answer import Answer
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.policy import ANY, MUCH_SMALLER, Selection

DRUGS = load_drugs()["smiles"].tolist()[:60]


def count(*symbols: str) -> Callable[[PackedGraphs], Tensor]:
    """The number of atoms of some elements in each graph; of all atoms without any."""
    codes = torch.tensor([ELEMENT.codes[symbol] for symbol in symbols])

    def counted(graphs: PackedGraphs) -> Tensor:
        hit = torch.isin(graphs.x[:, 0].long(), codes) if symbols else torch.ones(len(graphs.x))
        graph = torch.arange(len(graphs)).repeat_interleave(graphs.sizes)
        return torch.zeros(len(graphs)).index_add_(0, graph, hit.float()).unsqueeze(1)

    return counted


def answered(smiles: Sequence[str], *members: Callable[[PackedGraphs], Tensor]) -> Answer:
    """What members say of molecules that score every atom alike."""
    graphs = from_smiles(smiles).graphs

    def ask(some: PackedGraphs, numbers: Sequence[int]) -> Tensor:
        return torch.stack([members[number](some) for number in numbers])

    scores = torch.full((len(members), graphs.num_nodes), 0.01)
    heavy = graphs.x[:, 0].long() != ELEMENT.codes["C"]
    scores[:, heavy] = 0.9
    return Answer.of(graphs, ask(graphs, range(len(members))), scores, ask, tolerance=(0.1,))


def test_the_smallest_part_with_the_same_value_is_found() -> None:
    answer = answered(["CCCCCN", "Nc1ccccc1CCCC", "CCC[N+](=O)[O-]"], count("N"))
    # What the gate cuts out by itself, on the carbon atom or the ring that it sits on.
    assert answer.chosen(ANY) == [[(4, 5)], [(0, 1, 2, 3, 4, 5, 6)], [(2, 3, 4, 5)]]
    found, why = answer.explained(ANY)
    assert [part.value for (part,) in found] == [1, 1, 1] and why == [None] * 3


def test_every_member_has_to_agree() -> None:
    answer = answered(["CCCCCCNO"], count("N"), count("O"))
    assert answer.member(0).chosen(ANY) == [[(5, 6, 7)]]  # no cut divides N and O
    apart = answered(["CCCCCCCNCO"], count("N"), count("O"))
    assert apart.member(0).chosen(ANY) == [[(6, 7)]]
    assert apart.chosen(ANY) == [[(7, 8, 9)]]


@pytest.mark.parametrize(
    ("smiles", "said", "why"),
    [
        ("c1ccccc1", count(), "one ring system or group"),
        ("CCCCCCN", count("S"), "about what the model expects of any molecule (to within 0.1)"),
    ],
)
def test_where_no_part_can_be_shown_the_answer_says_why(
    smiles: str, said: Callable[[PackedGraphs], Tensor], why: str
) -> None:
    (found,) = answered([smiles], said).recognitions(ANY)
    assert found.subgraphs == () and why in str(found.why_none)
    assert why in found.figure()


def test_a_value_that_no_atom_changes_much_is_told_with_what_changes_it_most() -> None:
    def value(graphs: PackedGraphs) -> Tensor:
        return count("N")(graphs) * 0.05 - count("Cl")(graphs) * 0.09

    (up, down) = answered(["CCCCCCN", "NCCCCCCCl"], value).recognitions(ANY, effects=True)
    assert [part.nodes for part in up.subgraphs] == [(5, 6)]
    assert [part.nodes for part in down.subgraphs] == [(6, 7)]
    assert [round(part.effect or 0, 3) for part in (*up.subgraphs, *down.subgraphs)] == [
        0.05,
        -0.09,
    ]
    assert "expects of any molecule (to within 0.1)" in str(up.why_none)
    assert str(up.why_none).endswith("shown is the part that raises it most")
    assert str(down.why_none).endswith("shown is the part that lowers it most")


def test_a_class_that_is_expected_of_no_atom_has_no_part() -> None:
    def classes(graphs: PackedGraphs) -> Tensor:
        active = count("Br")(graphs) * 8 - 2  # of nothing: 12 % active
        return torch.cat([torch.zeros_like(active), active], dim=1)

    answer = replace(answered(["CCCCCCO", "CCCCCCBr"], classes), classes=(0, 1))
    (no, yes) = answer.recognitions(ANY)
    assert no.subgraphs == () and "what the model expects of any molecule" in str(no.why_none)
    assert [part.nodes for part in yes.subgraphs] == [(5, 6)] and yes.why_none is None


@pytest.mark.parametrize(("of_nothing", "shown"), [(-0.5, [(0, 1)]), (-2.5, [])])
def test_a_part_that_speaks_for_a_class_is_shown_if_it_is_predicted_so(
    of_nothing: float, shown: list[tuple[int, ...]]
) -> None:
    def classes(graphs: PackedGraphs) -> Tensor:  # one sulfur atom is less sure than two
        active = count("S")(graphs) * 1.5 + of_nothing
        return torch.cat([torch.zeros_like(active), active], dim=1)

    answer = replace(answered(["SCCCCCCCCS"], classes), classes=(0, 1))
    (found,) = answer.recognitions(ANY)
    assert answer.predictions.tolist() == [1]
    assert [part.nodes for part in found.subgraphs] == shown
    assert "no part of at most 70 % of the atoms" in str(found.why_none)
    assert ("speaks for it most" in str(found.why_none)) == bool(shown)


def test_a_group_whose_ring_is_nearly_the_whole_molecule_stays_alone() -> None:
    (found,) = answered(["NNc1ccccc1"], count("N")).recognitions(ANY)
    assert [part.nodes for part in found.subgraphs] == [(0, 1)] and found.why_none is None


def test_a_group_between_two_rings_is_shown_with_the_better_scored_one() -> None:
    answer = answered(["c1ccc(N=Nc2ccccc2)cc1CCCCCC"], count("N"))
    for ring in ((0, 1, 2, 3, 12, 13), (6, 7, 8, 9, 10, 11)):
        scores = answer.node_scores.copy()
        scores[list(ring)] += 0.1
        ((nodes,),) = answer.with_scores(scores).chosen(ANY)
        assert nodes == tuple(sorted((*ring, 4, 5)))


def test_where_no_part_suffices_the_one_with_the_largest_effect_is_shown() -> None:
    def value(graphs: PackedGraphs) -> Tensor:
        return count("Cl")(graphs) * 0.15 + count("C")(graphs) / 100

    (found,) = answered(["ClCCCCCCCCCl"], value).recognitions(ANY)  # 0.38; to within 0.1
    (part,) = found.subgraphs  # one chlorine atom with nearly half of the carbon atoms
    assert part.nodes in ((0, 1, 2, 3), (6, 7, 8, 9), (0, 1, 2, 3, 4), (5, 6, 7, 8, 9))
    assert "no part of at most 70 % of the atoms" in str(found.why_none)
    assert "why this part: no part of" in found.figure() and "raises it most" in found.figure()


def test_two_equal_groups_are_two_answers_and_not_every_piece() -> None:
    def has_nitro(graphs: PackedGraphs) -> Tensor:
        return count("N")(graphs).clamp(max=1)

    answer = answered(["O=[N+]([O-])CCCCC[N+](=O)[O-]"], has_nitro)
    assert answer.chosen(Selection(n=3)) == [[(0, 1, 2, 3), (7, 8, 9, 10)]]
    assert answer.sufficient().why_none == [None]


def test_more_alternatives_never_change_the_first() -> None:
    answer = SubgraphRecognizer.load("mutagenicity").answer(DRUGS)
    one, three = answer.chosen(ANY), answer.chosen(Selection(n=3))
    assert [ranked[:1] for ranked in three] == one
    for ranked in three:
        for place, nodes in enumerate(ranked):
            assert not any(set(nodes) >= set(other) for other in ranked[:place])


@pytest.mark.parametrize("name", ["mutagenicity", "hlm"])
def test_shipped_models_predict_the_part_like_the_molecule(name: str) -> None:
    answer = SubgraphRecognizer.load(name).answer(DRUGS)
    found = answer.sufficient()
    assert 5 < sum(map(bool, found.found)) <= len(DRUGS)
    assert 3 < sum(why is None for why in found.why_none) < len(DRUGS)
    for graph, (ranked, why) in enumerate(zip(found.found, found.why_none, strict=True)):
        size = int(answer.graphs.sizes[graph])
        assert ranked or why
        for nodes in ranked if why is None else []:
            assert len(nodes) <= MUCH_SMALLER * size
            mask = np.isin(np.arange(size), nodes)[None]
            part, whole = answer.predict_parts(graph, mask)[:, 0], answer.values[:, graph]
            if answer.classes is None:
                assert (np.abs(part - whole) <= answer.tolerance[0] + 1e-5).all()
                continue
            column = answer.mean[graph].argmax()
            assert part.mean(0).argmax() == column
            assert (part[:, column] >= whole[:, column] - answer.tolerance[0] - 1e-5).all()


def test_a_ring_system_whose_atoms_all_score_low_is_no_part() -> None:
    (found,) = SubgraphRecognizer.load("mutagenicity").recognize(["O=C1C=CC(=O)c2ccccc12"])
    assert max(found.scores) < 0.5
    assert found.subgraphs == () and "one ring system" in str(found.why_none)
