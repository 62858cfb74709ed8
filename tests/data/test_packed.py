"""Packed graphs against PyG's own batches, and files that were damaged on the way."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Batch as PygBatch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce
from torch_geometric.utils import subgraph as pyg_subgraph

from vgib.data.from_pyg import PER_EDGE, PER_NODE
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.data.packed_files import FORMAT, FORMAT_VERSION
from vgib.errors import FileFormatError, InputError

SIZES = [4, 1, 6, 3]


def random_data(
    sizes: list[int] = SIZES, seed: int = 0, *, density: float = 0.5, is_directed: bool = False
) -> list[Data]:
    """Graphs with every optional field, their edges coalesced (sorted by sender)."""
    generator = torch.Generator().manual_seed(seed)
    items = []
    for number, size in enumerate(sizes):
        dense = torch.rand(size, size, generator=generator) < density
        if not is_directed:
            dense = dense | dense.T
        edges = dense.fill_diagonal_(False).nonzero().T
        count = edges.shape[1]
        items.append(
            Data(
                x=torch.randn(size, 2, generator=generator),
                edge_index=edges,
                y=torch.tensor([number % 3]),
                edge_attr=torch.randn(count, 2, generator=generator),
                edge_truth=torch.rand(count, generator=generator) < 0.5,
                node_truth=torch.rand(size, generator=generator) < 0.5,
            )
        )
    return items


def packed(*args: Any, **options: Any) -> PackedGraphs:
    return PackedGraphs.from_data(random_data(*args, **options))


def assert_equal_data(one: Data, other: Data) -> None:
    """The same graph, whatever the order in which its edges are listed."""
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.y, other.y)
    assert torch.equal(one.node_truth, other.node_truth)
    assert one.num_nodes == other.num_nodes
    for name in ("edge_attr", "edge_truth"):
        sorted_one = coalesce(one.edge_index, one[name].float(), one.num_nodes)
        sorted_other = coalesce(other.edge_index, other[name].float(), other.num_nodes)
        assert torch.equal(sorted_one[0], sorted_other[0])
        assert torch.equal(sorted_one[1], sorted_other[1])


def assert_equal_graphs(one: PackedGraphs, other: PackedGraphs) -> None:
    for field in fields(PackedGraphs):
        mine, yours = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, Tensor):
            assert mine.dtype == yours.dtype, field.name
            assert torch.equal(mine, yours), field.name
        else:
            assert mine == yours, field.name


# ---- from and to PyG ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_directed", [True, False])
def test_a_list_of_pyg_graphs_survives_the_round_trip(is_directed: bool) -> None:
    items = random_data(is_directed=is_directed)
    graphs = PackedGraphs.from_data(items)
    again = graphs.to_data_list()
    assert len(graphs) == len(again) == len(items)
    for one, other in zip(items, again, strict=True):
        assert_equal_data(one, other)
    assert_equal_graphs(PackedGraphs.from_data(again), graphs)


def test_the_attributes_of_a_graph_always_come_in_the_same_order() -> None:
    graphs = packed()
    further = {name: torch.zeros(graphs.num_nodes) for name in "hbgaecfd"}
    names = list(replace(graphs, of_nodes=further).to_data(0).to_dict())
    own = ["x", "edge_index", "num_nodes", "y"]
    assert names == [*own, "node_truth", *"hbgaecfd", "edge_attr", "edge_truth"]


def test_names_survive_the_round_trip() -> None:
    graphs = replace(packed(), ids=("a", "ß", "", "d"))
    assert [item.id for item in graphs.to_data_list()] == ["a", "ß", "", "d"]
    assert PackedGraphs.from_data(graphs.to_data_list()).ids == graphs.ids


@pytest.mark.parametrize("is_directed", [True, False])
def test_a_batch_is_pygs_batch(is_directed: bool) -> None:
    items = random_data(is_directed=is_directed)
    theirs = PygBatch.from_data_list(items)
    ours = PackedGraphs.from_data(items).batch()
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.graphs.batch, theirs.batch)
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(coalesce(ours.adj.edge_index), coalesce(theirs.edge_index))
    assert ours.num_graphs == theirs.num_graphs


@pytest.mark.parametrize("is_directed", [True, False])
def test_a_batch_of_some_graphs_in_any_order_is_pygs_batch_of_them(is_directed: bool) -> None:
    items = random_data(is_directed=is_directed)
    wanted = [3, 0, 3, 1]
    theirs = PygBatch.from_data_list([items[i] for i in wanted])
    ours = PackedGraphs.from_data(items).batch(torch.tensor(wanted))
    assert torch.equal(ours.x, theirs.x)
    assert torch.equal(ours.graphs.batch, theirs.batch)
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(coalesce(ours.adj.edge_index), coalesce(theirs.edge_index))
    assert ours.index.tolist() == wanted


def test_a_generator_of_graphs_is_taken_and_one_feature_column_may_be_flat() -> None:
    graphs = PackedGraphs.from_data(Data(x=torch.ones(n), num_nodes=n) for n in (2, 3))
    assert graphs.x.shape == (5, 1)
    assert graphs.num_edges == 0
    assert graphs.y is None


def test_integer_features_are_codes() -> None:
    x = torch.tensor([[0, 5], [2, 1]])
    graphs = PackedGraphs.from_data([Data(x=x, edge_index=torch.tensor([[0], [1]]))])
    assert graphs.cardinalities == (3, 6)
    assert packed().cardinalities is None


@pytest.mark.parametrize("labels", [[1.5, -2.0], [[1.0, 2.0], [3.0, 4.0]], [1, 0]])
def test_labels_of_one_or_several_values_are_stacked(labels: list[Any]) -> None:
    items = [Data(x=torch.ones(3, 1), y=torch.tensor(label)) for label in labels]
    graphs = PackedGraphs.from_data(items)
    assert graphs.y.tolist() == labels
    again = PackedGraphs.from_data(graphs.to_data_list())
    assert torch.equal(again.y, graphs.y)


def test_what_only_some_graphs_have_is_left_out() -> None:
    items = random_data()
    del items[1].y
    del items[2].edge_attr
    graphs = PackedGraphs.from_data(items)
    assert graphs.y is None
    assert graphs.edge_attr is None
    assert graphs.node_truth is not None


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "no graphs were given"),
        ([Data(x=torch.ones(1, 1)), Data(num_nodes=2)], "graph 1 has no node features"),
        ([Data(x=torch.ones(1, 1)), Data(x=torch.ones(1, 2))], r"node features: \[1, 2\]"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.zeros(2, 1))], r"type float32\[2, 1\]"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.zeros(2).long())], r"type int64\[2\]"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.zeros(3, 1).long())], r"type int64\[3, 1\]"),
    ],
)
def test_unusable_graphs_are_refused_with_a_sentence(items: list[Data], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PackedGraphs.from_data(items)


def pair(**more: Any) -> Data:
    return Data(**{"x": torch.ones(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]]), **more})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"edge_attr": torch.ones(1)}, r"has 2 edges, but its edge_attr is of shape \[1\]"),
        ({"edge_attr": torch.ones(3, 2)}, r"its edge_attr is of shape \[3, 2\].*each direction"),
        ({"edge_truth": torch.ones(3).bool()}, r"its edge_truth is of shape \[3\]"),
        ({"node_truth": torch.ones(3).bool()}, r"has 2 nodes, but its node_truth is of shape"),
        ({"num_nodes": 5}, r"has 5 nodes, but its x is of shape \[2, 1\]"),
        ({"x": torch.ones(2, 1, 1)}, r"the x of graph 1 .* one value or one row for each"),
        ({"edge_attr": torch.ones(2, 1, 1)}, r"the edge_attr of graph 1 is of shape \[2, 1, 1\]"),
        ({"node_truth": torch.ones(2, 1)}, "one value for each of its nodes"),
        ({"x": np.ones((2, 1))}, r"the x of graph 1 is of type ndarray.*torch.as_tensor\(data.x\)"),
        ({"edge_index": [[0, 1], [1, 0]]}, "the edge_index of graph 1 is of type list"),
        ({"x": torch.ones(2, 1).to_sparse()}, r"sparse; give data.x.to_dense\(\)"),
        ({"x": torch.ones(2, 1) * 1j}, "holds complex numbers"),
        ({"y": "active"}, "graph 1 has the label 'active'; expected numbers"),
    ],
)
def test_what_would_shift_or_break_later_is_refused_at_once(
    more: dict[str, Any], message: str
) -> None:
    usual = {name: torch.ones(2) for name in more if name in (*PER_NODE[1:], *PER_EDGE)}
    first = pair(**usual, **({"y": 0} if "y" in more else {}))
    with pytest.raises(InputError, match=message):
        PackedGraphs.from_data([first, pair(**more)])


def test_rows_of_edge_features_are_alike_and_an_empty_one_is_of_any_shape() -> None:
    with pytest.raises(InputError, match=r"shape of a row of their edge_attr: \[2\] and \[3\]"):
        PackedGraphs.from_data([pair(edge_attr=torch.ones(2, width)) for width in (2, 3)])
    alone = Data(x=torch.ones(1, 1), edge_attr=torch.ones(0))
    joined = PackedGraphs.from_data([alone, pair(edge_attr=torch.ones(2, 3))])
    assert joined.edge_attr is not None and joined.edge_attr.shape == (2, 3)


def test_features_become_single_precision_without_a_gradient() -> None:
    item = pair(
        x=torch.ones(2, 1, requires_grad=True), edge_attr=torch.ones(2, 3, dtype=torch.double)
    )
    packed = PackedGraphs.from_data([item])
    assert packed.edge_attr is not None and packed.edge_attr.dtype == torch.float32
    assert len(packed.fingerprint()) == 64
    kept = PackedGraphs.from_data([item], as_is=True)
    assert kept.edge_attr is not None and kept.edge_attr.dtype == torch.float64


def test_integers_that_are_no_codes_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"got one of 300000000\. If they are numbers, give floats"
    ):
        PackedGraphs.from_data([pair(x=torch.tensor([[0], [300_000_000]]))])


def test_labels_of_different_lengths_are_refused_with_a_sentence() -> None:
    items = [Data(x=torch.ones(2, 1), y=torch.zeros(n)) for n in (1, 2)]
    with pytest.raises(InputError, match="label"):
        PackedGraphs.from_data(items)


# ---- edges -------------------------------------------------------------------------------------


def test_of_duplicate_edges_the_first_stays_and_self_loops_go() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 0, 1], [1, 0, 1, 2, 1, 2]])
    attributes = torch.tensor([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    graphs = PackedGraphs.from_edges(
        torch.ones(3, 1),
        edges,
        torch.tensor([0, 3]),
        edge_attr=attributes,
        edge_truth=attributes > 15,
    )
    found = graphs.to_data(0)
    listed = dict(
        zip(map(tuple, found.edge_index.T.tolist()), found.edge_attr.tolist(), strict=True)
    )
    assert listed == {(0, 1): 10.0, (1, 0): 20.0, (1, 2): 60.0}
    assert found.edge_truth.tolist() == [value > 15 for value in found.edge_attr.tolist()]


def test_of_many_duplicates_the_first_stays() -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(3, (2, 5000), generator=generator)
    graphs = PackedGraphs.from_edges(
        torch.ones(3, 1), edges, torch.tensor([0, 3]), edge_attr=torch.arange(5000)
    )
    first: dict[tuple[int, int], int] = {}
    for number, (a, b) in enumerate(edges.T.tolist()):
        if a != b:
            first.setdefault((a, b), number)
    found = graphs.to_data(0)
    pairs = map(tuple, found.edge_index.T.tolist())
    assert dict(zip(pairs, found.edge_attr.tolist(), strict=True)) == first


def test_an_edge_across_two_graphs_is_refused() -> None:
    with pytest.raises(InputError, match="joins nodes of two graphs"):
        PackedGraphs.from_edges(
            torch.ones(4, 1), torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 2, 4])
        )


@pytest.mark.parametrize("ends", [(0, 2), (2, 3), (-1, 0), (-2, -1)])
@pytest.mark.parametrize("number", [0, 1])
def test_an_edge_to_a_node_that_is_not_there_is_refused(ends: tuple[int, int], number: int) -> None:
    items = [Data(x=torch.ones(2, 1), edge_index=torch.zeros(2, 0).long()) for _ in range(2)]
    items[number].edge_index = torch.tensor(ends).unsqueeze(1)
    with pytest.raises(InputError):
        PackedGraphs.from_data(items)


@pytest.mark.parametrize("is_directed", [True, False])
def test_products_and_gradients_are_those_of_the_dense_matrix(is_directed: bool) -> None:
    graphs = packed(is_directed=is_directed)
    assert graphs.is_undirected is not is_directed
    for index in (None, torch.tensor([2, 0])):
        batch = graphs.batch(index)
        dense = torch.zeros(len(batch.x), len(batch.x))
        dense[batch.adj.edge_index[1], batch.adj.edge_index[0]] = 1
        x = batch.x.clone().requires_grad_()
        coefficients = torch.randn_like(x)
        found = batch.adj @ x
        (found * coefficients).sum().backward()
        assert torch.allclose(found, dense @ x, atol=1e-5)
        assert torch.allclose(x.grad, dense.T @ coefficients, atol=1e-5)


def test_one_missing_reverse_makes_the_graphs_directed() -> None:
    items = random_data()
    assert PackedGraphs.from_data(items).is_undirected
    items[2] = Data(**{**items[2].to_dict(), "edge_index": items[2].edge_index[:, :-1]})
    items[2].edge_attr, items[2].edge_truth = items[2].edge_attr[:-1], items[2].edge_truth[:-1]
    assert not PackedGraphs.from_data(items).is_undirected


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [3, 2]])
def test_graphs_without_edges_are_packed_and_batched(sizes: list[int]) -> None:
    graphs = packed(sizes, density=0.0)
    batch = graphs.batch()
    assert graphs.num_edges == 0
    assert graphs.is_undirected
    assert batch.adj.edge_index.shape == (2, 0)
    assert torch.equal(batch.adj @ batch.x, torch.zeros_like(batch.x))
    assert graphs[0].edge_index.shape == (2, 0)


# ---- batches -----------------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(1, 7), st.integers(0, 100))
def test_shuffled_batches_cover_every_graph_once(count: int, batch_size: int, seed: int) -> None:
    graphs = PackedGraphs.from_data(
        Data(x=torch.full((1 + n % 3, 1), float(n)), y=torch.tensor([n])) for n in range(count)
    )
    generator = torch.Generator().manual_seed(seed)
    batches = list(graphs.batches(batch_size, generator=generator))
    assert sorted(torch.cat([b.y for b in batches]).tolist()) == list(range(count))
    assert all(b.num_graphs == batch_size for b in batches[:-1])
    for batch in batches:
        # Features and labels stay together.
        assert torch.equal(batch.x[:, 0].long(), batch.y[batch.graphs.batch])


def test_batches_come_in_order_or_by_the_generators_seed() -> None:
    graphs = packed([2] * 20)

    def order(seed: int | None) -> list[int]:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return torch.cat([b.index for b in graphs.batches(3, generator=generator)]).tolist()

    assert order(None) == list(range(20))
    assert order(1) == order(1)
    assert order(1) != order(2)


def test_batches_of_chosen_graphs_hold_these_alone() -> None:
    graphs = packed([2] * 10)
    index = torch.tensor([7, 1, 4])
    batches = list(graphs.batches(2, index=index, generator=torch.Generator().manual_seed(0)))
    assert sorted(torch.cat([b.index for b in batches]).tolist()) == [1, 4, 7]


# ---- indexing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        (slice(0, 0), []),
        ([3, 0, 0], [3, 0, 0]),
        ([-1, -4], [3, 0]),
        ([], []),
        ([True, False, False, True], [0, 3]),
        (torch.tensor([2, 1]), [2, 1]),
        (torch.tensor([False, True, True, False]), [1, 2]),
        (np.array([0, 3]), [0, 3]),
        (np.array([True, False, True, False]), [0, 2]),
    ],
)
def test_slices_masks_and_lists_choose_graphs(index: Any, wanted: list[int]) -> None:
    items = random_data()
    graphs = replace(PackedGraphs.from_data(items), ids=("a", "b", "c", "d"))
    chosen = graphs[index]
    assert len(chosen) == len(wanted)
    assert chosen.ids == tuple("abcd"[i] for i in wanted)
    for one, number in zip(chosen.to_data_list(), wanted, strict=True):
        assert_equal_data(one, items[number])


@pytest.mark.parametrize("number", [0, -1, np.int64(2)])
def test_a_number_gives_one_pyg_graph(number: int) -> None:
    items = random_data()
    assert_equal_data(PackedGraphs.from_data(items)[number], items[number])


def test_graphs_can_be_iterated() -> None:
    items = random_data()
    for one, other in zip(PackedGraphs.from_data(items), items, strict=True):
        assert_equal_data(one, other)


@pytest.mark.parametrize("index", [[4], [-5], [True, False], torch.tensor([0, 9])])
def test_a_graph_that_is_not_there_is_refused(index: Any) -> None:
    with pytest.raises(InputError, match="no such graph among 4"):
        packed()[index]


@pytest.mark.parametrize("number", [4, -5])
def test_a_number_out_of_range_is_an_index_error(number: int) -> None:
    with pytest.raises(IndexError):
        packed()[number]


# ---- induced subgraphs -------------------------------------------------------------------------


@given(st.integers(0, 1000), st.booleans())
def test_induced_subgraphs_are_pygs(seed: int, is_directed: bool) -> None:
    items = random_data(seed=seed, is_directed=is_directed)
    graphs = PackedGraphs.from_data(items)
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(graphs.num_nodes, generator=generator) < 0.6
    found = graphs.induced(mask)
    assert len(found) == len(graphs)
    parts = mask.split(graphs.sizes.tolist())
    for one, own, item in zip(found.to_data_list(), parts, items, strict=True):
        edges, attributes = pyg_subgraph(
            own, item.edge_index, item.edge_attr, relabel_nodes=True, num_nodes=len(own)
        )
        ours = coalesce(one.edge_index, one.edge_attr, one.num_nodes)
        theirs = coalesce(edges, attributes, int(own.sum()))
        assert torch.equal(one.x, item.x[own])
        assert torch.equal(ours[0], theirs[0])
        assert torch.equal(ours[1], theirs[1])


def test_a_graph_of_which_nothing_is_left_stays_as_an_empty_one() -> None:
    graphs = packed([2, 3])
    found = graphs.induced(torch.tensor([False, False, True, True, True]))
    assert found.sizes.tolist() == [0, 3]
    batch = found.batch()
    assert batch.num_graphs == 2
    assert torch.equal(batch.graphs.sum(batch.x)[0], torch.zeros(2))


def test_the_fingerprint_follows_features_edges_and_labels() -> None:
    graphs = packed()
    assert graphs.fingerprint() == packed().fingerprint()
    assert graphs.y is not None and graphs.edge_attr is not None
    others = [
        replace(graphs, x=graphs.x + 1),
        replace(graphs, y=graphs.y + 1),
        replace(graphs, y=None),
        packed(density=0.3),
        graphs[[0, 1, 2]],
        replace(graphs, edge_attr=graphs.edge_attr + 1),
        replace(graphs, edge_attr=None),
    ]
    prints = [graphs.fingerprint(), *(other.fingerprint() for other in others)]
    assert len(set(prints)) == len(prints)


def test_bonds_count_in_the_fingerprint_where_the_atoms_do_not_tell_them() -> None:
    def prints(features: str) -> set[str]:
        sets = [from_smiles([s], features=features).graphs for s in ("CC", "C=C", "CC")]
        return {graphs.fingerprint() for graphs in sets}

    assert len(prints("element")) == len(prints("rich")) == 2
    rich = from_smiles(["CC", "C=C"]).graphs
    # Caches and checkpoints of molecules are found by the hash that they always had.
    assert rich.fingerprint() == rich.fingerprint(edge_attr=False)


# ---- joining -----------------------------------------------------------------------------------


def test_joined_sets_hold_all_graphs_in_order() -> None:
    items = random_data()
    graphs = PackedGraphs.from_data(items)
    joined = PackedGraphs.concat([graphs[:1], graphs[1:3], graphs[3:]])
    assert_equal_graphs(joined, graphs)


def test_what_only_some_sets_carry_is_dropped() -> None:
    graphs = replace(packed(), ids=("a", "b", "c", "d"))
    bare = replace(graphs, y=None, ids=None, edge_attr=None)
    joined = PackedGraphs.concat([graphs, bare])
    assert len(joined) == 8
    assert joined.y is None
    assert joined.ids is None
    assert joined.edge_attr is None
    assert joined.node_truth is not None


def test_sets_of_different_features_cannot_be_joined() -> None:
    codes = PackedGraphs.from_data([Data(x=torch.tensor([[0, 1]]))])
    with pytest.raises(InputError, match="different node features"):
        PackedGraphs.concat([packed(), codes])
    with pytest.raises(InputError, match="no sets of graphs"):
        PackedGraphs.concat([])


# ---- files -------------------------------------------------------------------------------------

NAMED: dict[str, Callable[[], PackedGraphs]] = {
    "everything": lambda: replace(packed(), ids=("CCO", "Grüße-分子-🧪", "", "x")),
    "bare": lambda: PackedGraphs.from_data([Data(x=torch.ones(2, 1))]),
    "empty names": lambda: replace(packed(), ids=("", "", "", "")),
    "codes": lambda: PackedGraphs.from_data(
        [Data(x=torch.tensor([[0, 5], [2, 1]]), edge_index=torch.tensor([[0], [1]]))]
    ),
    "several targets": lambda: replace(packed(), y=torch.randn(4, 3)),
    "a part": lambda: packed()[[2, 0]],
}


@pytest.mark.parametrize("name", NAMED)
def test_a_saved_set_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    graphs = NAMED[name]()
    path = tmp_path / "graphs.safetensors"
    graphs.save(path)
    loaded = PackedGraphs.load(str(path))
    assert_equal_graphs(loaded, graphs)
    assert torch.equal(loaded.batch().adj.edge_index, graphs.batch().adj.edge_index)


def test_a_loaded_set_survives_that_its_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "graphs.safetensors"
    graphs = packed()
    graphs.save(path)
    loaded = PackedGraphs.load(path)
    packed([2, 2], seed=9).save(path)
    assert_equal_graphs(loaded, graphs)
    loaded.save(path)
    assert_equal_graphs(PackedGraphs.load(path), graphs)


def test_a_large_file_is_not_read_before_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "graphs.safetensors"
    size = 4_000_000
    graphs = PackedGraphs(
        torch.zeros(size, 4),
        torch.tensor([0, size]),
        torch.zeros(size + 1, dtype=torch.int64),
        torch.zeros(0, dtype=torch.int32),
    )
    graphs.save(path)

    def anonymous() -> int:
        """Memory of this process that is not backed by a file, in KiB."""
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0])

    before = anonymous()
    loaded = PackedGraphs.load(path)
    # The file has 96 MB.
    assert anonymous() - before < 20_000
    assert len(loaded.x) == size


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "graphs.safetensors"
    packed([20] * 20).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match="truncated or not a file of packed graphs"):
        PackedGraphs.load(path)


@pytest.mark.parametrize("metadata", [None, {"about": "{}"}, {"about": "[]"}, {"format": "pt"}])
def test_another_safetensors_file_is_refused(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"weight": torch.ones(3)}, path, metadata=metadata)
    with pytest.raises(FileFormatError, match="holds tensors, but not packed graphs"):
        PackedGraphs.load(path)


@pytest.mark.parametrize("about", ["{", "[" * 100_000])
def test_a_file_that_says_nothing_readable_of_itself_is_refused(tmp_path: Path, about: str) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"weight": torch.ones(3)}, path, metadata={"about": about})
    with pytest.raises(FileFormatError, match="truncated or not a file of packed graphs"):
        PackedGraphs.load(path)


def test_a_file_of_a_newer_version_asks_for_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "graphs.safetensors"
    about = {"format": FORMAT, "version": FORMAT_VERSION + 1, "cardinalities": None}
    save_file({"new": torch.ones(3)}, path, metadata={"about": json.dumps(about)})
    with pytest.raises(FileFormatError, match=r"newer version of vgib .* upgrade vgib"):
        PackedGraphs.load(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        PackedGraphs.load(tmp_path / "nothing.safetensors")
    with pytest.raises(FileFormatError, match="not a file of packed graphs"):
        PackedGraphs.load(tmp_path)


def test_the_description_counts_graphs_nodes_and_edges() -> None:
    graphs = packed([2, 3], density=1.0)
    assert repr(graphs) == (
        "PackedGraphs(2 graphs, 5 nodes, 8 directed edges, x=float32[5, 2], y=int64[2])"
    )


def test_many_parts_are_what_is_induced_on_copies() -> None:
    graphs = from_smiles(["CC(=O)Nc1ccc(O)cc1", "C", "CCO"], [0.1, 0.2, 0.3]).graphs
    owner = torch.tensor([2, 0, 0, 1, 2])
    copies = graphs[owner]
    mask = torch.rand(copies.num_nodes, generator=torch.Generator().manual_seed(0)) < 0.6
    expected, found = copies.induced(mask), graphs.parts(owner, mask)
    assert found.ids == expected.ids
    for name in ("x", "node_ptr", "indptr", "col", "y", "edge_attr"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert torch.equal(ours, theirs) and ours.dtype == theirs.dtype, name
