"""Against the known explanation, and against another seed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.explain.explainer import Case, Explainer, RandomScores
from vgib.explain.truth import (
    SHARES,
    agreement,
    ground_truth,
    random_connected_scores,
    self_consistency,
    stability,
    sufficient_share,
)
from vgib.select.masks import keep_ratio, largest_connected


def test_the_truth_itself_is_found_and_chance_is_one_half() -> None:
    graphs = generate_ba2motifs(20, seed=0)
    assert graphs.node_truth is not None
    found = ground_truth(graphs, graphs.node_truth.float())
    assert found.node_auc.value == 1
    assert found.precision.value == 1
    assert found.edge_auc is None or found.edge_auc.value > 0.95
    assert 0.4 < found.random_node_auc.value < 0.6
    assert found.random_precision.value < 0.4


def test_without_truth_there_is_nothing_to_compare_with(graphs: PackedGraphs) -> None:
    with pytest.raises(InputError, match="no node_truth"):
        ground_truth(graphs, torch.rand(graphs.num_nodes))


def test_stability_is_the_mean_overlap_of_pairs() -> None:
    ptr = torch.tensor([0, 4, 6])
    a = torch.tensor([0.9, 0.8, 0.1, 0.0, 0.9, 0.1])
    b = torch.tensor([0.9, 0.0, 0.8, 0.1, 0.9, 0.1])
    (found,) = stability([a, b], ptr)
    assert found.jaccard.value == pytest.approx((1 / 3 + 1) / 2)
    (same,) = stability([a, a, a], ptr)
    assert same.jaccard.value == 1
    assert same.random_jaccard.value < 1
    with pytest.raises(InputError, match="at least two runs; got 1"):
        stability([a], ptr)


def slow_auc(scores: list[float], truth: set[int]) -> float:
    pairs = [
        1.0 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0.0
        for a in truth
        for b in range(len(scores))
        if b not in truth
    ]
    return sum(pairs) / len(pairs)


def slow_iou(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other)


def some_answers(graphs: PackedGraphs, rng: np.random.Generator) -> list[list[list[int]] | None]:
    """Up to four alternatives for each graph, none for some, unknown for others."""
    made: list[list[list[int]] | None] = []
    for number, size in enumerate(graphs.sizes.tolist()):
        choices = [
            rng.choice(size, rng.integers(1, size), replace=False).tolist()
            for _ in range(rng.integers(1, 5))
        ]
        made.append(None if number % 7 == 3 else [] if number % 5 == 4 else choices)
    return made


def test_agreement_is_what_a_slow_version_by_sets_gives() -> None:
    rng = np.random.default_rng(0)
    graphs = replace(generate_ba2motifs(30, seed=1), edge_truth=None)
    answers = some_answers(graphs, rng)
    scores = torch.from_numpy(rng.integers(0, 6, graphs.num_nodes) / 5)
    part = scores >= 0.7
    found = agreement(graphs, answers, scores, part)
    ious, true_ious, ratios, areas, kept, wrong = [], [], [], [], [], []
    edges: list[float] = []
    edge_truth: list[bool] = []
    for number, choices in enumerate(answers):
        own = scores[25 * number : 25 * number + 25].tolist()
        mine = {node for node in range(25) if own[node] >= 0.7}
        if choices == []:
            wrong.append(len(mine) / 25)
        if not choices:
            continue
        order = sorted(range(25), key=lambda node: (-own[node], node))
        best = max(choices, key=lambda nodes: slow_iou(set(nodes), mine))
        ious.append(slow_iou(set(best), mine))
        ratios.append(len(mine) / len(best))
        true_ious.append(max(slow_iou(set(nodes), set(order[: len(nodes)])) for nodes in choices))
        by_auc = max(choices, key=lambda nodes: slow_auc(own, set(nodes)))
        areas.append(slow_auc(own, set(by_auc)))
        kept.append(len(mine) / 25)
        for a, b in graphs.to_data(number).edge_index.T.tolist():
            edges.append(min(own[a], own[b]))
            edge_truth.append(a in by_auc and b in by_auc)
    assert found.explained == len(ious)
    assert found.unexplained == len(wrong)
    assert found.iou == pytest.approx(np.mean(ious))
    assert found.iou_true == pytest.approx(np.mean(true_ious))
    assert found.size_ratio == pytest.approx(np.median(ratios))
    assert found.node_auc == pytest.approx(np.mean(areas))
    assert found.kept == pytest.approx(np.mean(kept))
    assert found.wrongly_marked == pytest.approx(np.mean(wrong))
    true_edges = {place for place, is_true in enumerate(edge_truth) if is_true}
    assert found.edge_auc == pytest.approx(slow_auc(edges, true_edges))


def test_the_truth_agrees_with_itself_and_an_empty_part_with_nothing() -> None:
    graphs = generate_ba2motifs(6)
    answers = [[[20, 21, 22, 23, 24]]] * 6
    assert graphs.node_truth is not None
    perfect = agreement(graphs, answers, graphs.node_truth.float(), graphs.node_truth)
    assert (perfect.iou, perfect.iou_true, perfect.size_ratio) == (1, 1, 1)
    assert (perfect.node_auc, perfect.edge_auc) == (1, 1)
    assert perfect.kept == pytest.approx(0.2)
    assert perfect.wrongly_marked is None
    nothing = agreement(graphs, answers, torch.zeros(150), torch.zeros(150) > 0)
    assert (nothing.iou, nothing.size_ratio, nothing.node_auc) == (0, 0, 0.5)
    with pytest.raises(InputError, match="none of these graphs"):
        agreement(graphs, [None] * 6, torch.zeros(150), torch.zeros(150) > 0)


def test_the_best_of_many_alternatives_lifts_chance_above_one_half() -> None:
    graphs = generate_ba2motifs(200)
    rng = np.random.default_rng(0)
    answers = [[rng.choice(25, 5, replace=False).tolist() for _ in range(20)] for _ in range(200)]
    scores = torch.from_numpy(rng.random(graphs.num_nodes))
    assert agreement(graphs, answers, scores, scores > 0.5).node_auc > 0.6


def test_the_smallest_share_that_suffices_is_found_class_by_class() -> None:
    graphs = generate_ba2motifs(40)
    assert graphs.node_truth is not None and graphs.y is not None

    def house_or_not(whole: PackedGraphs, part: torch.Tensor | None) -> np.ndarray:
        """Says "house" when at least 4 of the motif's nodes are there and the graph is one."""
        seen = whole if part is None else whole.induced(part)
        assert seen.node_truth is not None
        graph = torch.repeat_interleave(seen.sizes)
        motif = torch.zeros(len(seen)).index_add(0, graph, seen.node_truth.float())
        return ((motif >= 4) & (seen.y == 1)).numpy()

    by_truth = graphs.node_truth.float() + 0.1 * torch.rand(graphs.num_nodes)
    # Four of 25 nodes are needed, to which a share of 0.15 is rounded; worst first, all but one.
    assert sufficient_share(graphs, by_truth, house_or_not) == 0.15
    assert sufficient_share(graphs, -by_truth, house_or_not) == 0.95
    # Where one class is rare, losing all of it does not hide behind the other class.
    rare = replace(graphs, y=torch.where(torch.arange(40) < 38, 0, 1))
    assert sufficient_share(rare, -by_truth, house_or_not) == 0.95


def test_each_of_three_classes_counts_the_same_for_what_suffices() -> None:
    graphs = generate_ba2motifs(10)
    classes = np.array([0] * 8 + [1, 2])

    def two_of_three(_: PackedGraphs, part: torch.Tensor | None) -> np.ndarray:
        return classes if part is None else np.where(classes == 1, 0, classes)

    scores = torch.rand(graphs.num_nodes)
    assert sufficient_share(graphs, scores, two_of_three, bar=0.66, shares=(0.1, 0.9)) == 0.1
    assert sufficient_share(graphs, scores, two_of_three, bar=0.67, shares=(0.1, 0.9)) == 0.9


def test_random_connected_scores_give_connected_parts_of_every_size() -> None:
    graphs = generate_ba2motifs(12, seed=3)
    scores = random_connected_scores(graphs, seed=1)
    assert scores.min() > 0 and scores.max() == 1
    for share in (0.2, 0.5, 0.9):
        part = keep_ratio(scores, graphs.node_ptr, share)
        assert torch.equal(largest_connected(part, graphs), part)
    assert not torch.equal(scores, random_connected_scores(graphs, seed=2))
    edgeless = PackedGraphs.from_edges(
        torch.ones(3, 1), torch.zeros(2, 0, dtype=torch.int64), torch.tensor([0, 3])
    )
    assert sorted(random_connected_scores(edgeless).tolist()) == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_method_that_scores_by_features_finds_its_part_again(
    model_of: Callable[[str], nn.Module], graphs: PackedGraphs
) -> None:
    class ByFeature(Explainer):
        """The first feature, whatever the graph."""

        def explain(self, case: Case) -> Tensor:
            return case.batch.x[:, 0].double().argsort().argsort() / len(case.batch.x)

    values = torch.rand(graphs.num_nodes)
    data = replace(
        graphs, x=torch.cat([values.unsqueeze(1), graphs.x[:, 1:]], 1), cardinalities=None
    )
    model = model_of("gcn")
    assert self_consistency(ByFeature(), model, data, values).value == 1
    many = data[torch.arange(len(data)).repeat(30)]
    chance = self_consistency(RandomScores(), model, many, torch.rand(many.num_nodes))
    assert 0.2 < chance.value < 0.6


def test_cuts_are_looked_for_from_a_twentieth_of_the_nodes_to_all_of_them() -> None:
    np.testing.assert_allclose(SHARES, np.linspace(0.05, 1, 20))
