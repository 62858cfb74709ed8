"""Stochastic attention: its divergence, its schedule, its weights on the messages."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.distributions import Bernoulli, kl_divergence

from vgib.errors import InputError
from vgib.nn import gsat as module
from vgib.nn.bottleneck import Gate
from vgib.nn.encoder import Encoder
from vgib.nn.gsat import GSAT, Extractor, bernoulli_kl, instance_norm
from vgib.nn.net import SubgraphNet
from vgib.nn.sparse import Adjacency, Segments

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])


def make_net(**options: Any) -> SubgraphNet:
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
        gsat.start_epoch(epoch, 100)
        rates.append(gsat.rate)
    assert rates == pytest.approx([0.9, 0.9, 0.8, 0.6, 0.5, 0.5])


def test_no_epoch_is_selected_before_the_rate_has_fallen() -> None:
    assert GSAT(4, rate=0.5, rate_every=10).selected_from == 40
    assert GSAT(4, rate=0.7, rate_every=20).selected_from == 40
    assert GSAT(4, rate=0.9).selected_from == 0


def test_instance_norm_is_that_of_each_graph_alone() -> None:
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = instance_norm(x, Segments(torch.tensor([0, 3, 5]).int()))
    for rows in (slice(0, 3), slice(3, 5)):
        expected = nn.functional.instance_norm(x[rows].T.unsqueeze(0)).squeeze(0).T
        assert torch.allclose(found[rows], expected)


def test_the_extractor_sees_the_graphs_one_by_one() -> None:
    extractor = Extractor(3, 4, dropout=0.5).double().eval()
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    both = extractor(x, Segments(torch.tensor([0, 3, 5]).int()))
    alone = [extractor(x[:3], Segments(torch.tensor([0, 3]).int()))]
    alone.append(extractor(x[3:], Segments(torch.tensor([0, 2]).int())))
    assert torch.allclose(both, torch.cat(alone))


def test_the_term_is_the_divergence_from_the_present_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    net = make_net().train()
    net.bottleneck.start_epoch(15, 100)
    x, adj, graphs = inputs()
    attention = torch.rand(6, dtype=torch.float64)
    monkeypatch.setattr(module, "relax", lambda logits, temperature: attention)
    perturbed = net.perturb(net.encode(x, adj, graphs))
    assert torch.allclose(perturbed.terms["compression"], bernoulli_kl(attention, 0.8).mean())


def test_the_attention_of_an_edge_comes_from_both_ends_and_is_the_same_in_both_directions() -> None:
    net = make_net().eval()
    x, adj, graphs = inputs()
    encoded = net.encode(x, adj, graphs)
    perturbed = net.perturb(encoded)
    sender, receiver = adj.edge_index
    pairs = torch.cat([encoded.h[sender], encoded.h[receiver]], 1)
    p = net.bottleneck.extractor(pairs, Segments(torch.tensor([0, 4, 6]).int())).sigmoid()
    edges = list(map(tuple, adj.edge_index.T.tolist()))
    there = dict(zip(edges, p.tolist(), strict=True))
    expected = [(there[a, b] + there[b, a]) / 2 for a, b in edges]
    assert perturbed.edge_weight.tolist() == pytest.approx(expected)
    again = net.encoder(x, adj.with_weight(perturbed.edge_weight))
    assert torch.allclose(perturbed.graph, graphs.sum(again))
    of_node_1 = [value for (_, b), value in zip(edges, expected, strict=True) if b == 1]
    assert perturbed.scores[1].item() == pytest.approx(sum(of_node_1) / len(of_node_1))


def test_on_nodes_a_message_is_weighted_by_the_attention_of_both_its_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = make_net(on="nodes").train()
    x, adj, graphs = inputs()
    attention = torch.rand(5, dtype=torch.float64)
    monkeypatch.setattr(module, "relax", lambda logits, temperature: attention)
    perturbed = net.perturb(net.encode(x, adj, graphs))
    sender, receiver = adj.edge_index
    expected = attention[sender] * attention[receiver]
    assert torch.allclose(perturbed.edge_weight, expected)
    again = net.encoder(x, adj.with_weight(expected))
    assert torch.allclose(perturbed.graph, graphs.sum(again))


def test_in_evaluation_the_attention_is_the_probability() -> None:
    net = make_net(on="nodes").eval()
    x, adj, graphs = inputs()
    perturbed = net.perturb(net.encode(x, adj, graphs))
    sender, receiver = adj.edge_index
    expected = perturbed.scores[sender] * perturbed.scores[receiver]
    assert torch.allclose(perturbed.edge_weight, expected)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InputError, match="'edges' or 'nodes'; got 'both'"):
        GSAT(4, on="both")  # type: ignore[arg-type]


@pytest.mark.parametrize(("rate", "rate_start"), [(0.0, 0.9), (0.5, 1.0), (0.9, 0.5)])
def test_impossible_rates_are_refused(rate: float, rate_start: float) -> None:
    with pytest.raises(InputError, match="0 < rate <= rate_start < 1"):
        GSAT(4, rate=rate, rate_start=rate_start)


def test_a_model_of_the_earlier_form_still_loads() -> None:
    net = make_net().eval()
    earlier = {k: v for k, v in net.state_dict().items() if "extractor" not in k}
    gate = Gate(4).double()
    earlier |= {f"bottleneck.gate.{name}": value for name, value in gate.state_dict().items()}
    net.load_state_dict(earlier)
    x, adj, graphs = inputs()
    encoded = net.encode(x, adj, graphs)
    found = net.perturb(encoded)
    p = gate(encoded.h).sigmoid()
    assert torch.allclose(found.scores, p)
    assert torch.allclose(found.graph, graphs.sum(net.encoder(x, adj.with_ends(p))))
