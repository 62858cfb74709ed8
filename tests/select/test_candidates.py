"""Which parts of a molecule a model is asked about."""

import numpy as np
import pytest

from vgib.chem.blocks import blocks_of
from vgib.data.molecules import from_smiles, load_drugs
from vgib.select import candidates
from vgib.select.blocktree import block_trees, connected_subgraphs, nearest_size
from vgib.select.candidates import Candidates

DRUGS = load_drugs()["smiles"].tolist()[:30]
GRAPHS = from_smiles(DRUGS).graphs
BLOCKS = blocks_of(GRAPHS, GRAPHS.x, GRAPHS.edge_attr)
SCORES = np.random.default_rng(0).random(GRAPHS.num_nodes)
HALVES = np.maximum(1, GRAPHS.sizes.numpy() // 2)


def rows(masks):
    return {tuple(np.flatnonzero(mask).tolist()) for mask in masks}


@pytest.mark.parametrize("slack", [0, 1])
def test_candidates_are_all_parts_near_the_reachable_size(slack: int) -> None:
    found = Candidates(GRAPHS, BLOCKS).near(SCORES, [HALVES], most=10**6, slack=slack)
    for tree, wanted, (masks,) in zip(block_trees(GRAPHS, BLOCKS), HALVES, found, strict=True):
        near = nearest_size(tree, int(wanted))
        subgraphs = connected_subgraphs(tree, max(1, near - slack), near + slack).masks
        assert rows(masks) == rows(tree.nodes(subgraphs)) and len(masks) == len(subgraphs)


def test_of_many_candidates_those_of_the_highest_mean_score_are_kept() -> None:
    every = Candidates(GRAPHS, BLOCKS).near(SCORES, [HALVES], most=10**6)
    few = Candidates(GRAPHS, BLOCKS).near(SCORES, [HALVES], most=3)
    own = np.split(SCORES, GRAPHS.node_ptr.numpy()[1:-1])
    for scores, (some,), (masks,) in zip(own, few, every, strict=True):
        means = sorted((scores[mask].mean() for mask in masks), reverse=True)
        assert sorted((scores[mask].mean() for mask in some), reverse=True) == pytest.approx(
            means[:3]
        )


def test_several_sizes_at_once_are_those_one_by_one() -> None:
    sizes = [HALVES, np.maximum(1, HALVES // 2), GRAPHS.sizes.numpy()]
    together = Candidates(GRAPHS, BLOCKS).near(SCORES, sizes)
    for number, size in enumerate(sizes):
        alone = Candidates(GRAPHS, BLOCKS).near(SCORES, [size])
        for each, (masks,) in zip(together, alone, strict=True):
            np.testing.assert_array_equal(each[number], masks)


def test_the_same_parts_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*args, **options):
        calls.append(args)
        return connected_subgraphs(*args, **options)

    monkeypatch.setattr(candidates, "connected_subgraphs", counted)
    found = Candidates(GRAPHS, BLOCKS)
    first = found.near(SCORES, [HALVES], most=10**6)
    again = found.near(1 - SCORES, [HALVES], most=10**6)
    assert len(calls) == len(GRAPHS)
    assert all(a[0] is b[0] for a, b in zip(first, again, strict=True))


def test_a_molecule_with_too_many_parts_still_has_a_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidates, "MOST_VISITED", 2)
    for (masks,) in Candidates(GRAPHS, BLOCKS).near(SCORES, [HALVES]):
        assert len(masks) >= 1


def test_a_size_that_was_not_asked_before_is_listed_beside_those_that_were() -> None:
    asked = Candidates(GRAPHS, BLOCKS)
    asked.near(SCORES, [HALVES], most=10**6)
    both = asked.near(SCORES, [HALVES, HALVES // 2 + 1], most=10**6)
    fresh = Candidates(GRAPHS, BLOCKS).near(SCORES, [HALVES, HALVES // 2 + 1], most=10**6)
    for one, other in zip(both, fresh, strict=True):
        assert [rows(masks) for masks in one] == [rows(masks) for masks in other]


def test_of_graphs_that_are_not_asked_about_there_are_no_parts() -> None:
    found = Candidates(GRAPHS, BLOCKS).by_size(SCORES, 0.5, only=[1])
    assert [masks.shape[1] for masks in found] == GRAPHS.sizes.tolist()
    assert [bool(len(masks)) for masks in found[:3]] == [False, True, False]


def test_the_best_part_of_each_size_holds_no_more_than_the_share_asked_for() -> None:
    found = Candidates(GRAPHS, BLOCKS).by_size(SCORES, 0.5)
    for masks, size in zip(found, GRAPHS.sizes.tolist(), strict=True):
        sizes = masks.sum(1).tolist()
        assert sizes == sorted(set(sizes)) and max(sizes, default=0) <= size / 2
