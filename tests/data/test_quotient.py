"""Quotient graphs: the same layers, readouts, losses and gradients with fewer nodes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from vgib.config import Architecture
from vgib.data.packed import PackedGraphs
from vgib.data.quotient import (
    QuotientGraphs,
    in_order_of_classes,
    quotient,
    quotient_if_worthwhile,
)
from vgib.errors import InputError
from vgib.nn import vgib as vgib_module
from vgib.nn.net import SubgraphNet, build
from vgib.train.loop import predict, seeded


def pack(sizes: list[int], edges: list[tuple[int, int]], codes: list[int]) -> PackedGraphs:
    """Undirected graphs with one coded feature; nodes are numbered over all graphs."""
    both = torch.tensor([*edges, *((b, a) for a, b in edges)]).reshape(-1, 2).T
    return PackedGraphs.from_edges(
        torch.tensor(codes).unsqueeze(1),
        both,
        torch.tensor([0, *sizes]).cumsum(0),
        y=torch.arange(len(sizes)) % 2,
        cardinalities=(3,),
    )


# A star of four leaves, a triangle with a pendant, a path of four, a single node, an empty graph.
GRAPHS = pack(
    [5, 4, 4, 1, 0],
    [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6), (6, 7), (5, 7), (7, 8), (9, 10), (10, 11), (11, 12)],
    [0] * 13 + [1],
)


def random_graphs(seed: int) -> PackedGraphs:
    """Three dense graphs of six nodes, so that equal nodes are common."""
    draw = torch.Generator().manual_seed(seed)
    edges = [
        (6 * g + a, 6 * g + b)
        for g in range(3)
        for a in range(6)
        for b in range(a)
        if float(torch.rand((), generator=draw)) < 0.6
    ]
    codes = torch.randint(0, 2, (18,), generator=draw).tolist()
    return pack([6, 6, 6], edges, codes)


def make_net(
    encoder: str,
    bottleneck: str,
    readout: Any = "sum",
    normalize: bool = False,
    **options: Any,
) -> SubgraphNet:
    with seeded(3):
        return build(
            encoder=encoder,
            bottleneck=bottleneck,
            cardinalities=(3,),
            in_channels=1,
            task="classification",
            outputs=2,
            architecture=Architecture.of(hidden=5, depth=3, readout=readout, normalize=normalize),
            bottleneck_options=options,
        ).double()


def gradients(net: SubgraphNet, graphs: PackedGraphs) -> dict[str, Tensor]:
    """Of the whole objective, with every loss term beside them."""
    net.zero_grad()
    batch = graphs.batch()
    terms = net.terms(batch.x, batch.adj, batch.graphs, batch.y)
    net.objective(terms).backward()
    grads = {f"grad {name}": p.grad for name, p in net.named_parameters() if p.grad is not None}
    return {name: term.detach() for name, term in terms.items()} | grads


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.allclose(one[name], other[name], atol=1e-7), name


def test_equal_nodes_become_one() -> None:
    found = quotient(GRAPHS)
    assert found.sizes.tolist() == [2, 3, 2, 1, 0]
    assert found.copies.tolist() == [1, 4, 2, 1, 1, 2, 2, 1]
    assert found.counts.sum() == GRAPHS.num_nodes
    # The hub hears four leaves; each of the two equal corners hears the other, and the third.
    dense = [
        found.batch(torch.tensor([g])).adj.csr.matrix(None, torch.float32).to_dense().tolist()
        for g in range(3)
    ]
    assert dense[0] == [[0, 4], [1, 0]]
    assert dense[1] == [[1, 1, 0], [2, 0, 1], [0, 1, 0]]
    assert dense[2] == [[0, 1], [1, 1]]


def test_features_and_graphs_keep_nodes_apart() -> None:
    apart = pack([3, 2], [(0, 1), (0, 2), (3, 4)], [0, 0, 1, 0, 0])
    assert quotient(apart).sizes.tolist() == [3, 1]


@given(st.integers(0, 10_000))
def test_the_degree_and_the_sums_are_those_of_the_graphs(seed: int) -> None:
    graphs = random_graphs(seed)
    found = quotient(graphs)
    whole, part = graphs.batch(), found.batch()
    assert torch.equal(part.graphs.sizes, whole.graphs.sizes)
    degrees = part.graphs.sum(part.adj.degree), whole.graphs.sum(whole.adj.degree)
    assert torch.equal(*degrees)
    both = found.copies.unsqueeze(1) * part.adj.csr.matrix(None, torch.float32).to_dense()
    assert torch.equal(both, both.T)


@pytest.mark.parametrize("readout", ["sum", "mean"])
@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin", "gat"])
@pytest.mark.parametrize("bottleneck", ["none", "gib"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_training_is_the_same_term_by_term_and_gradient_by_gradient(
    bottleneck: str, encoder: str, readout: str, seed: int, normalize: bool
) -> None:
    graphs = random_graphs(seed)
    net = make_net(encoder, bottleneck, readout, normalize).train()
    results = []
    for some in (graphs, quotient(graphs)):
        with seeded(0):
            results.append(gradients(net, some))
    assert_same(*results)


@pytest.mark.parametrize("prior", ["graph", "population"])
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_vgib_is_the_same_for_the_same_gates(
    prior: str, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = GRAPHS[:4]
    found = quotient(graphs)
    gates = torch.rand(graphs.num_nodes, dtype=torch.float64)
    # Which place among the copies each node takes: those of a class follow each other.
    node_class = torch.tensor([0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 6, 5, 7])
    order = torch.sort(node_class, stable=True).indices
    options = {"prior": prior, "beta": 0.5, "subgraph": 1.0, "connectivity": 0.3, "budget": 0.3}
    results, populations = [], []
    for some, drawn in ((graphs, gates), (found, gates[order])):
        net = make_net(encoder, "vgib", temperature=0.7, **options).train()
        # The gradient of a gate that was drawn.
        slope = drawn * (1 - drawn) / 0.7
        monkeypatch.setattr(
            vgib_module,
            "relax",
            lambda s, t, drawn=drawn, slope=slope: drawn + slope * (s - s.detach()),
        )
        with seeded(0):
            results.append(gradients(net, some))
        populations.append({k: v for k, v in net.named_buffers() if v.is_floating_point()})
    assert_same(*results)
    assert_same(*populations)


def test_equal_nodes_draw_gates_of_their_own() -> None:
    bottleneck = make_net("gcn", "vgib").bottleneck
    graphs = quotient(GRAPHS).batch().graphs
    with seeded(0):
        keep, power = bottleneck.sample(torch.zeros(8), graphs)
    single = graphs.copies.sizes.squeeze(1) == 1
    assert torch.allclose((1 - keep[single]).square(), power[single])
    assert ((1 - keep[~single]).square() < power[~single]).all()


def test_nodes_stand_in_the_order_of_their_classes() -> None:
    graphs = pack([4], [(0, 1), (1, 2), (2, 3)], [0, 1, 1, 0])
    ordered = in_order_of_classes(graphs)
    assert ordered.x.flatten().tolist() == [0, 0, 1, 1]
    assert ordered.to_data(0).edge_index.T.tolist() == [
        [2, 0], [3, 1], [0, 2], [3, 2], [1, 3], [2, 3],
    ]  # fmt: skip
    assert torch.equal(ordered.y, graphs.y)


@pytest.mark.parametrize("readout", ["sum", "mean"])
@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin", "gat"])
@pytest.mark.parametrize("seed", [1, 2])
def test_gsat_weights_every_node_on_its_own(encoder: str, readout: str, seed: int) -> None:
    every = in_order_of_classes(random_graphs(seed))
    merged = replace(quotient(every), every=every)
    net = make_net(encoder, "gsat", readout).train()
    results = []
    for some in (every, merged):
        with seeded(0):
            results.append(gradients(net, some))
    assert_same(*results)


def test_gsat_cannot_train_on_nodes_that_are_lost() -> None:
    with pytest.raises(InputError, match="GSAT makes equal nodes differ"):
        gradients(make_net("gcn", "gsat").train(), quotient(GRAPHS))


@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin", "gat"])
@pytest.mark.parametrize("bottleneck", ["none", "gib", "vgib", "gsat"])
def test_predictions_and_scores_are_the_same(bottleneck: str, encoder: str) -> None:
    net = make_net(encoder, bottleneck).eval()
    graphs = GRAPHS[:4]
    found = quotient(graphs)
    whole, scores = predict(net, graphs)
    part, class_scores = predict(net, found)
    assert torch.allclose(part, whole)
    every = class_scores.repeat_interleave(found.counts)
    assert torch.allclose(every.sort().values, scores.sort().values)


def test_parts_of_it_carry_their_copies_and_links_and_survive_the_disk(tmp_path: Path) -> None:
    found = quotient(GRAPHS)
    part = found[[1, 0]]
    assert isinstance(part, QuotientGraphs)
    assert part.copies.tolist() == [2, 1, 1, 1, 4]
    assert part.links.tolist() == [1, 1, 2, 1, 1, 4, 1]
    found.save(tmp_path / "q.safetensors")
    again = QuotientGraphs.load(tmp_path / "q.safetensors")
    assert torch.equal(again.copies, found.copies) and torch.equal(again.links, found.links)


def test_it_is_used_where_it_saves_half_and_kept_on_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    star = pack([9], [(0, leaf) for leaf in range(1, 9)], [0] * 9)
    found = quotient_if_worthwhile(star, tmp_path)
    assert isinstance(found, QuotientGraphs) and found.num_edges == 2
    (file,) = (tmp_path / "quotients").iterdir()
    file.write_bytes(b"torn")
    assert isinstance(quotient_if_worthwhile(star, tmp_path), QuotientGraphs)
    assert "written anew" in caplog.text
    assert QuotientGraphs.load(file).num_edges == 2
    whole = quotient_if_worthwhile(star, tmp_path, every_node=True)
    assert whole.every.num_nodes == 9 and whole[:1].every is None
    again = quotient_if_worthwhile(star, tmp_path, every_node=True)
    assert torch.equal(again.every.col, whole.every.col)
    path = pack([5], [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 2, 0, 1])
    assert quotient_if_worthwhile(path, tmp_path) is path
    one_way = PackedGraphs.from_edges(
        star.x, torch.stack([torch.arange(1, 9), torch.zeros(8).long()]), star.node_ptr
    )
    assert quotient_if_worthwhile(one_way, tmp_path) is one_way


def test_what_needs_single_nodes_is_refused() -> None:
    found = quotient(GRAPHS)
    with pytest.raises(InputError, match="ask the graphs"):
        found[0]
    with pytest.raises(InputError, match="ask the graphs"):
        found.induced(torch.ones(8, dtype=torch.bool))
    with pytest.raises(InputError, match="join the graphs"):
        QuotientGraphs.concat([found, found])
    one_way = PackedGraphs.from_edges(GRAPHS.x[:5], torch.tensor([[1], [0]]), torch.tensor([0, 5]))
    with pytest.raises(InputError, match="undirected"):
        quotient(one_way)
