"""Gate, relaxation, noise injection and bound of Sec. 4, against loops and closed forms."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.distributions import Normal, kl_divergence

from vgib.errors import InputError
from vgib.nn import paper_vgib as module
from vgib.nn.bottleneck import Encoded
from vgib.nn.paper_vgib import (
    PaperVGIB,
    compression,
    graph_statistics,
    inject_noise,
    node_sums,
    noisy_sum,
    relax,
)
from vgib.nn.sparse import Adjacency, Segments
from vgib.registry import option_names

F64 = torch.float64
NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)


def segments(sizes: list[int]) -> Segments:
    return Segments(torch.tensor([0, *sizes]).cumsum(0).int())


def encoded_of(h: Tensor, sizes: list[int], readout: str = "sum") -> Encoded:
    adj = Adjacency.from_edge_index(NO_EDGES, len(h))
    return Encoded(h, (h,), adj, segments(sizes), readout)


def make(logit: float | None = None, channels: int = 3, **options: Any) -> PaperVGIB:
    """A bottleneck whose gate gives the same logit to every node, when one is given."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        bottleneck = PaperVGIB(channels, **options)
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


# ---- the bound ---------------------------------------------------------------------------------

cases = st.tuples(
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 2**31),
    st.sampled_from(["one prior for all", "one prior for each graph"]),
)


def draw(case: tuple[list[int], int, int, str]) -> tuple[Tensor, Tensor, Tensor, Tensor, Segments]:
    sizes, channels, seed, prior = case
    g = torch.Generator().manual_seed(seed)
    rows = 1 if prior == "one prior for all" else len(sizes)
    return (
        3 * torch.randn(sum(sizes), channels, dtype=F64, generator=g),
        torch.rand(sum(sizes), dtype=F64, generator=g),
        torch.randn(rows, channels, dtype=F64, generator=g),
        torch.rand(rows, channels, dtype=F64, generator=g) + 0.1,
        segments(sizes),
    )


def bound_of(
    h: Tensor, keep: Tensor, mean: Tensor, std: Tensor, graphs: Segments, pole_floor: float
) -> Tensor:
    return compression(node_sums(h, keep, graphs), mean, std, pole_floor)


@given(cases)
def test_the_bound_is_the_kl_of_two_normals_minus_its_constant(case: Any) -> None:
    h, keep, mean, std, graphs = draw(case)
    found = bound_of(h, keep, mean, std, graphs, pole_floor=1e-12)
    for number, (a, b) in enumerate(pairwise(graphs.ptr.tolist())):
        mu, sigma = mean[number % len(mean)], std[number % len(std)]
        m, kept = b - a, keep[a:b, None]
        given_gates = Normal(
            m * mu + (kept * (h[a:b] - mu)).sum(0), (1 - kept).square().sum().sqrt() * sigma
        )
        prior = Normal(m * mu, math.sqrt(m) * sigma)
        expected = kl_divergence(given_gates, prior).mean() - (math.log(m) - 1) / 2
        assert torch.allclose(found[number], expected, rtol=1e-9, atol=1e-9)


def loop_compression(
    h: Tensor,
    keep: Tensor,
    mean: Tensor,
    std: Tensor,
    graphs: Segments,
    pole_floor: float,
) -> list[float]:
    """The bound one node and one channel at a time, in plain Python."""
    result = []
    for number, (start, end) in enumerate(pairwise(graphs.ptr.tolist())):
        a = sum((1 - float(keep[j])) ** 2 for j in range(start, end))
        per_channel = []
        for c in range(h.shape[1]):
            mu, sigma = float(mean[number % len(mean), c]), float(std[number % len(std), c])
            passed = [float(keep[j]) * (float(h[j, c]) - mu) / sigma for j in range(start, end)]
            bound = (a + sum(passed) ** 2) / (2 * (end - start))
            per_channel.append(bound - 0.5 * math.log(max(a, pole_floor)))
        result.append(sum(per_channel) / len(per_channel))
    return result


@given(cases)
def test_the_bound_equals_a_loop(case: Any) -> None:
    inputs = draw(case)
    found = bound_of(*inputs, pole_floor=0.3)
    expected = torch.tensor(loop_compression(*inputs, pole_floor=0.3), dtype=F64)
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", ["one prior for all", "one prior for each graph"])
def test_the_bounds_gradient_is_right(prior: str) -> None:
    h, keep, mean, std, graphs = draw(([3, 1, 4], 2, 7, prior))
    leaves = [t.requires_grad_() for t in (h, keep, mean, std)]
    assert gradcheck(lambda *t: bound_of(*t, graphs, pole_floor=1e-6), leaves)


def test_the_bound_is_least_when_nothing_passes() -> None:
    h, _, mean, std, graphs = draw(([5, 3], 2, 1, "one prior for each graph"))
    least = bound_of(h, torch.zeros(8, dtype=F64), mean, std, graphs, pole_floor=1e-9)
    # KL = 0: the constant alone is left.
    constant = torch.tensor([-(math.log(m) - 1) / 2 for m in (5, 3)], dtype=F64)
    assert torch.allclose(least, constant)
    for _ in range(20):
        keep = torch.rand(8, dtype=F64)
        assert (bound_of(h, keep, mean, std, graphs, pole_floor=1e-9) > least).all()


def test_the_pole_floor_bounds_the_price_of_keeping_everything() -> None:
    h, _, mean, std, graphs = draw(([5, 3], 2, 1, "one prior for each graph"))
    ones = torch.ones(8, dtype=F64, requires_grad=True)
    high, low = (bound_of(h, ones, mean, std, graphs, pole_floor=f) for f in (1e-2, 1e-6))
    assert torch.allclose(low - high, torch.full((2,), 0.5 * math.log(1e4), dtype=F64))
    low.sum().backward()
    assert ones.grad.isfinite().all()
    # Away from the pole the floor changes nothing.
    keep = torch.full((8,), 0.5, dtype=F64)
    high, low = (bound_of(h, keep, mean, std, graphs, pole_floor=f) for f in (1e-2, 1e-6))
    assert torch.equal(low, high)


# ---- the relaxation ----------------------------------------------------------------------------

DRAWS = 200_000
PROBABILITIES = [0.1, 0.5, 0.8]


def sample(p: float, temperature: float) -> Tensor:
    logit = math.log(p / (1 - p))
    return relax(torch.full((DRAWS,), logit, dtype=F64), temperature)


@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("temperature", [0.1, 1.0, 3.0])
def test_the_relaxed_gate_is_above_one_half_with_probability_p(
    p: float, temperature: float
) -> None:
    share = (sample(p, temperature) > 0.5).double().mean()
    assert share.item() == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / DRAWS))


@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_relaxed_gate_has_the_binary_concrete_distribution(
    p: float, temperature: float
) -> None:
    drawn = sample(p, temperature)
    for x in (0.05, 0.3, 0.5, 0.9):
        logit = temperature * math.log(x / (1 - x)) - math.log(p / (1 - p))
        expected = 1 / (1 + math.exp(-logit))
        assert (drawn < x).double().mean().item() == pytest.approx(expected, abs=6e-3)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.8])
def test_at_temperature_one_the_mean_has_its_closed_form(p: float) -> None:
    odds = p / (1 - p)
    expected = odds / (odds - 1) - odds * math.log(odds) / (odds - 1) ** 2
    assert sample(p, 1.0).mean().item() == pytest.approx(expected, abs=3e-3)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_as_the_temperature_falls_the_gate_becomes_a_bernoulli_variable(p: float) -> None:
    distances = []
    for temperature in (1.0, 0.1, 0.001):
        drawn = sample(p, temperature)
        distances.append(torch.minimum(drawn, 1 - drawn).mean().item())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-2
    cold = sample(p, 0.001)
    assert cold.mean().item() == pytest.approx(p, abs=5e-3)
    assert cold.var().item() == pytest.approx(p * (1 - p), abs=5e-3)


def test_the_relaxations_gradient_is_right_for_a_fixed_draw() -> None:
    logits = torch.randn(6, dtype=F64, requires_grad=True)
    for temperature in (0.5, 1.0, 2.0):

        def fixed(t: Tensor, temperature: float = temperature) -> Tensor:
            return relax(t, temperature, torch.Generator().manual_seed(1))

        assert gradcheck(fixed, logits)


def test_the_relaxation_is_finite_at_any_logit() -> None:
    logits = torch.tensor([-1e6, -50.0, 0.0, 50.0, 1e6], requires_grad=True)
    for temperature in (1e-3, 1.0, 100.0):
        gates = relax(logits, temperature)
        (gradient,) = torch.autograd.grad(gates.sum(), logits)
        assert ((gates >= 0) & (gates <= 1)).all()
        assert gradient.isfinite().all()


# ---- noise -------------------------------------------------------------------------------------


def test_a_kept_node_is_left_as_it_is() -> None:
    h, mean, std = torch.randn(5, 3), torch.randn(5, 3), torch.rand(5, 3)
    assert torch.equal(inject_noise(h, torch.ones(5), mean, std), h)


@pytest.mark.parametrize("readout", ["sum", "mean"])
@pytest.mark.parametrize("prior", ["graph", "population"])
def test_with_every_gate_open_the_graph_passes_unchanged(prior: Any, readout: str) -> None:
    encoded = encoded_of(torch.randn(6, 3), [4, 2], readout)
    graph = make(1e6, prior=prior).train()(encoded).graph
    assert torch.allclose(graph, encoded.pool(encoded.h), atol=1e-6)


@pytest.mark.parametrize("readout", ["sum", "mean"])
@pytest.mark.parametrize("prior", ["graph", "population"])
def test_one_draw_for_a_graph_is_distributed_as_the_readout_of_noise_in_each_node(
    prior: Any, readout: str
) -> None:
    copies, h = 100_000, torch.randn(3, 2) * 2 + 1
    encoded = encoded_of(h.repeat(copies, 1), [3] * copies, readout)
    keep = torch.tensor([0.9, 0.2, 0.0]).repeat(copies)
    bottleneck = make(channels=2, prior=prior).train()
    mean, std = bottleneck.moments(encoded.h, encoded.graphs)
    drawn = noisy_sum(node_sums(encoded.h, keep, encoded.graphs), mean, std)
    drawn = drawn / (1 if readout == "sum" else 3)
    spread = [encoded.graphs.spread_or_broadcast(moment) for moment in (mean, std)]
    nodewise = encoded.pool(inject_noise(encoded.h, keep, *spread))
    error = float(nodewise.std(0).max()) * math.sqrt(2 / copies)
    assert torch.allclose(drawn.mean(0), nodewise.mean(0), atol=5 * error)
    assert torch.allclose(drawn.std(0), nodewise.std(0), rtol=0.02)
    for level in (0.05, 0.5, 0.95):
        ours, theirs = drawn.quantile(level, 0), nodewise.quantile(level, 0)
        assert torch.allclose(ours, theirs, atol=15 * error)


def test_the_draw_has_the_right_gradient_and_none_that_is_infinite() -> None:
    h = torch.randn(4, 2, dtype=F64)
    graphs = encoded_of(h, [3, 1]).graphs
    mean, std = torch.randn(2, 2, dtype=F64), torch.rand(2, 2, dtype=F64) + 0.1

    def fixed(keep: Tensor) -> Tensor:
        torch.manual_seed(0)
        return noisy_sum(node_sums(h, keep, graphs), mean, std)

    assert torch.autograd.gradcheck(fixed, torch.rand(4, dtype=F64, requires_grad=True))
    everything = torch.ones(4, dtype=F64, requires_grad=True)
    (gradient,) = torch.autograd.grad(fixed(everything).sum(), everything)
    assert gradient.isfinite().all()


def noise_of_every_node(bottleneck: PaperVGIB, h: Tensor, sizes: list[int]) -> Tensor:
    graphs = encoded_of(h, sizes).graphs
    moments = [graphs.spread_or_broadcast(moment) for moment in bottleneck.moments(h, graphs)]
    return inject_noise(h, torch.zeros(len(h)), *moments)


def test_noise_has_the_mean_and_spread_of_its_own_graph() -> None:
    sizes = [40_000, 30_000]
    h = torch.cat([torch.randn(sizes[0], 2) * 3 + 5, torch.randn(sizes[1], 2) * 0.5 - 1])
    z = noise_of_every_node(make(channels=2), h, sizes)
    assert not torch.isclose(z, h).all(1).any()
    for drawn, own in zip(z.split(sizes), h.split(sizes), strict=True):
        std = own.std(0, correction=0)
        assert torch.allclose(drawn.mean(0), own.mean(0), atol=0.03 * float(std.max()))
        assert torch.allclose(drawn.std(0), std, rtol=0.02)
        standard = (drawn - own.mean(0)) / std
        assert standard.pow(3).mean(0).abs().max() < 0.1
        assert (standard.pow(4).mean(0) - 3).abs().max() < 0.3
        # Neither channels nor neighboring nodes share their noise.
        assert (standard[:, 0] * standard[:, 1]).mean().abs() < 0.03
        assert (standard[1:] * standard[:-1]).mean().abs() < 0.03


def test_population_noise_has_the_moments_of_the_training_set_for_every_graph() -> None:
    sizes = [40_000, 30_000]
    h = torch.cat([torch.randn(sizes[0], 2) * 3 + 5, torch.randn(sizes[1], 2) * 0.5 - 1])
    z = noise_of_every_node(make(channels=2, prior="population").train(), h, sizes)
    for drawn in z.split(sizes):
        assert torch.allclose(drawn.mean(0), h.mean(0), atol=0.1)
        assert torch.allclose(drawn.std(0), h.std(0), rtol=0.02)


def test_injection_equals_a_loop_and_has_the_right_gradient() -> None:
    h, keep = torch.randn(4, 2, dtype=F64), torch.rand(4, dtype=F64)
    mean, std = torch.randn(4, 2, dtype=F64), torch.rand(4, 2, dtype=F64)

    def fixed(*inputs: Tensor) -> Tensor:
        return inject_noise(*inputs, rng=torch.Generator().manual_seed(3))

    drawn = torch.empty(4, 2, dtype=F64).normal_(generator=torch.Generator().manual_seed(3))
    found = fixed(h, keep, mean, std)
    for j in range(4):
        for c in range(2):
            eps = mean[j, c] + std[j, c] * drawn[j, c]
            expected = keep[j] * h[j, c] + (1 - keep[j]) * eps
            assert found[j, c].item() == pytest.approx(expected.item())
    leaves = [t.requires_grad_() for t in (h, keep, mean, std)]
    assert gradcheck(fixed, leaves)


# ---- the priors --------------------------------------------------------------------------------


def test_graph_statistics_are_the_moments_of_each_graph_and_carry_no_gradient() -> None:
    h = torch.randn(9, 2, dtype=F64, requires_grad=True)
    mean, std = graph_statistics(h, segments([5, 4]), 1e-9)
    for number, own in enumerate(h.detach().split([5, 4])):
        assert torch.allclose(mean[number], own.mean(0))
        assert torch.allclose(std[number], own.std(0, correction=0))
    assert not mean.requires_grad
    assert not std.requires_grad


def test_the_std_floor_stands_in_for_a_constant_channel_and_a_lone_node() -> None:
    h = torch.randn(5, 2, dtype=F64)
    h[:4, 0] = 3.0
    mean, std = graph_statistics(h, segments([4, 1]), 0.25)
    assert torch.allclose(std[0, 0], torch.tensor(0.25, dtype=F64))
    assert std[0, 1] > 0.25
    assert torch.allclose(std[1], torch.full((2,), 0.25, dtype=F64))
    assert torch.equal(mean[1], h[4])


@pytest.mark.parametrize("prior", ["graph", "population"])
def test_the_classes_floors_reach_the_bound(prior: Any) -> None:
    h = torch.randn(6, 3)
    h[:, 0] = 1.0  # a constant channel
    found = {}
    for pole_floor in (1e-2, 1e-8):
        bottleneck = make(1e6, prior=prior, pole_floor=pole_floor).train()
        found[pole_floor] = bottleneck(encoded_of(h, [5, 1])).terms["compression"]
    assert (found[1e-8] - found[1e-2]).item() == pytest.approx(0.5 * math.log(1e6), rel=1e-4)
    for std_floor in (1e-1, 1e-3):
        _, std = make(prior=prior, std_floor=std_floor).train().moments(h, segments([5, 1]))
        assert std[:, 0].allclose(torch.tensor(std_floor))


def test_population_moments_approach_those_of_the_training_set() -> None:
    h = torch.randn(4000, 3) * torch.tensor([1.0, 5.0, 0.2]) + torch.tensor([0.0, 3.0, -7.0])
    bottleneck = make(prior="population").train()
    for _ in range(10):
        for part in h[torch.randperm(len(h))].split(200):
            bottleneck(encoded_of(part, [200]))
    std = h.std(0, correction=0)
    mean, spread = bottleneck.eval().moments(h[:2], segments([2]))
    assert ((mean - h.mean(0)).abs() < 0.1 * std).all()
    assert torch.allclose(spread, std, rtol=0.05)


def test_the_first_batch_replaces_the_placeholder_of_the_population() -> None:
    h = torch.randn(50, 3) * 4 + 9
    bottleneck = make(prior="population").train()
    bottleneck(encoded_of(h, [50]))
    assert torch.allclose(bottleneck.population_mean, h.mean(0))
    assert torch.allclose(bottleneck.population_variance, h.var(0, correction=0))


def test_later_batches_move_the_population_by_the_momentum() -> None:
    one, two = torch.randn(50, 3), torch.randn(50, 3) * 2 + 5
    bottleneck = make(prior="population", momentum=0.25).train()
    bottleneck(encoded_of(one, [50]))
    bottleneck(encoded_of(two, [50]))
    expected = 0.75 * one.mean(0) + 0.25 * two.mean(0)
    assert torch.allclose(bottleneck.population_mean, expected, atol=1e-5)
    expected = 0.75 * one.var(0, correction=0) + 0.25 * two.var(0, correction=0)
    assert torch.allclose(bottleneck.population_variance, expected, rtol=1e-4)


def test_population_moments_are_saved_and_evaluation_leaves_them_alone() -> None:
    bottleneck = make(prior="population").train()
    bottleneck(encoded_of(torch.randn(50, 3) + 2, [50]))
    state = {name: value.clone() for name, value in bottleneck.state_dict().items()}
    assert {"population_mean", "population_variance"} <= state.keys()
    bottleneck.eval()(encoded_of(torch.randn(50, 3) - 9, [50]))
    assert all(torch.equal(value, state[name]) for name, value in bottleneck.state_dict().items())
    other = make(prior="population")
    other.load_state_dict(state)
    assert torch.equal(other.population_mean, state["population_mean"])


def test_an_untrained_population_is_standard_and_finite() -> None:
    mean, std = make(prior="population").eval().moments(torch.randn(4, 3), segments([4]))
    assert torch.equal(mean, torch.zeros(1, 3))
    assert torch.equal(std, torch.ones(1, 3))


def test_the_graph_prior_leaves_the_populations_moments_alone() -> None:
    bottleneck = make(prior="graph").train()
    bottleneck(encoded_of(torch.randn(5, 3), [5]))
    assert torch.isinf(bottleneck.population_variance).all()


# ---- the class ---------------------------------------------------------------------------------


def test_the_page_is_no_longer_than_a_reader_of_the_paper_wants_it() -> None:
    assert len(Path(module.__file__).read_text(encoding="utf-8").splitlines()) <= 200
    assert len(option_names(PaperVGIB)) - 1 <= 9  # beside the channels


def test_nodes_of_a_graph_whose_readout_is_not_ours_get_noise_one_by_one() -> None:
    h = torch.randn(6, 3)
    closed, opened = (make(logit).train() for logit in (-1e6, 1e6))
    encoded = Encoded(h, (h,), Adjacency.from_edge_index(NO_EDGES, 6), segments([4, 2]), None)
    assert torch.allclose(opened(encoded).z, h, atol=1e-5)
    drawn = torch.stack([closed(encoded).z for _ in range(4000)])
    assert torch.allclose(drawn[:, :4].mean((0, 1)), h[:4].mean(0), atol=0.1)
    assert torch.allclose(drawn[:, 4:].std((0, 1)), h[4:].std(0, correction=0), atol=0.1)


@pytest.mark.parametrize("prior", ["graph", "population"])
def test_evaluation_gives_the_expected_perturbed_graph(prior: Any) -> None:
    h = torch.randn(6, 3)
    bottleneck = make(prior=prior).eval()
    perturbed = bottleneck(encoded_of(h, [4, 2]))
    p = torch.sigmoid(bottleneck.gate(h))
    own = torch.cat([h[:4].mean(0).expand(4, 3), h[4:].mean(0).expand(2, 3)])
    mean = own if prior == "graph" else torch.zeros(6, 3)
    assert torch.equal(perturbed.scores, p)
    nodes = p[:, None] * h + (1 - p[:, None]) * mean
    expected = torch.stack([nodes[:4].sum(0), nodes[4:].sum(0)])
    assert torch.allclose(perturbed.graph, expected, atol=1e-5)


def spy(monkeypatch: pytest.MonkeyPatch, gates: Tensor) -> list[tuple[Tensor, float]]:
    """Puts known gates in the place of the draw, and notes what it was asked for."""
    asked = []

    def known(logits: Tensor, temperature: float, generator: Any = None) -> Tensor:
        asked.append((logits.detach(), temperature))
        return gates

    monkeypatch.setattr(module, "relax", known)
    return asked


@pytest.mark.parametrize("prior", ["graph", "population"])
def test_the_compression_term_is_the_mean_of_the_loop_written_bound(
    prior: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    h, keep, graphs = torch.randn(8, 3), torch.rand(8), segments([5, 1, 2])
    spy(monkeypatch, keep)
    bottleneck = make(prior=prior, std_floor=0.1, pole_floor=0.05).train()
    found = bottleneck(encoded_of(h, [5, 1, 2])).terms["compression"]
    if prior == "graph":
        mean, std = graph_statistics(h, graphs, 0.1)
    else:
        mean, std = h.mean(0, keepdim=True), h.std(0, correction=0, keepdim=True)
    expected = loop_compression(h, keep, mean, std, graphs, pole_floor=0.05)
    assert found.item() == pytest.approx(sum(expected) / 3, rel=1e-4)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_the_gates_logits_and_the_temperature_reach_the_relaxation(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = torch.randn(4, 3)
    asked = spy(monkeypatch, torch.rand(4))
    bottleneck = make(temperature=temperature).train()
    bottleneck(encoded_of(h, [4]))
    assert torch.equal(asked[0][0], bottleneck.gate(h))
    assert asked[0][1] == temperature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "graphs"}, "prior must be 'graph' or 'population' .* got 'graphs'"),
        ({"temperature": 0.0}, "temperature positive; got 'graph' and 0.0"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PaperVGIB(3, **options)


# ---- the leak of the per-graph prior -----------------------------------------------------------

COPIES = 4000


def all_noise_readouts(graphs: list[Tensor], prior: Any, readout: str) -> list[Tensor]:
    """z_N of each graph, ``COPIES`` times, with every lambda at zero."""
    sizes = [len(h) for h in graphs]
    bottleneck = make(-1e6, channels=graphs[0].shape[1], prior=prior, momentum=0.0).train()
    h = torch.cat(graphs).repeat(COPIES, 1)
    encoded = encoded_of(h, sizes * COPIES, readout)
    pooled = bottleneck(encoded).graph.detach()
    return list(pooled.view(COPIES, len(graphs), -1).unbind(1))


def information(draws: list[Tensor], likelihoods: list[Normal]) -> tuple[float, float]:
    """I(z; which graph) in nats with its Monte-Carlo error, the graphs being equally likely."""
    ratios = []
    for own, z in enumerate(draws):
        log_p = torch.stack([normal.log_prob(z).sum(1) for normal in likelihoods])
        ratios.append(log_p[own] - log_p.logsumexp(0) + math.log(len(draws)))
    every = torch.cat(ratios)
    return float(every.mean()), float(every.std() / math.sqrt(len(every)))


def fitted(draws: list[Tensor]) -> list[Normal]:
    return [Normal(z.mean(0), z.std(0)) for z in draws]


def estimate(draws: list[Tensor]) -> tuple[float, float]:
    """Normals fitted to one half of the draws, judged on the other half."""
    half = COPIES // 2
    return information([z[half:] for z in draws], fitted([z[:half] for z in draws]))


def graphs_of(sizes: list[int]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(m, 2, generator=generator) + 2 * k for k, m in enumerate(sizes)]


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_under_its_own_prior_a_graph_is_recognized_through_nothing_but_noise(readout: str) -> None:
    graphs = graphs_of([6, 6, 6])
    draws = all_noise_readouts(graphs, "graph", readout)
    found, error = estimate(draws)
    # The exact law of z_N given the graph: a normal of mean m mu and variance m sigma^2.
    m = 6
    scale = m if readout == "sum" else 1
    exact = [
        Normal(scale * h.mean(0), scale * h.std(0, correction=0) / math.sqrt(m)) for h in graphs
    ]
    truth, _ = information(draws, exact)
    assert found == pytest.approx(truth, abs=0.05)
    # Almost all of log 3 nats: the graph is told apart nearly without fail.
    assert found > 0.8 * math.log(3)
    assert found > 20 * error


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_under_the_populations_prior_noise_says_nothing_of_graphs_of_equal_size(
    readout: str,
) -> None:
    found, error = estimate(all_noise_readouts(graphs_of([6, 6, 6]), "population", readout))
    assert abs(found) < 5 * error + 2e-3


def test_under_the_populations_prior_a_sum_still_tells_the_size() -> None:
    graphs = graphs_of([3, 6, 12])
    draws = all_noise_readouts(graphs, "population", "sum")
    found, error = estimate(draws)
    every = torch.cat(graphs)
    mu, sigma = every.mean(0), every.std(0, correction=0)
    exact = [Normal(len(h) * mu, math.sqrt(len(h)) * sigma) for h in graphs]
    truth, _ = information(draws, exact)
    assert found == pytest.approx(truth, abs=0.05)
    assert found > 0.1
    assert found > 20 * error
    # Graphs of one size stay alike whatever they hold: what leaks is the size alone.
    alike, alike_error = estimate([draws[1], all_noise_readouts(graphs, "population", "sum")[1]])
    assert abs(alike) < 5 * alike_error + 2e-3


def test_no_draw_is_ever_without_a_logarithm() -> None:
    drawn = relax(torch.zeros(8_000_000), 0.01, torch.Generator().manual_seed(0))
    assert drawn.isfinite().all()
