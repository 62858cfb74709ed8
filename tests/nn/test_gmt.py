"""GMT-sam: what is drawn, what is averaged, and the classifier that is trained again."""

import pytest
import torch
from tests.nn.test_gsat import inputs
from torch import nn

from vgib.errors import InputError
from vgib.nn import gmt as module
from vgib.nn.bottleneck import NoBottleneck
from vgib.nn.encoder import Encoder
from vgib.nn.gmt import GMT, FrozenGate, drawn
from vgib.nn.gsat import GSAT, bernoulli_kl
from vgib.nn.net import SubgraphNet
from vgib.nn.sparse import Adjacency, Segments


def net_with(bottleneck: module.Bottleneck, seed: int = 0) -> SubgraphNet:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = Encoder("gcn", 3, hidden=4)
        return SubgraphNet(nn.Identity(), encoder, bottleneck, task="regression").double()


def test_what_is_drawn_is_zero_or_one_with_the_right_mean_and_gradient() -> None:
    p = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    found = drawn(p, 20_000)
    rounded = found.detach().round()
    assert torch.allclose(found.detach(), rounded)
    assert set(rounded.unique().tolist()) == {0.0, 1.0}
    assert torch.allclose(rounded.mean(0), p.detach(), atol=0.02)
    (found * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert torch.allclose(p.grad, 20_000 * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))


def test_the_readout_is_the_mean_over_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    net = net_with(GMT(4, draws=3)).train()
    net.bottleneck.start_epoch(15, 100)
    x, adj, graphs = inputs()
    draws = iter(torch.randint(0, 2, (3, 1, 6)).double())
    monkeypatch.setattr(module, "drawn", lambda weight, count: next(draws))
    perturbed = net.perturb(net.encode(x, adj, graphs))
    each = [graphs.sum(net.encoder(x, adj.with_weight(w))) for w in perturbed.edge_weight]
    assert perturbed.edge_weight.shape == (3, 6)
    assert torch.allclose(perturbed.graph, torch.stack(each).mean(0))
    p = net.bottleneck.logits(net.encode(x, adj, graphs)).sigmoid()
    assert perturbed.terms["compression"].shape == bernoulli_kl(p, 0.8).mean().shape


def test_the_gate_learns_through_the_draws_and_evaluation_is_that_of_gsat() -> None:
    net = net_with(GMT(4, draws=2, beta=0.0)).train()
    x, adj, graphs = inputs()
    encoded = net.encode(x, adj, graphs)
    net.perturb(encoded).graph.sum().backward()
    assert net.bottleneck.extractor.last.weight.grad.abs().sum() > 0
    same = net_with(GSAT(4))
    same.load_state_dict(net.state_dict())
    ours, theirs = (each.eval().predict(x, adj, graphs) for each in (net, same))
    assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])


def test_a_frozen_gate_gives_the_teachers_scores_and_never_learns() -> None:
    teacher = net_with(GSAT(4), seed=3)
    x, adj, graphs = inputs()
    told = teacher.eval().predict(x, adj, graphs)[1]
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    net = net_with(FrozenGate(teacher, draws=2)).train()
    assert not teacher.training
    terms = net.terms(x, adj, graphs, torch.zeros(2, 1, dtype=torch.float64))
    net.objective(terms).backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert net.encoder.layers[0].lin.weight.grad.abs().sum() > 0
    assert all(torch.equal(value, before[name]) for name, value in teacher.state_dict().items())
    assert torch.equal(net.eval().predict(x, adj, graphs)[1], told)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="draws must be at least 1"):
        GMT(4, draws=0)
    teacher = net_with(GSAT(4))
    with pytest.raises(InputError, match="draws must be at least 1; got 0"):
        FrozenGate(teacher, draws=0)
    assert FrozenGate(teacher, draws=1).draws == 1
    with pytest.raises(InputError, match="got NoBottleneck"):
        FrozenGate(net_with(NoBottleneck(4)))


def test_a_graph_without_edges_has_nothing_to_draw() -> None:
    net = net_with(GMT(4)).train()
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 2)
    x, graphs = torch.ones(2, 3, dtype=torch.float64), Segments(torch.tensor([0, 2]).int())
    perturbed = net.perturb(net.encode(x, adj, graphs))
    assert perturbed.terms["compression"] == 0
    assert perturbed.scores.tolist() == [0, 0]
