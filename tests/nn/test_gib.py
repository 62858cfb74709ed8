"""The critic's estimate of information, and the two levels of its optimization."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vgib.config import Training
from vgib.data.packed import Batch
from vgib.data.synthetic import generate_ba2motifs
from vgib.nn.bottleneck import Encoded
from vgib.nn.encoder import Encoder
from vgib.nn.gib import GIB, Critic, donsker_varadhan
from vgib.nn.net import SubgraphNet
from vgib.nn.sparse import Adjacency, Segments
from vgib.train.loop import train
from vgib.train.optimizer import Level, levels

RHO = 0.8
TRUE_INFORMATION = -0.5 * math.log(1 - RHO**2)


@pytest.fixture(autouse=True)
def _seed() -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def correlated(n: int) -> tuple[Tensor, Tensor]:
    """Pairs of normals with correlation ``RHO``."""
    a, noise = torch.randn(n, 1), torch.randn(n, 1)
    return a, RHO * a + math.sqrt(1 - RHO**2) * noise


class Best(nn.Module):
    """The critic that makes the bound tight: the logarithm of the density ratio."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        quadratic = RHO**2 * (a**2 + b**2) - 2 * RHO * a * b
        return (TRUE_INFORMATION - quadratic / (2 * (1 - RHO**2))).squeeze(1)


class Chosen(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.function(a, b).squeeze(1)


# ---- the estimate ------------------------------------------------------------------------------


def test_a_constant_critic_sees_no_information() -> None:
    constant = Chosen(lambda a, b: torch.full_like(a, 3.7))
    assert donsker_varadhan(constant, *correlated(100)).item() == pytest.approx(0, abs=1e-5)


def test_the_best_critic_gives_the_true_information() -> None:
    estimates = [donsker_varadhan(Best(), *correlated(20_000)).item() for _ in range(10)]
    assert sum(estimates) / 10 == pytest.approx(TRUE_INFORMATION, abs=0.03)


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a * b / 2, lambda a, b: -(a - b).abs(), lambda a, b: torch.tanh(a + b)],
    ids=["product", "distance", "sum"],
)
def test_any_other_critic_stays_below_the_true_information(function: Any) -> None:
    estimates = [donsker_varadhan(Chosen(function), *correlated(5000)).item() for _ in range(20)]
    assert sum(estimates) / 20 < TRUE_INFORMATION


def test_a_bad_critic_gives_a_negative_estimate() -> None:
    bad = Chosen(lambda a, b: -a * b)
    assert donsker_varadhan(bad, *correlated(1000)).item() < -0.5


def test_a_trained_critic_comes_close_to_the_true_information_from_below() -> None:
    critic = Critic(1, 32)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for _ in range(400):
        optimizer.zero_grad()
        (-donsker_varadhan(critic, *correlated(512))).backward()
        optimizer.step()
    with torch.no_grad():
        estimates = [donsker_varadhan(critic, *correlated(20_000)).item() for _ in range(10)]
    found = sum(estimates) / 10
    assert 0.85 * TRUE_INFORMATION < found < TRUE_INFORMATION + 0.03


def test_no_graph_meets_its_own_subgraph_in_the_product() -> None:
    same = Chosen(lambda a, b: 50.0 * (a == b))
    for n in (2, 3, 10):
        graph = torch.arange(float(n)).unsqueeze(1)
        for _ in range(10):
            assert donsker_varadhan(same, graph, graph).item() == pytest.approx(50)


def test_a_single_graph_carries_no_information() -> None:
    critic = Critic(2, 4)
    graph, subgraph = torch.randn(1, 2, requires_grad=True), torch.randn(1, 2)
    estimate = donsker_varadhan(critic, graph, subgraph)
    estimate.backward()
    assert estimate.item() == pytest.approx(0, abs=1e-6)
    assert graph.grad.isfinite().all()


# ---- the bottleneck ----------------------------------------------------------------------------


@pytest.mark.parametrize("readout", ["sum", "mean"])
def test_the_subgraph_is_the_probability_weighted_readout(readout: str) -> None:
    h = torch.randn(5, 3)
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 5)
    encoded = Encoded(h, (h,), adj, Segments(torch.tensor([0, 3, 5]).int()), readout)
    gib = GIB(3).eval()
    perturbed = gib(encoded)
    p = torch.sigmoid(gib.gate(h))
    assert torch.equal(perturbed.scores, p)
    parts = zip((p[:, None] * h).split([3, 2]), p.split([3, 2]), strict=True)
    expected = [a.sum(0) / (1 if readout == "sum" else b.sum()) for a, b in parts]
    assert torch.allclose(perturbed.graph, torch.stack(expected))


def test_without_the_information_no_critic_takes_a_step() -> None:
    bottleneck = GIB(3, beta=0.1, information=False).train()
    assert bottleneck.weights["compression"] == 0 and bottleneck.inner_steps == 0
    h = torch.randn(4, 3)
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 4)
    encoded = Encoded(h, (h,), adj, Segments(torch.tensor([0, 4]).int()))
    assert "compression" not in bottleneck(encoded).terms
    assert not list(bottleneck.inner_gradients(encoded))


def test_with_the_whole_graph_the_prediction_loss_is_the_mean_of_two() -> None:
    weights = GIB(3, scale=0.6, whole=True).weights
    assert (weights["prediction"], weights["clean"]) == pytest.approx((0.3, 0.3))


def test_the_prediction_at_test_time_is_that_of_the_soft_sum() -> None:
    net = SubgraphNet(nn.Identity(), Encoder("gcn", 3), GIB(16), task="classification", outputs=2)
    x, adj = torch.randn(4, 3), Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 4)
    graphs = Segments(torch.tensor([0, 4]).int())
    output, scores = net.eval().predict(x, adj, graphs)
    h = net.encode(x, adj, graphs).h
    assert torch.allclose(output, net.head((scores.unsqueeze(1) * h).sum(0, keepdim=True)))


def test_the_published_classification_weights_can_be_written() -> None:
    weights = GIB(3, beta=0.1, connectivity=0.3, scale=0.7).weights
    assert weights == pytest.approx({"prediction": 0.7, "compression": 0.07, "connectivity": 0.3})


# ---- two levels --------------------------------------------------------------------------------

GRAPHS = generate_ba2motifs(20)


def make_net(**options: Any) -> SubgraphNet:
    bottleneck = GIB(8, **({"inner_steps": 3} | options))
    encoder = Encoder("gcn", 1, hidden=8)
    return SubgraphNet(nn.Identity(), encoder, bottleneck, task="classification", outputs=2)


@pytest.mark.parametrize("graphs", [1, 2, 37])
@pytest.mark.parametrize("first", [True, False])
def test_the_critics_gradient_by_hand_is_that_of_autograd(graphs: int, first: bool) -> None:
    torch.manual_seed(0)
    critic = Critic(5, 7).double()
    pairs = torch.randn(2, graphs, 5, dtype=torch.float64)
    torch.manual_seed(1)
    (-donsker_varadhan(critic, *pairs)).backward()
    wanted = [p.grad.clone() for p in critic.parameters()]
    if first:
        critic.zero_grad()
    torch.manual_seed(1)
    for _ in critic.gradients(*pairs, steps=1):
        found = [p.grad for p in critic.parameters()]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def changed(net: SubgraphNet, before: dict[str, Tensor]) -> set[str]:
    """The parameters that are no longer what they were."""
    return {n for n, p in net.named_parameters() if not torch.equal(p, before[n])}


def train_inner_level(net: SubgraphNet, batch: Batch, inner: Level) -> None:
    """What a training step does first."""
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    for _ in net.bottleneck.inner_gradients(encoded.detached()):
        inner.move(batch.num_graphs)


def snapshot(net: SubgraphNet) -> dict[str, Tensor]:
    return {n: p.detach().clone() for n, p in net.named_parameters()}


def critic_names(net: SubgraphNet) -> set[str]:
    return {n for n, _ in net.named_parameters() if n.startswith("bottleneck.critic.")}


def test_the_inner_level_changes_the_critic_alone() -> None:
    net = make_net().train()
    _, inner = levels(net, Training())
    before = snapshot(net)
    train_inner_level(net, GRAPHS.batch(), inner)
    # The constant of the last layer cancels in the estimate.
    assert changed(net, before) == critic_names(net) - {"bottleneck.critic.mlp.2.bias"}
    others = [p for n, p in net.named_parameters() if n not in critic_names(net)]
    assert not any(p.grad.any() for p in others if p.grad is not None)


def test_the_outer_level_leaves_the_critic_alone() -> None:
    net = make_net().train()
    outer, _ = levels(net, Training())
    before = snapshot(net)
    batch = GRAPHS.batch()
    net.objective(net.terms(batch.x, batch.adj, batch.graphs, batch.y)).backward()
    outer.move(batch.num_graphs)
    moved = changed(net, before)
    assert not moved & critic_names(net)
    assert {n for n in before if n.startswith(("encoder.", "head.", "bottleneck.gate."))} >= moved
    assert {n.split(".")[0] for n in moved} == {"encoder", "head", "bottleneck"}


def test_the_inner_level_raises_the_estimate() -> None:
    net = make_net(inner_steps=100, critic_hidden=32).train()
    batch = replace(GRAPHS, x=torch.randn(GRAPHS.num_nodes, 1)).batch()
    _, inner = levels(net, Training(inner_lr=1e-2))

    def information() -> float:
        with torch.no_grad():
            encoded = net.encode(batch.x, batch.adj, batch.graphs)
            perturbed = net.perturb(encoded)
            draws = [net.bottleneck.information(encoded, perturbed) for _ in range(50)]
        return float(torch.stack(draws).mean())

    before = information()
    train_inner_level(net, batch, inner)
    assert information() > before + 0.01


def test_without_inner_steps_the_critic_is_left_alone() -> None:
    # The outer level would lower the estimate by spoiling the critic.
    net = make_net(inner_steps=0)
    before = snapshot(net)
    train(net, GRAPHS, settings=Training(epochs=1, batch_size=10))
    assert not changed(net, before) & critic_names(net)


def test_the_critics_gradient_does_not_count_when_the_outer_gradient_is_clipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = make_net()
    clipped: list[int] = []
    original = nn.utils.clip_grad_norm_

    def spy(vector: nn.Parameter, *args: Any, **options: Any) -> Tensor:
        clipped.append(vector.numel())
        return original(vector, *args, **options)

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", spy)
    train(net, GRAPHS, settings=Training(epochs=1, batch_size=10, clip=1.0))
    critic = sum(p.numel() for p in net.bottleneck.inner_parameters())
    assert set(clipped) == {sum(p.numel() for p in net.parameters()) - critic}


def test_training_runs_both_levels_for_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    net = make_net(inner_steps=4)
    calls = []
    original = net.bottleneck.critic.gradients

    def counted(*args: Any) -> Iterator[None]:
        for _ in original(*args):
            calls.append(1)
            yield

    monkeypatch.setattr(net.bottleneck.critic, "gradients", counted)
    before = snapshot(net)
    train(net, GRAPHS, settings=Training(epochs=2, batch_size=10))
    assert len(calls) == 2 * 2 * 4
    assert changed(net, before) == set(before) - {"bottleneck.critic.mlp.2.bias"}
