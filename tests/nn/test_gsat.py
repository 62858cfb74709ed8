"""Stochastic attention: its divergence, its schedule, its weights on the messages."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.distributions import Bernoulli, kl_divergence

from vgib.errors import InputError
from vgib.nn import gsat as module
from vgib.nn.encoder import Encoder
from vgib.nn.gsat import GSAT, bernoulli_kl
from vgib.nn.net import SubgraphNet
from vgib.nn.sparse import Adjacency, Segments

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])


def make_net(**options: float) -> SubgraphNet:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = Encoder("gcn", 3, hidden=4)
        return SubgraphNet(nn.Identity(), encoder, GSAT(4, **options), task="regression").double()


def inputs() -> tuple[torch.Tensor, Adjacency, Segments]:
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return x, Adjacency.from_edge_index(EDGES, 5), Segments(torch.tensor([0, 3, 5]).int())


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_divergence_is_that_of_two_bernoulli_variables(p: float, r: float) -> None:
    found = bernoulli_kl(torch.tensor([p], dtype=torch.float64), r)
    one, other = (torch.tensor([v], dtype=torch.float64) for v in (p, r))
    assert torch.allclose(found, kl_divergence(Bernoulli(one), Bernoulli(other)), atol=1e-9)


def test_the_divergence_and_its_gradient_are_finite_at_both_ends() -> None:
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    found = bernoulli_kl(p, 0.7)
    found.sum().backward()
    assert found.isfinite().all()
    assert p.grad.isfinite().all()


def test_the_rate_falls_step_by_step_to_its_end() -> None:
    gsat = GSAT(4, rate=0.5, rate_start=0.9, rate_step=0.1, rate_every=10)
    rates = []
    for epoch in (0, 9, 10, 39, 40, 500):
        gsat.start_epoch(epoch)
        rates.append(gsat.rate)
    assert rates == pytest.approx([0.9, 0.9, 0.8, 0.6, 0.5, 0.5])


def test_the_term_is_the_divergence_from_the_present_rate() -> None:
    net = make_net().train()
    net.bottleneck.start_epoch(15)
    x, adj, graphs = inputs()
    perturbed = net.perturb(net.encode(x, adj, graphs))
    expected = bernoulli_kl(perturbed.scores, 0.8).mean()
    assert torch.allclose(perturbed.terms["compression"], expected)


def test_a_message_is_weighted_by_the_attention_of_both_its_ends_and_encoded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = make_net().train()
    x, adj, graphs = inputs()
    attention = torch.rand(5, dtype=torch.float64)
    monkeypatch.setattr(module, "relax", lambda logits, temperature: attention)
    perturbed = net.perturb(net.encode(x, adj, graphs))
    sender, receiver = adj.edge_index
    expected = attention[sender] * attention[receiver]
    assert torch.equal(perturbed.attention, attention)
    again = net.encoder(x, adj.with_weight(expected))
    assert torch.allclose(perturbed.graph, graphs.sum(again))


def test_in_evaluation_the_attention_is_the_probability() -> None:
    net = make_net().eval()
    x, adj, graphs = inputs()
    perturbed = net.perturb(net.encode(x, adj, graphs))
    assert torch.equal(perturbed.attention, perturbed.scores)


@pytest.mark.parametrize(("rate", "rate_start"), [(0.0, 0.9), (0.5, 1.0), (0.9, 0.5)])
def test_impossible_rates_are_refused(rate: float, rate_start: float) -> None:
    with pytest.raises(InputError, match="0 < rate <= rate_start < 1"):
        GSAT(4, rate=rate, rate_start=rate_start)
