"""The authors' program, line by line of its description, against its own operations."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from vgib.config import PRESETS, Architecture, Training
from vgib.data.splits import reference_split
from vgib.nn import reference
from vgib.nn.bottleneck import Encoded
from vgib.nn.net import SubgraphNet, build
from vgib.nn.paper_vgib import relax
from vgib.nn.reference import ReferenceVGIB, inject_uniform_noise, sum_of_squares
from vgib.nn.sparse import Adjacency, Segments

F64 = torch.float64
PATH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def segments(sizes: list[int]) -> Segments:
    return Segments(torch.tensor([0, *sizes]).cumsum(0).int())


def encoded_of(h: Tensor, sizes: list[int], readout: Any = "sum") -> Encoded:
    adj = Adjacency.from_edge_index(PATH, len(h))
    return Encoded(h, (h,), adj, segments(sizes), readout)


def make(logit: float | None = None, channels: int = 3, **options: Any) -> ReferenceVGIB:
    bottleneck = ReferenceVGIB(channels, **options).train()
    if logit is not None:
        with torch.no_grad():
            bottleneck.gate.mlp[-1].weight.zero_()
            bottleneck.gate.mlp[-1].bias.fill_(logit)
    return bottleneck


@pytest.fixture(autouse=True)
def _seed() -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def test_uniform_noise_starts_at_the_mean_and_ends_one_spread_above() -> None:
    n = 50_000
    h, mean, std = torch.zeros(n, 1), torch.full((n, 1), 2.0), torch.full((n, 1), 4.0)
    drawn = inject_uniform_noise(h, torch.zeros(n), mean, std)
    assert drawn.min() >= 2 and drawn.max() <= 6
    assert drawn.mean().item() == pytest.approx(4, abs=0.05)
    assert drawn.var().item() == pytest.approx(16 / 12, rel=0.03)
    assert torch.equal(inject_uniform_noise(h, torch.ones(n), mean, std), h)


def test_uniform_noise_reaches_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    h = torch.randn(2000, 1)
    monkeypatch.setattr(reference, "relax", lambda logits, _: torch.zeros_like(logits))
    drawn = make(channels=1)(encoded_of(h, [2000], "mean")).graph.detach()
    # The mean of U[0, 1) is one half, that of a standard normal is zero.
    assert float(drawn) == pytest.approx(float(h.mean() + h.std() / 2), abs=0.05)


def test_the_price_has_no_logarithm_and_does_not_divide_its_sum_of_squares() -> None:
    """Against the program's tensors of one graph: its noise's variance, and what passes."""
    h, keep = torch.randn(7, 3, dtype=F64), torch.rand(7, dtype=F64)
    spread, center = torch.std_mean(h, dim=0)
    gate = keep.unsqueeze(1)
    noisy_mean = gate * h + (1 - gate) * center
    variance = 0.5 * ((1 - gate) * spread).square() / spread.square()
    passed = ((noisy_mean - center) / spread).square().sum(0)
    expected = (variance + passed).mean()
    found = sum_of_squares(h, keep, center.expand(7, 3), spread.expand(7, 3), segments([7]))
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_the_price_reaches_the_loss_with_the_moments_of_a_sample() -> None:
    h = torch.randn(4, 3)
    bottleneck = make(beta=0.1)
    torch.manual_seed(5)
    found = bottleneck(encoded_of(h, [4])).terms["compression"]
    torch.manual_seed(5)
    p = torch.sigmoid(bottleneck.gate(h))
    keep = relax(2 * p - 1, 1.0)
    spread, center = torch.std_mean(h, dim=0)
    expected = sum_of_squares(h, keep, center.expand(4, 3), spread.expand(4, 3), segments([4]))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert bottleneck.weights["compression"] == 0.1


def test_a_graph_of_one_node_has_a_finite_price() -> None:
    perturbed = make()(encoded_of(torch.randn(5, 3), [4, 1]))
    assert all(term.isfinite() for term in perturbed.terms.values())


def test_probabilities_are_handed_to_the_gumbel_softmax_as_if_they_were_logits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p, draws, asked = 0.9, 100_000, []

    def noted(logits: Tensor, temperature: float) -> Tensor:
        asked.append(logits.detach())
        return relax(logits, temperature)

    monkeypatch.setattr(reference, "relax", noted)
    make(math.log(p / (1 - p)))(encoded_of(torch.randn(4, 3), [4]))
    assert torch.allclose(asked[0], torch.full((4,), 2 * p - 1))
    # The program's own draw, with [p, 1 - p] in the place of logits, has the same distribution.
    pair = torch.tensor([[p, 1 - p]], dtype=F64).expand(draws, 2)
    theirs = torch.nn.functional.gumbel_softmax(pair, tau=1.0)[:, 0]
    ours = relax(torch.full((draws,), 2 * p - 1, dtype=F64), 1.0)
    for level in (0.1, 0.5, 0.9):
        quantiles = [float(drawn.quantile(level)) for drawn in (ours, theirs)]
        assert quantiles[0] == pytest.approx(quantiles[1], abs=0.01)


def test_the_connectivity_term_is_that_of_the_dense_program() -> None:
    h = torch.randn(4, 3)
    bottleneck = make()
    found = bottleneck(encoded_of(h, [4])).terms["connectivity"]
    p = torch.sigmoid(bottleneck.gate(h))
    assignment = torch.stack([p, 1 - p], dim=1)
    dense = torch.zeros(4, 4).index_put((PATH[0], PATH[1]), torch.ones(6))
    rows = torch.nn.functional.normalize(assignment.t() @ dense @ assignment, p=1, dim=1)
    expected = torch.nn.functional.mse_loss(rows.diag(), torch.ones(2))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert "connectivity" not in make(connectivity=0.0)(encoded_of(h, [4])).terms


def network() -> SubgraphNet:
    chosen = PRESETS["reference"]
    return build(
        encoder="gcn",
        bottleneck=chosen.method,
        cardinalities=None,
        in_channels=3,
        task="regression",
        outputs=1,
        architecture=Architecture.of(**chosen.architecture),
        bottleneck_options=chosen.bottleneck,
    )


def test_the_prediction_loss_is_the_mean_of_the_two_views() -> None:
    net, y = network().train(), torch.tensor([0.3])
    adj, graphs = Adjacency.from_edge_index(PATH, 4), segments([4])
    encoded = net.encode(torch.randn(4, 3), adj, graphs)
    perturbed = net.perturb(encoded)
    terms = net.terms_of(encoded, perturbed, y)
    views = torch.cat([encoded.whole, perturbed.graph])
    expected = torch.nn.functional.mse_loss(net.head(views), torch.full((2, 1), 0.3))
    priced = 1e-3 * terms["compression"] + terms["connectivity"]
    assert net.objective(terms).item() == pytest.approx((expected + priced).item(), rel=1e-5)


def test_the_preset_sets_what_belongs_to_the_network_and_to_training() -> None:
    net = network()
    states = net.encoder.states(torch.randn(4, 3), Adjacency.from_edge_index(PATH, 4))
    assert states[0].min() >= 0 and states[1].min() < 0  # no ReLU after the second layer
    assert isinstance(net.head[-1], torch.nn.ReLU)
    training = Training.of(**PRESETS["reference"].training)
    assert (training.select, training.lr, training.weight_decay) == ("last", 1e-3, 5e-5)
    assert net.bottleneck.weights["connectivity"] == 1.0


def test_the_first_tenth_of_the_file_is_its_test_set() -> None:
    split = reference_split(100)
    assert split.test.tolist() == list(range(10))
    assert split.train.tolist() == list(range(10, 95)) and split.val.tolist() == [*range(95, 100)]
