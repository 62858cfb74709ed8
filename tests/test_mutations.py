"""Mistakes that all other tests would not notice: found by changing the code (see benchmarks)."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score
from torch import Tensor, nn

from vgib.chem.blocks import blocks_of
from vgib.chem.mol import parse
from vgib.data.molecules import from_smiles, load_drugs, read_molecules
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.fidelity import fidelity
from vgib.metrics import bootstrap, r_squared
from vgib.model.answer import Answer
from vgib.model.atom_effects import followed
from vgib.model.nearest import compared
from vgib.model.recognizer import SubgraphRecognizer
from vgib.select.blocktree import block_trees, connected_subgraphs, nearest_size
from vgib.select.policy import Selection
from vgib.serve.limits import TooMuchError
from vgib.serve.uploads import read_chunks
from vgib.stream.ledger import FEWEST, Moments, welch
from vgib.stream.manifest import CountError, InputFile, Manifest
from vgib.stream.ray_parts import _Account
from vgib.stream.ray_reading import row_of

DRUGS = load_drugs()["smiles"].tolist()[:24]
GRAPHS = from_smiles(DRUGS).graphs
BLOCKS = blocks_of(GRAPHS, GRAPHS.x, GRAPHS.edge_attr)


class Total(nn.Module):
    """The sum of the first feature over each graph: what is said of a part tells which it is."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        total = x.new_zeros(int(batch.max()) + 1, 1)
        return total.index_add(0, batch, x[:, :1]) * self.weight


def test_the_explanation_alone_and_the_rest_are_not_swapped() -> None:
    x = torch.tensor([[1.0], [1.0], [10.0], [10.0]])
    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    graphs = PackedGraphs.from_edges(x, edges, torch.tensor([0, 4]))
    scores = torch.tensor([0.9, 0.8, 0.2, 0.1])
    (found,) = fidelity(Total(), graphs, scores, keep_ratios=(0.5,), task="regression")
    # The whole is 22, the explanation alone 2, the rest 20.
    assert (found.minus.value, found.plus.value) == (20.0, 2.0)


@pytest.fixture(scope="module")
def answer() -> Answer:
    model = SubgraphRecognizer("gin", hidden=4, depth=2, epochs=1, seed=0)
    model.fit(DRUGS, np.arange(len(DRUGS)) % 2)
    return model.answer(GRAPHS)


def test_of_too_many_candidates_those_of_the_highest_score_are_tried(answer: Answer) -> None:
    found = answer.chosen(Selection(0.5, by="prediction"), most=1, slack=0)
    scores = np.split(np.asarray(answer.node_scores), GRAPHS.node_ptr.numpy()[1:-1])
    trees = block_trees(GRAPHS, BLOCKS)
    several = 0
    for tree, own, (nodes,) in zip(trees, scores, found, strict=True):
        at = len(nodes)
        masks = tree.nodes(connected_subgraphs(tree, at, at).masks)
        several += len(masks) > 1
        best = max(own[mask].mean() for mask in masks)
        assert own[list(nodes)].mean() == pytest.approx(best, abs=1e-6)
    assert several > 5


def test_parts_are_like_the_whole_by_probabilities_and_not_by_logits(answer: Answer) -> None:
    outputs = torch.tensor([[[0.0, 1.0], [50.0, 51.0], [0.0, 3.0]]])
    same, also, other = compared(answer, outputs)
    torch.testing.assert_close(same, also)
    assert (same - other).abs().sum() > 0.1


def test_an_account_that_does_not_add_up_is_an_error() -> None:
    def told(records: int) -> _Account:
        account = _Account(Manifest("s", [InputFile("a", 1)]))
        counts = {"recognized": 2, "rejected": 1, "reasons": {"bad": 1}, "reused": False}
        for part, row in ((0, counts), (-1, {"parts": 1, "records": records, "error": None})):
            flat: Any = row_of(0, part, b"", 1.0, row)
            account.add({key: value[0] for key, value in flat.items()})
        return account

    assert told(3).closed(1.0).complete
    with pytest.raises(CountError, match="4 records went in"):
        told(4).closed(1.0)


@pytest.mark.parametrize("rule", ["ring_intact", "connected", "nodes"])
def test_a_control_has_exactly_the_size_of_what_was_chosen(rule: Any) -> None:
    trees = block_trees(GRAPHS, BLOCKS)
    for seed, share in enumerate((0.3, 0.5, 0.8)):
        wanted = np.maximum(1, (GRAPHS.sizes.numpy() * share).astype(int))
        if rule == "ring_intact":
            pairs = zip(trees, wanted, strict=True)
            wanted = np.array([nearest_size(tree, int(size)) for tree, size in pairs])
        chance = np.random.default_rng(seed)
        mask = Selection(share, rule=rule).control(GRAPHS, wanted, chance, BLOCKS)
        counts = np.add.reduceat(np.asarray(mask).astype(int), GRAPHS.node_ptr.numpy()[:-1])
        np.testing.assert_array_equal(counts, wanted)


def test_of_two_sizes_equally_near_the_smaller_is_taken() -> None:
    graphs = from_smiles(["c1ccccc1Cc1ccccc1"]).graphs  # parts of 1, 6, 7 and 13 atoms
    (tree,) = block_trees(graphs, blocks_of(graphs, graphs.x, graphs.edge_attr))
    assert [nearest_size(tree, wanted) for wanted in (1, 6, 9, 10, 11, 13, 20)] == [
        *(1, 6, 7, 7, 13, 13, 13)
    ]


def test_a_resample_is_judged_by_its_own_mean() -> None:
    chance = np.random.default_rng(0)
    y = chance.random(30) + np.repeat([0, 5], 15)
    predicted = y + chance.normal(size=30)
    found = r_squared(predicted, y)
    expected = bootstrap(lambda index: float(r2_score(y[index], predicted[index])), 30)
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-9
    )


def test_five_on_either_side_have_an_interval_and_four_have_none() -> None:
    assert FEWEST == 5
    enough, few = Moments(5, 1.0, 2.0), Moments(4, 1.0, 2.0)
    assert welch(enough, enough)[0] is not None
    assert welch(enough, few) == welch(few, enough) == (None, None)


def test_as_many_as_a_limit_says_are_taken_and_one_more_is_not(tmp_path: Any) -> None:
    two, three = b"smiles\nC\nCC\n", b"smiles\nC\nCC\nCCC\n"
    assert sum(map(len, read_chunks(two, format="csv", rows=2, most=1000))) == 2
    with pytest.raises(TooMuchError, match="more than 2 molecules"):
        read_chunks(three, format="csv", rows=2, most=1000)
    (tmp_path / "in.smi").write_text(f"{'C' * 99}\n{'N' * 100}\n")
    found = read_molecules(tmp_path / "in.smi", max_record=100)
    assert [item.line for item in found.rejected] == [2]  # with its end it has 101 bytes
    assert parse("C" * 20, max_atoms=20).mol.GetNumAtoms() == 20
    with pytest.raises(InputError, match="21 heavy atoms"):
        parse("C" * 21, max_atoms=20)
    letters = "[CH3][CH2][CH2][CH2]"
    assert parse(letters, max_atoms=4) and len(letters) == 20
    with pytest.raises(InputError, match="letters, more than the 20"):
        parse(f"{letters}C", max_atoms=1)


def test_a_hundred_rings_are_read_and_one_more_is_not() -> None:
    assert parse("C1CC1" * 100).mol.GetNumBonds() == 399
    with pytest.raises(InputError, match="101 rings, more than the 100"):
        parse("C1CC1" * 101)


def test_a_model_that_is_certain_has_finite_effects_and_follows_what_is_likeliest(
    answer: Answer,
) -> None:
    certain = torch.tensor([[[-900.0, 900.0], [900.0, -900.0]]])
    assert np.isfinite(followed(answer, certain, np.array([0, 1]))).all()
    logits = torch.randn(1, len(GRAPHS), 3)
    three = Answer.of(
        GRAPHS, logits, torch.rand(1, GRAPHS.num_nodes), lambda *_: logits, classes=(0, 1, 2)
    )
    np.testing.assert_allclose(three.followed, logits[0].softmax(1).max(1).values, rtol=1e-5)
