"""The recommended bottleneck: the price of a node, the predictor of parts, the gate, the stages."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from vgib.config import Architecture, Training
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.nn.bottleneck import Encoded, Site, Task
from vgib.nn.net import SubgraphNet, build
from vgib.nn.sparse import Adjacency, Segments
from vgib.nn.vgib import (
    NodeGate,
    NodeVGIB,
    PartPredictor,
    Yardstick,
    divergence,
    node_price,
    tariff,
)
from vgib.train.loop import predict, predict_counts, predict_parts, seeded, train

SITE = Site(channels=8, in_channels=4, depth=2, outputs=2, task="classification", layer="gin")


def star(leaves: int = 4) -> tuple[Adjacency, Segments]:
    """One graph: a node with its neighbors."""
    ends = torch.stack([torch.zeros(leaves, dtype=torch.int64), torch.arange(1, leaves + 1)])
    edge_index = torch.cat([ends, ends.flip(0)], dim=1)
    adj = Adjacency.from_edge_index(edge_index, leaves + 1)
    return adj, Segments.from_batch(torch.zeros(leaves + 1, dtype=torch.int64))


def encoded_star() -> Encoded:
    adj, graphs = star()
    return Encoded(torch.randn(5, 4), (torch.randn(5, 8),) * 2, adj, graphs)


# ---- the price ---------------------------------------------------------------------------------


def test_the_price_is_the_divergence_of_the_noisy_channel_from_pure_noise() -> None:
    x, keep = torch.randn(50, 6, dtype=torch.float64), torch.rand(50, dtype=torch.float64) * 0.95
    mean, std = torch.randn(6, dtype=torch.float64), torch.rand(6, dtype=torch.float64) + 0.5
    left = keep.unsqueeze(1)
    noisy = Normal(left * x + (1 - left) * mean, (1 - left) * std)
    exact = kl_divergence(noisy, Normal(mean, std)).mean(1)
    torch.testing.assert_close(node_price(keep, x, mean, std, floor=1e-9), exact)


def test_nothing_costs_nothing_and_the_price_rises_with_the_gate() -> None:
    x, zero, one = torch.randn(1, 3), torch.zeros(3), torch.ones(3)
    keep = torch.linspace(0, 0.98, 50)
    prices = node_price(keep, x.expand(50, 3), zero, one, floor=0.01)
    assert float(prices[0]) == pytest.approx(0, abs=1e-7)
    assert bool((prices.diff() > 0).all())


def test_an_open_gate_pays_no_more_than_the_floor_says() -> None:
    price = node_price(torch.ones(1), torch.zeros(1, 2), torch.zeros(2), torch.ones(2), floor=0.01)
    assert float(price) == pytest.approx(-0.5 - math.log(0.01))


def test_the_gradient_of_the_price_is_that_of_finite_differences() -> None:
    x, mean, std = torch.randn(4, 3).double(), torch.zeros(3).double(), torch.ones(3).double()
    keep = torch.rand(4, dtype=torch.float64).mul(0.9).requires_grad_()
    assert torch.autograd.gradcheck(lambda k: node_price(k, x, mean, std, 0.01), (keep,))


def test_the_tariff_is_progressive_from_nothing_to_everything() -> None:
    share = torch.linspace(0, 1, 11)
    paid = tariff(share)
    assert paid[[0, 10]].tolist() == [0.0, 1.0]
    assert bool((paid.diff().diff() > 0).all())
    assert float(tariff(torch.tensor(0.2))) == pytest.approx(0.12)


# ---- how far predictions are apart ---------------------------------------------------------------


def test_equal_predictions_do_not_diverge_and_others_do() -> None:
    said, other = torch.tensor([[2.0, -1.0]]), torch.tensor([[-1.0, 2.0]])
    assert float(divergence(said, said, "classification")) == 0
    assert float(divergence(said, other, "classification")) > 1
    both = divergence(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 2.0]]), "regression")
    assert both.tolist() == [[4.0, 0.0]]


def test_a_part_that_says_nothing_has_lost_all_evidence() -> None:
    yardstick = Yardstick(SITE)
    whole, nothing = torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 2.0]]), torch.zeros(1, 2)
    yardstick.watch(whole, nothing, torch.full((3,), 5.0))
    torch.testing.assert_close(yardstick.share_lost(whole, nothing.expand(3, 2)), torch.ones(3))
    assert float(yardstick.price) == 5
    # Two classes, one graph and two graphs: each class weighs as much as the other.
    assert yardstick.weight(whole).tolist() == pytest.approx([1.5, 0.75, 0.75])


def test_the_yardstick_of_several_values_is_the_mean_of_each() -> None:
    yardstick = Yardstick(replace(SITE, task="regression"))
    whole = torch.tensor([[1.0, 0.0], [3.0, 4.0], [2.0, 2.0]])
    yardstick.watch(whole, torch.zeros(1, 2), torch.ones(3))
    expected = divergence(whole, torch.zeros(3, 2), "regression").mean(0)
    torch.testing.assert_close(yardstick.evidence, expected)


# ---- the predictor of parts ----------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_gate_is_told_probabilities_of_classes_and_values_as_they_are(task: Task) -> None:
    gate = NodeGate(replace(SITE, task=task), 16, 0.5).eval()
    encoded = replace(encoded_star(), head=lambda _: torch.tensor([[1.0, 2.0]]))
    raised = replace(encoded, head=lambda _: torch.tensor([[4.0, 5.0]]))
    # The probabilities of both are the same.
    assert torch.allclose(gate(encoded), gate(raised)) == (task == "classification")


def test_a_closed_node_is_not_there() -> None:
    predictor = PartPredictor(SITE).eval()
    encoded = encoded_star()
    keep = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    first = predictor(predictor.embed(encoded), encoded.adj, encoded.graphs, keep)
    encoded.x = encoded.x.clone()
    encoded.x[[2, 4]] = 100.0
    torch.testing.assert_close(
        predictor(predictor.embed(encoded), encoded.adj, encoded.graphs, keep), first
    )


def test_when_nothing_passes_every_graph_is_nothing() -> None:
    predictor = PartPredictor(SITE).eval()
    encoded = encoded_star()
    x = predictor.embed(encoded)
    said = predictor(x, encoded.adj, encoded.graphs, torch.zeros(5))
    torch.testing.assert_close(said, predictor.nothing())


# ---- training --------------------------------------------------------------------------------


def planted(count: int, seed: int) -> tuple[PackedGraphs, Tensor]:
    """Rings of eight nodes; in each, two neighbors carry the class, and the rest says nothing."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(count) % 2
    codes = torch.randint(2, 5, (count, 8), generator=generator)
    at = torch.randint(8, (count,), generator=generator)
    rows = torch.arange(count)
    truth = torch.zeros(count, 8, dtype=torch.bool)
    for place in (at, (at + 1) % 8):
        codes[rows, place] = y
        truth[rows, place] = True
    first = torch.arange(count * 8).view(count, 8)
    around = torch.stack([first.flatten(), first.roll(-1, 1).flatten()])
    graphs = PackedGraphs.from_edges(
        codes.view(-1, 1),
        torch.cat([around, around.flip(0)], dim=1),
        torch.arange(count + 1) * 8,
        y=y,
        cardinalities=(5,),
    )
    return graphs, truth.flatten()


def trained(graphs: PackedGraphs, **options: float) -> SubgraphNet:
    with seeded(0):
        net = build(
            encoder="gin",
            bottleneck="vgib",
            cardinalities=graphs.cardinalities,
            in_channels=1,
            task="classification",
            outputs=2,
            architecture=Architecture(hidden=16, depth=2, head_hidden=16),
            bottleneck_options=options,
        )
    settings = Training(epochs=8, batch_size=32, lr=5e-3, cosine=True)
    train(net, graphs, settings=settings)
    return net


@pytest.fixture(scope="module")
def net() -> SubgraphNet:
    return trained(planted(400, 0)[0])


def test_the_gate_finds_the_part_that_carries_the_class(net: SubgraphNet) -> None:
    graphs, truth = planted(200, 1)
    outputs, scores = predict(net, graphs)
    assert graphs.y is not None
    assert float((outputs.argmax(1) == graphs.y).float().mean()) > 0.98
    found = scores >= 0.5
    overlap = (found & truth).sum() / (found | truth).sum()
    assert float(overlap) > 0.4
    assert 0.05 < float(found.float().mean()) < 0.45
    said = predict_parts(net, graphs, found).argmax(1)
    assert float((said == graphs.y).float().mean()) > 0.95


def test_without_a_price_everything_is_kept() -> None:
    graphs, _ = planted(400, 0)
    scores = predict(trained(graphs, beta=0.0), graphs)[1]
    assert float((scores >= 0.5).float().mean()) > 0.9


def test_a_gate_that_writes_the_label_is_caught(net: SubgraphNet) -> None:
    """A code of irrelevant nodes convinces a predictor that knows the code, and not ours."""
    graphs, truth = planted(200, 1)
    assert graphs.y is not None
    place = torch.arange(8).repeat(200)
    # Of the irrelevant nodes, those with an even number mean class 0, the others class 1.
    code = ~truth & (place % 2 == graphs.y.repeat_interleave(8))
    said = predict_parts(net, graphs, code).argmax(1)
    assert float((said == graphs.y).float().mean()) < 0.65
    honest = predict_parts(net, graphs, truth).argmax(1)
    assert float((honest == graphs.y).float().mean()) > 0.95


def twice(count: int, seed: int) -> tuple[PackedGraphs, Tensor]:
    """The same rings with a second copy of the evidence on the other side, where there is room."""
    graphs, truth = planted(count, seed)
    codes, marked = graphs.x.view(count, 8).clone(), truth.view(count, 8)
    copied = marked.roll(4, 1)
    assert graphs.y is not None
    codes[copied] = graphs.y.repeat_interleave(2)
    return replace(graphs, x=codes.view(-1, 1)), (marked | copied).flatten()


def test_what_counts_is_told_of_every_copy_of_the_evidence(net: SubgraphNet) -> None:
    graphs, truth = twice(200, 1)
    counts = predict_counts(net, graphs)
    assert counts.shape == truth.shape
    assert float(counts.min()) >= 0 and float(counts.max()) <= 1
    shares = counts.view(200, 8)
    lowest = shares.masked_fill(~truth.view(200, 8), 1.0).amin(1)
    other = shares.masked_fill(truth.view(200, 8), 0.0).amax(1)
    assert float((lowest > other).float().mean()) > 0.8


def test_what_counts_is_the_same_in_any_batch(net: SubgraphNet) -> None:
    graphs, _ = planted(20, 3)
    alone = torch.cat([predict_counts(net, graphs[[number]]) for number in range(20)])
    torch.testing.assert_close(predict_counts(net, graphs, batch_size=7), alone)


def test_only_a_model_of_parts_can_say_what_counts() -> None:
    graphs, _ = planted(4, 0)
    plain = build(
        encoder="gin",
        bottleneck="none",
        cardinalities=graphs.cardinalities,
        in_channels=1,
        task="classification",
        outputs=2,
        architecture=Architecture(hidden=4, depth=1, head_hidden=4),
    )
    with pytest.raises(InputError, match="has learned from parts"):
        predict_counts(plain, graphs)


def test_each_stage_moves_its_own_part_of_the_network() -> None:
    assert {stage.name: stage.moves for stage in NodeVGIB.stages} == {
        "network": ("features", "encoder", "head"),
        "predictor": ("bottleneck.predictor",),
        "worth": ("bottleneck.gate",),
        "gate": ("bottleneck.gate",),
    }


def test_worths_of_closed_nodes_add_up_to_what_a_mask_loses() -> None:
    """The loss of the worths, against one that is written node by node."""
    bottleneck, encoded = NodeVGIB(SITE, beta=0.7).eval(), encoded_star()
    keep, logits = torch.tensor([1.0, 0.0, 0.25, 1.0, 0.0]), torch.randn(5)
    bottleneck.draw_masks = lambda adj, graphs: keep  # type: ignore[assignment]
    x = bottleneck.predictor.embed(encoded)
    with seeded(1), torch.no_grad():
        bottleneck.predictor.head[-1].weight.mul_(20)  # so that nodes tell something
        whole = bottleneck.predictor(x, encoded.adj, encoded.graphs, torch.ones(5))
        part = bottleneck.predictor(x, encoded.adj, encoded.graphs, keep)
        nothing = bottleneck.predictor.nothing()
    lost = divergence(whole, part, "classification") / divergence(whole, nothing, "classification")
    worth = sum((1 - float(keep[j])) * (float(logits[j]) + 0.7) / 5 for j in range(5))
    off = abs(worth - float(lost))
    expected = off**2 if off < 0.5 else off - 0.25
    with seeded(1):
        (loss,) = bottleneck.worth_terms(encoded, logits).values()
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_nodes_that_carry_the_class_are_worth_their_price_before_the_gate_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NodeVGIB, "stages", NodeVGIB.stages[:3])
    graphs, truth = planted(200, 1)
    worth = (predict(trained(planted(400, 0)[0]), graphs)[1].logit() + 1).view(200, 8) / 8
    inside = truth.view(200, 8)
    # Either of the two nodes tells the class, so that each is worth about half of the evidence.
    assert 0.3 < float(worth[inside].mean()) < 0.6
    assert abs(float(worth[~inside].mean())) < 0.05
    assert float(worth.sum(1).mean()) == pytest.approx(1, abs=0.25)


def test_the_price_rises_over_the_first_half_of_the_last_stage() -> None:
    bottleneck = NodeVGIB(SITE, beta=2.0)
    prices = []
    for epoch in range(8):
        bottleneck.start_epoch(epoch, 8)
        prices.append(bottleneck.price_now)
    assert prices == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 2.0]


def test_a_price_that_does_not_rise_is_due_from_the_first_step() -> None:
    bottleneck = NodeVGIB(SITE, beta=2.0, rise=0.0)
    bottleneck.start_epoch(0, 8)
    assert bottleneck.price_now == 2.0


def test_the_gates_sharpen_over_the_last_stage() -> None:
    bottleneck = NodeVGIB(SITE, temperature=0.2)
    bottleneck.start_epoch(0, 10)
    assert bottleneck.temperature_now == 1
    bottleneck.start_epoch(3, 10)
    assert bottleneck.temperature_now == pytest.approx(0.2 ** (3 / 7))
    bottleneck.start_epoch(8, 10)
    assert bottleneck.temperature_now == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": -1.0}, "beta must be zero or positive"),
        ({"independent": 0.7, "ball": 0.7}, "independent \\+ ball must be a share"),
        ({"smoothing": 2.0}, "smoothing must be a share"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"rise": -0.1}, "rise must be a share"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        NodeVGIB(SITE, **options)  # type: ignore[arg-type]


def test_every_share_and_width_may_be_at_its_bound() -> None:
    for options in (
        {"smoothing": 0.0},
        {"smoothing": 1.0},
        {"rise": 0.0},
        {"rise": 1.0},
        {"hidden": 1},
        {"beta": 0.0},
        {"independent": 0.25, "ball": 0.75},
        {"independent": 0.0, "ball": 0.0},
    ):
        assert NodeVGIB(SITE, **options).predictor is not None
    for options in ({"smoothing": 1.01}, {"rise": 1.01}, {"independent": 0.5, "ball": 0.51}):
        with pytest.raises(InputError, match="must be a share"):
            NodeVGIB(SITE, **options)
