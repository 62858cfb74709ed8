"""How many nodes are chosen, of which shape, by what; and the control that belongs to a choice."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.select.graphs import Packed, blocks_of, packed, parts_of

from vgib.errors import InputError, UnknownNameError
from vgib.select.masks import mask_of
from vgib.select.policy import ANY, BY_HELP, CRITERIA, RULE_HELP, RULES, Rule, Selection

# ---- what is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "share", [0.3, [0.3], (0.3,), np.float32(0.3), np.array([0.3]), torch.tensor(0.3)]
)
def test_shares_come_in_any_kind(share):
    assert Selection.of(share).sizes_asked == pytest.approx((0.3,))


@pytest.mark.parametrize("share", [0, -0.1, 1.5, float("nan"), [], [0.5, 2], "half", [None]])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InputError, match="keep_ratio"):
        Selection.of(share)


def test_wrong_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'ring_intact'"):
        Selection(rule="ring-intact")
    with pytest.raises(UnknownNameError, match="did you mean 'prediction'"):
        Selection(by="predictions")
    with pytest.raises(InputError, match="n is 0"):
        Selection(n=0)


def test_the_prediction_decides_between_ring_intact_parts_only():
    for by in ("prediction", "sufficient"):
        assert Selection(rule="ring_intact", by=by).asks_model
        with pytest.raises(InputError, match="leave the rule out"):
            Selection(rule="nodes", by=by)


def test_the_smallest_sufficient_part_has_no_size_that_could_be_asked_for():
    with pytest.raises(InputError, match="finds the size itself"):
        Selection(0.3, by="sufficient")
    assert Selection(by="sufficient").or_else(Selection(0.5)) == Selection(by="sufficient")


def test_what_is_left_open_is_filled_in_by_another():
    card = Selection(0.5, None, "prediction")
    assert ANY.or_else(card) == ANY  # no size is asked for: the smallest sufficient part
    assert ANY.or_else(Selection(0.5, "nodes")) == Selection(0.5, "nodes")
    assert Selection(0.3, n=2).or_else(card) == Selection(0.3, None, "prediction", n=2)
    assert Selection(rule="nodes").or_else(card) == Selection(0.5, "nodes")
    assert Selection(by="scores").or_else(card) == Selection(0.5, None, "scores")


def test_molecules_keep_their_rings_and_other_graphs_have_none():
    assert ANY.for_graphs(molecules=True) == Selection(rule="ring_intact", by="sufficient")
    assert Selection(0.5).for_graphs(molecules=True) == Selection(0.5, "ring_intact", "scores")
    assert ANY.for_graphs(molecules=False) == Selection(rule="connected", by="scores")
    with pytest.raises(InputError, match="use rule='connected'"):
        Selection(rule="ring_intact").for_graphs(molecules=False)
    with pytest.raises(InputError, match="only molecules"):
        Selection(by="prediction").for_graphs(molecules=False)


def test_choices_are_compared_at_the_first_share_or_at_one_half():
    assert Selection((0.3, 0.7), n=3).compared() == Selection(0.3)
    assert ANY.compared() == Selection(0.5)


def test_the_help_names_every_rule_and_criterion():
    assert all(name in RULE_HELP for name in RULES)
    assert all(name in BY_HELP for name in CRITERIA)


def test_the_names_can_be_read_without_arrays():
    code = "import sys, vgib.select.policy; print({'torch', 'numpy', 'scipy'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


# ---- the control ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=60)
@given(
    case=packed(),
    forest=packed(tree=True),
    ratio=st.sampled_from([None, 0.3, 0.6, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_control_of_every_rule_has_exactly_the_size_of_the_choice(
    rule: Rule, case, forest, ratio, seed
):
    graphs, scores = forest if rule == "ring_intact" else case
    blocks = blocks_of(graphs, 2) if rule == "ring_intact" else None
    selection = Selection(ratio, rule, "scores")
    found = selection.by_scores(scores, graphs, blocks)
    sizes = np.array([len(ranked[0]) for ranked in found])
    control = selection.control(graphs, sizes, np.random.default_rng(seed), blocks)
    chosen = mask_of(found, graphs.node_ptr)
    for (low, high), size in zip(graphs.bounds(), sizes, strict=True):
        assert control[low:high].sum() == size == chosen[low:high].sum()
        parts = parts_of(graphs, (low + np.flatnonzero(control[low:high])).tolist())
        assert rule == "nodes" or len(parts) == 1
        if blocks is not None:
            inside = {*blocks[low:high][control[low:high]].tolist()}
            outside = {*blocks[low:high][~control[low:high]].tolist()}
            assert not inside & outside


def test_the_control_of_nodes_is_not_only_their_largest_part():
    path = Packed([40], [(0, i, i + 1) for i in range(39)])
    selection = Selection(0.2, "nodes")
    control = selection.control(path, np.array([8]), np.random.default_rng(0))
    assert control.sum() == 8
    assert len(parts_of(path, np.flatnonzero(control).tolist())) > 1


def test_whole_rings_count_by_their_mean_unless_the_prediction_decides():
    graphs, blocks = Packed([4], [(0, 0, 1), (0, 1, 2), (0, 2, 3)]), np.array([0, 0, 0, 1])
    scores = np.array([0.9, 0.4, 0.4, 0.1])  # the block scores .57, one of its nodes one half
    sizes = {
        by: Selection(rule="ring_intact", by=by).sizes(scores, graphs, blocks)
        for by in ("scores", "prediction")
    }
    assert [sizes[by][0].tolist() for by in ("scores", "prediction")] == [[3], [1]]
