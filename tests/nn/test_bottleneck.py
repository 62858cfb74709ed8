"""The contract of every registered bottleneck, and the parts that several of them share."""

import importlib
import pkgutil
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Data

import vgib.nn
from vgib.data.packed import Batch, PackedGraphs
from vgib.nn.bottleneck import (
    Bottleneck,
    Encoded,
    Gate,
    Site,
    bottlenecks,
    build_in,
    connectivity,
    hard_keep,
)
from vgib.nn.encoder import Encoder
from vgib.nn.layers import LAYERS
from vgib.nn.net import SubgraphNet
from vgib.nn.sparse import Adjacency, Segments

for module in pkgutil.iter_modules(vgib.nn.__path__, "vgib.nn."):
    importlib.import_module(module.name)

# At least one case for each registered name.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("none", {}),
    "attention": ("attention", {}),
    "gib": ("gib", {"inner_steps": 2}),
    "gsat": ("gsat", {}),
    "gsat-nodes": ("gsat", {"on": "nodes"}),
    "gmt-sam": ("gmt-sam", {"draws": 2}),
    "vgib": ("vgib", {}),
    "vgib-predictor": ("vgib", {}),
    "vgib-gate": ("vgib", {}),
    "vgib-paper": ("vgib-paper", {}),
    "vgib-reference": ("vgib-reference", {}),
    "vgib-kept": ("vgib-paper", {"subgraph": 1.0}),
}
STAGES = {"vgib-predictor": 1, "vgib-gate": 2}
"""The stage of training that a case is in, where it is not the first."""
READOUTS = ["sum", "mean", "norm"]

every_case = pytest.mark.parametrize("case", CASES)
every_readout = pytest.mark.parametrize("readout", READOUTS)


def make_net(case: str, readout: str = "sum", encoder: str = "gcn", seed: int = 0) -> SubgraphNet:
    name, options = CASES[case]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        site = Site(8, in_channels=3, depth=2, outputs=2, task="classification", layer=encoder)
        bottleneck = build_in(name, site, options)
        bottleneck.start_stage(bottleneck.stages[STAGES.get(case, 0)])
        return SubgraphNet(
            nn.Identity(),
            Encoder(encoder, 3, hidden=8, depth=2),
            bottleneck,
            task="classification",
            outputs=2,
            readout=readout,
        )


def random_graphs(sizes: list[int], seed: int = 0, density: float = 0.4) -> PackedGraphs:
    generator = torch.Generator().manual_seed(seed)
    items = []
    for number, size in enumerate(sizes):
        dense = torch.rand(size, size, generator=generator) < density
        dense = (dense | dense.T).fill_diagonal_(False)
        x = torch.randn(size, 3, generator=generator)
        items.append(Data(x=x, edge_index=dense.nonzero().T, y=torch.tensor([number % 2])))
    return PackedGraphs.from_data(items)


ORDINARY = random_graphs([5, 1, 7, 3, 6])
# One node; two nodes without an edge; many nodes without an edge.
DEGENERATE = random_graphs([1, 2, 6], density=0.0)


def terms_of(net: SubgraphNet, batch: Batch) -> dict[str, Tensor]:
    return net.terms(batch.x, batch.adj, batch.graphs, batch.y)


def predict(net: SubgraphNet, graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    batch = graphs.batch()
    with torch.no_grad():
        return net.predict(batch.x, batch.adj, batch.graphs)


def assert_finite_loss_and_gradients(net: SubgraphNet, graphs: PackedGraphs) -> None:
    net.train()
    terms = terms_of(net, graphs.batch())
    assert all(term.isfinite() for term in terms.values()), terms
    net.objective(terms).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    output, scores = predict(net.eval(), graphs)
    assert output.isfinite().all()
    assert scores.isfinite().all()


# ---- the contract ------------------------------------------------------------------------------


def test_every_registered_bottleneck_has_a_case() -> None:
    assert {name for name, _ in CASES.values()} == set(bottlenecks.names())


@every_case
@every_readout
@pytest.mark.parametrize("is_training", [True, False])
def test_each_node_has_one_score_between_zero_and_one(
    case: str, readout: str, is_training: bool
) -> None:
    net = make_net(case, readout).train(is_training)
    output, scores = predict(net, ORDINARY)
    assert scores.shape == (ORDINARY.num_nodes,)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert output.shape == (len(ORDINARY), 2)


@every_case
@every_readout
@pytest.mark.parametrize("encoder", sorted(LAYERS))
def test_small_and_edgeless_graphs_have_finite_losses_and_gradients(
    case: str, readout: str, encoder: str
) -> None:
    assert_finite_loss_and_gradients(make_net(case, readout, encoder), DEGENERATE)


@every_case
@every_readout
def test_a_lone_graph_of_one_node_has_a_finite_loss_and_gradient(case: str, readout: str) -> None:
    assert_finite_loss_and_gradients(make_net(case, readout), random_graphs([1]))


@every_case
@every_readout
def test_a_graph_without_nodes_has_a_finite_loss_and_gradient(case: str, readout: str) -> None:
    mask = torch.ones(ORDINARY.num_nodes, dtype=torch.bool)
    mask[:5] = False
    graphs = ORDINARY.induced(mask)
    assert graphs.sizes[0] == 0
    assert_finite_loss_and_gradients(make_net(case, readout), graphs)


@every_case
@every_readout
@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_saturated_gates_have_finite_losses_and_gradients(
    case: str, readout: str, shift: float
) -> None:
    net = make_net(case, readout)
    if getattr(net.bottleneck, "gate", None) is not None:
        with torch.no_grad():
            net.bottleneck.gate.mlp[-1].bias.fill_(shift)
    if hasattr(net.bottleneck, "extractor"):
        with torch.no_grad():
            net.bottleneck.extractor.last.bias.fill_(shift)
    assert_finite_loss_and_gradients(net, ORDINARY)


@every_case
@every_readout
def test_a_batch_gives_what_its_graphs_give_one_by_one(case: str, readout: str) -> None:
    net = make_net(case, readout).eval()
    output, scores = predict(net, ORDINARY)
    alone = [predict(net, ORDINARY[[number]]) for number in range(len(ORDINARY))]
    assert torch.allclose(output, torch.cat([one for one, _ in alone]), atol=1e-5)
    assert torch.allclose(scores, torch.cat([one for _, one in alone]), atol=1e-5)


@every_case
@every_readout
@pytest.mark.parametrize("encoder", sorted(LAYERS))
def test_scores_follow_the_nodes_when_they_are_relabeled(
    case: str, readout: str, encoder: str
) -> None:
    net = make_net(case, readout, encoder).eval()
    graphs = random_graphs([8], seed=4)
    data = graphs[0]
    order = torch.randperm(8, generator=torch.Generator().manual_seed(5))
    position = torch.empty_like(order)
    position[order] = torch.arange(8)
    moved = Data(x=data.x[order], edge_index=position[data.edge_index], y=data.y)
    output, scores = predict(net, graphs)
    moved_output, moved_scores = predict(net, PackedGraphs.from_data([moved]))
    assert torch.allclose(moved_output, output, atol=1e-5)
    assert torch.allclose(moved_scores, scores[order], atol=1e-6)


@every_case
def test_evaluation_uses_no_randomness(case: str) -> None:
    net = make_net(case).eval()
    before = torch.get_rng_state()
    one, other = predict(net, ORDINARY), predict(net, ORDINARY)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])


@every_case
def test_the_same_seed_gives_the_same_loss_and_gradient(case: str) -> None:
    def step() -> tuple[Tensor, list[Tensor]]:
        net = make_net(case).train()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            loss = net.objective(terms_of(net, ORDINARY.batch()))
        loss.backward()
        return loss, [p.grad for p in net.parameters() if p.grad is not None]

    (one, gradients), (other, other_gradients) = step(), step()
    assert torch.equal(one, other)
    assert all(torch.equal(a, b) for a, b in zip(gradients, other_gradients, strict=True))


class Counted(TorchDispatchMode):
    """Counts the operations on tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations += 1
        return func(*args, **(kwargs or {}))


@every_case
@every_readout
def test_more_graphs_take_no_more_operations(case: str, readout: str) -> None:
    counts = []
    for copies in (1, 8):
        net = make_net(case, readout).train()
        net.terms(*_parts(ORDINARY.batch()))  # the first batch of a population is special
        batch = ORDINARY.batch(torch.arange(len(ORDINARY)).repeat(copies))
        with Counted() as mode:
            net.objective(net.terms(*_parts(batch))).backward()
        counts.append(mode.operations)
    assert counts[0] == counts[1]


def _parts(batch: Batch) -> tuple[Tensor, Adjacency, Segments, Tensor]:
    return batch.x, batch.adj, batch.graphs, batch.y


@every_case
@every_readout
def test_every_term_has_a_weight_and_every_weight_a_term(case: str, readout: str) -> None:
    net = make_net(case, readout).train()
    terms = terms_of(net, ORDINARY.batch())
    wanted = {name for name, weight in net.bottleneck.weights.items() if weight}
    assert set(terms) == wanted
    assert all(term.shape == () for term in terms.values())


@pytest.mark.parametrize("name", ["gib", "gsat", "vgib-paper", "vgib-reference"])
def test_a_term_of_weight_zero_is_not_computed(name: str) -> None:
    bottleneck = bottlenecks.make(name, channels=8, beta=0.0)
    batch = ORDINARY.batch()
    h = torch.randn(ORDINARY.num_nodes, 8)
    perturbed = bottleneck.train()(Encoded(batch.x, (h,), batch.adj, batch.graphs))
    assert "compression" not in perturbed.terms


@every_case
def test_evaluation_pays_for_nothing(case: str) -> None:
    net = make_net(case).eval()
    batch = ORDINARY.batch()
    assert net.perturb(net.encode(batch.x, batch.adj, batch.graphs)).terms == {}


@every_case
def test_state_survives_saving_and_loading(case: str) -> None:
    net = make_net(case, seed=1).train()
    terms_of(net, ORDINARY.batch())
    other = make_net(case, seed=2)
    other.load_state_dict(net.state_dict())
    found, wanted = predict(other.eval(), ORDINARY), predict(net.eval(), ORDINARY)
    assert torch.equal(found[0], wanted[0])
    assert torch.equal(found[1], wanted[1])


def test_the_base_class_says_what_is_missing() -> None:
    bottleneck = Bottleneck()
    with pytest.raises(TypeError, match="must define forward"):
        bottleneck(None)
    assert list(bottleneck.inner_gradients(None)) == []
    assert list(bottleneck.inner_parameters()) == []


def test_without_a_bottleneck_everything_passes_and_scores_one() -> None:
    net = make_net("none").train()
    batch = ORDINARY.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    perturbed = net.perturb(encoded)
    assert torch.equal(perturbed.graph, encoded.pool(encoded.h))
    assert torch.equal(perturbed.scores, torch.ones(ORDINARY.num_nodes))


# ---- readout -----------------------------------------------------------------------------------


@every_readout
@pytest.mark.parametrize("is_weighted", [True, False])
def test_the_readout_equals_a_loop_over_graphs(readout: str, is_weighted: bool) -> None:
    batch = ORDINARY.batch()
    z = torch.randn(ORDINARY.num_nodes, 4, dtype=torch.float64)
    weight = torch.rand(ORDINARY.num_nodes, dtype=torch.float64) if is_weighted else None
    encoded = Encoded(batch.x, (z,), batch.adj, batch.graphs, readout)
    expected = []
    for a, b in zip(ORDINARY.node_ptr[:-1], ORDINARY.node_ptr[1:], strict=True):
        w = torch.ones(b - a, dtype=torch.float64) if weight is None else weight[a:b]
        total = (w.unsqueeze(1) * z[a:b]).sum(0)
        expected.append(total / {"sum": 1, "mean": w.sum(), "norm": 100}[readout])
    assert torch.allclose(encoded.pool(z, weight), torch.stack(expected))


@every_readout
def test_a_graph_of_weight_zero_reads_out_as_zero(readout: str) -> None:
    batch = random_graphs([2, 3]).batch()
    z = torch.randn(5, 4)
    encoded = Encoded(batch.x, (z,), batch.adj, batch.graphs, readout)
    weight = torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0])
    assert torch.equal(encoded.pool(z, weight)[0], torch.zeros(4))


# ---- selection ---------------------------------------------------------------------------------


def test_scores_of_at_least_one_half_are_kept_else_the_best_of_the_graph() -> None:
    graphs = Segments(torch.tensor([0, 3, 5, 5, 6]).int())
    scores = torch.tensor([0.5, 0.49, 0.9, 0.2, 0.3, 0.1])
    assert hard_keep(scores, graphs).tolist() == [True, False, True, False, True, True]


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=4))
def test_no_graph_is_left_without_a_kept_node(values: list[list[float]]) -> None:
    graphs = Segments(torch.tensor([0, *map(len, values)]).cumsum(0).int())
    kept = hard_keep(torch.tensor([v for graph in values for v in graph]), graphs)
    for mask, graph in zip(kept.split([len(v) for v in values]), values, strict=True):
        # Single precision, as the scores have it.
        scores = torch.tensor(graph)
        bar = 0.5 if scores.max() >= 0.5 else scores.max() - 1e-5
        assert mask.tolist() == (scores >= bar).tolist()
        assert mask.any()


def test_nodes_that_differ_by_rounding_are_kept_or_dropped_together() -> None:
    graphs = Segments(torch.tensor([0, 3]).int())
    scores = torch.tensor([0.4, 0.4 - 3e-8, 0.3])
    assert hard_keep(scores, graphs).tolist() == [True, True, False]


# ---- connectivity ------------------------------------------------------------------------------


def dense_connectivity(p: Tensor, dense: Tensor, floor: float) -> Tensor:
    """The term as the GIB paper writes it, with the dense adjacency of one graph."""
    s = torch.stack([p, 1 - p], dim=1)
    c = s.T @ dense @ s
    c = c / c.sum(1, keepdim=True).clamp(min=floor)
    return (c.diagonal() - 1).square().mean()


def dense_of(data: Data) -> Tensor:
    dense = torch.zeros(data.num_nodes, data.num_nodes, dtype=torch.float64)
    dense[data.edge_index[1], data.edge_index[0]] = 1
    return dense


@pytest.mark.parametrize("is_directed", [True, False])
def test_connectivity_equals_the_dense_formula(is_directed: bool) -> None:
    graphs = random_graphs([6, 1, 2, 9], seed=3)
    if is_directed:
        items = graphs.to_data_list()
        for item in items:
            item.edge_index = item.edge_index[:, item.edge_index[0] < item.edge_index[1]]
        graphs = PackedGraphs.from_data(items)
    batch = graphs.batch()
    p = torch.rand(graphs.num_nodes, dtype=torch.float64)
    found = connectivity(p, batch.adj, batch.graphs)
    parts = p.split(graphs.sizes.tolist())
    expected = [
        dense_connectivity(part, dense_of(data), 1e-6)
        for part, data in zip(parts, graphs.to_data_list(), strict=True)
    ]
    assert torch.allclose(found, torch.stack(expected))


def test_connectivity_is_zero_for_two_separate_parts_and_has_the_right_gradient() -> None:
    edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    adj = Adjacency.from_edge_index(edges, 4)
    graphs = Segments(torch.tensor([0, 4]).int())
    p = torch.tensor([1.0, 1.0, 0.0, 0.0], dtype=torch.float64)
    assert connectivity(p, adj, graphs).item() == pytest.approx(0)
    mixed = torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    assert connectivity(mixed, adj, graphs).item() == pytest.approx(1)
    soft = torch.rand(4, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: connectivity(p, adj, graphs), soft)


def test_the_row_floor_keeps_a_part_without_edges_finite() -> None:
    adj = Adjacency.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 2)
    graphs = Segments(torch.tensor([0, 2]).int())
    p = torch.tensor([0.3, 0.8], requires_grad=True)
    term = connectivity(p, adj, graphs)
    term.sum().backward()
    assert term.item() == 1
    assert p.grad.isfinite().all()


def test_the_gate_is_its_mlp_values_and_gradients() -> None:
    gate = Gate(4, hidden=6).double()
    h = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    results = []
    for logits in (gate(h), gate.mlp(h).squeeze(-1)):
        gate.zero_grad()
        logits.square().sum().backward()
        results.append([logits, *(p.grad for p in gate.parameters())])
    for ours, plain in zip(*results, strict=True):
        assert torch.allclose(ours, plain)


@pytest.mark.parametrize("name", ["gib", "gsat", "vgib-paper"])
def test_what_is_added_to_the_loss_is_the_weighted_sum_of_the_terms(name: str) -> None:
    bottleneck = bottlenecks.make(name, channels=4)
    out = bottleneck(torch.randn(6, 4), torch.tensor([0, 0, 0, 1, 1, 1]))
    expected = sum(bottleneck.weights[term] * value for term, value in out.terms.items())
    assert out.terms
    torch.testing.assert_close(out.loss, expected)
