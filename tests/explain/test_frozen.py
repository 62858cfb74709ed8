"""The adapter: what it lets an explainer see and change, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain.algorithm.utils import set_masks
from torch_geometric.nn import GCNConv, GINEConv, global_add_pool

from vgib.config import Architecture
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.frozen import CENTER, Frozen, packed, predictions
from vgib.explain.plan import Plan
from vgib.nn.net import build

ModelOf = Callable[[str], nn.Module]
MODELS = ["ours-gcn", "ours-gin", "gcn", "gin", "gat", "sage"]


@pytest.mark.parametrize("of", MODELS)
def test_a_plain_run_is_the_model_in_evaluation_mode(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, batch = model_of(of), graphs.batch()
    found = Frozen(model).run(batch)
    expected = model.eval()(batch.x, batch.adj.edge_index, batch.graphs.batch)
    torch.testing.assert_close(found.output, expected)
    assert torch.equal(found.inputs, batch.x)
    assert [state.shape for state in found.states] == [(graphs.num_nodes, 8)] * 2


@pytest.mark.parametrize("of", ["gcn", "gin", "gat", "sage"])
def test_message_weights_are_pygs_masks(of: str, model_of: ModelOf, graphs: PackedGraphs) -> None:
    model, batch = model_of(of).eval(), graphs.batch()
    weight = torch.rand(graphs.num_edges)
    found = Frozen(model).run(batch, message_weight=weight).output
    set_masks(model, weight, batch.adj.edge_index, apply_sigmoid=False)
    expected = model(batch.x, batch.adj.edge_index, batch.graphs.batch)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "of", ["ours-gcn", "ours-gat", "ours-sage", "gcn", "gin", "gat", "gatv2", "sage"]
)
def test_edge_weights_of_0_and_1_are_the_graph_without_those_edges(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, batch = model_of(of).eval(), graphs.batch()
    edges = batch.adj.edge_index
    kept = (edges.sum(0) % 3) > 0
    found = Frozen(model).run(batch, edge_weight=kept.float()).output
    expected = model(batch.x, edges[:, kept], batch.graphs.batch)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_inputs_and_the_last_state_can_be_replaced_with_gradients(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    frozen, batch = Frozen(model_of("gat")), graphs.batch()
    x = torch.randn_like(batch.x).requires_grad_()
    z = torch.randn(graphs.num_nodes, 8, requires_grad=True)
    frozen.run(batch, inputs=x).output.sum().backward()
    frozen.run(batch, on_last=lambda _: z).output.sum().backward()
    assert x.grad is not None
    assert z.grad is not None
    assert all(parameter.grad is None for parameter in frozen.model.parameters())


def test_integer_features_are_replaced_where_they_have_become_numbers(
    graphs: PackedGraphs,
) -> None:
    codes = torch.randint(0, 4, (graphs.num_nodes, 2), dtype=torch.int32)
    coded = PackedGraphs(codes, graphs.node_ptr, graphs.indptr, graphs.col, cardinalities=(4, 4))
    net = build(
        encoder="gcn",
        bottleneck="none",
        cardinalities=(4, 4),
        in_channels=2,
        task="classification",
        outputs=2,
        architecture=Architecture.of(hidden=8),
    ).eval()
    frozen, batch = Frozen(net), coded.batch()
    clean = frozen.run(batch)
    torch.testing.assert_close(clean.inputs, net.features(codes))
    again = frozen.run(batch, inputs=clean.inputs)
    torch.testing.assert_close(again.output, clean.output)
    assert not torch.allclose(frozen.run(batch, inputs=0 * clean.inputs).output, clean.output)


def test_what_an_output_means(model_of: ModelOf, graphs: PackedGraphs) -> None:
    frozen = Frozen(model_of("gcn"))
    frozen.run(graphs.batch())
    output = torch.tensor([[2.0, 0.0, 1.0]])
    p = output.softmax(1)[0]
    goal = frozen.goal(output)
    assert goal.tolist() == [0]
    assert torch.allclose(frozen.losses(output, goal), -p[0].log())
    assert torch.allclose(frozen.opposition(output, goal), -(1 - p[0]).log())
    assert torch.allclose(frozen.evidence(output, goal), p[0].logit())
    probs = Frozen(model_of("gcn"), task="classification", returns="probs")
    assert torch.allclose(probs.log_probabilities(p.unsqueeze(0)), p.log().unsqueeze(0))
    logs = Frozen(model_of("gcn"), task="classification", returns="log_probs")
    assert torch.allclose(logs.log_probabilities(p.log().unsqueeze(0)), p.log().unsqueeze(0))


def test_one_output_is_a_value_unless_it_is_said_to_be_a_class(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    value = Frozen(model_of("value"))
    value.run(graphs.batch())
    assert value.task == "regression"
    goal = torch.tensor([[1.0]])
    assert float(value.losses(torch.tensor([[3.0]]), goal)) == 4.0
    assert float(value.opposition(goal, goal)) == 1.0
    binary = Frozen(model_of("value"), task="binary")
    assert binary.goal(torch.tensor([[-1.0], [1.0]])).tolist() == [0, 1]
    half = Frozen(model_of("value"), task="binary", returns="probs")
    assert half.goal(torch.tensor([[0.4], [0.6]])).tolist() == [0, 1]
    with pytest.raises(InputError, match="'binary' model has one output; this one has 3"):
        Frozen(model_of("gcn"), task="binary").run(graphs.batch())


class Odd(nn.Module):
    """A model that cannot be explained, in one way or another."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.conv = GCNConv(5, 2)
        self.how = how

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> object:
        h = self.conv(x, edge_index)
        pooled = global_add_pool(h, batch)
        return {"nodes": h, "text": ("no", 3), "number": h.sum(), "pair": (pooled, h)}[self.how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("nodes", "one row for each node; expected one row for each graph"),
        ("text", r"gives tuple with \[0, 1\], but no None; pass pick= one of them"),
        ("number", r"gave \[\] for 7 graphs"),
    ],
)
def test_output_that_is_no_row_for_each_graph_is_refused(
    how: str, message: str, graphs: PackedGraphs
) -> None:
    with pytest.raises(InputError, match=message):
        Frozen(Odd(how)).run(graphs.batch())


def test_of_several_outputs_the_first_tensor_counts_unless_another_is_picked(
    graphs: PackedGraphs,
) -> None:
    batch = graphs.batch()
    assert Frozen(Odd("pair")).run(batch).output.shape == (7, 2)
    with pytest.raises(InputError, match="one row for each node"):
        Frozen(Odd("pair"), pick=1).run(batch)


def test_what_is_no_graph_model_is_refused(graphs: PackedGraphs) -> None:
    with pytest.raises(InputError, match="must take"):
        Frozen(nn.Linear(2, 2))
    with pytest.raises(InputError, match=r"only a torch.nn.Module can be explained; got int"):
        Frozen(3)  # type: ignore[arg-type]

    class Plain(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(x, batch)

    found = Frozen(Plain()).run(graphs.batch())
    assert torch.equal(found.states[0], graphs.x)
    with pytest.raises(InputError, match="has no message-passing layer"):
        Frozen(Plain()).run(graphs.batch(), on_last=lambda h: h)

    class Held(GCNConv):  # type: ignore[misc]
        def __deepcopy__(self, memo: object) -> None:
            raise RuntimeError("not me")

    with pytest.raises(InputError, match="cannot be copied"):
        Frozen(Held(2, 2))


def test_a_batch_is_a_set_of_its_own(graphs: PackedGraphs) -> None:
    again = packed(graphs.batch())
    for name in ("x", "node_ptr", "indptr", "col"):
        assert torch.equal(getattr(again, name), getattr(graphs, name))


def test_graphs_without_a_node_have_no_prediction(model_of: ModelOf, graphs: PackedGraphs) -> None:
    frozen = Frozen(model_of("gcn"))
    mask = torch.ones(graphs.num_nodes, dtype=torch.bool)
    mask[6] = False
    output = predictions(frozen, graphs.induced(mask))
    assert output[1].isnan().all()
    torch.testing.assert_close(output[[0, 2]], predictions(frozen, graphs)[[0, 2]])
    with pytest.raises(InputError, match="no graph with a node"):
        predictions(frozen, graphs.induced(torch.zeros_like(mask)))


def test_weights_follow_their_edges_when_a_layer_has_sorted_them(graphs: PackedGraphs) -> None:
    batch = graphs.batch()
    own, nodes = batch.adj.edge_index, graphs.num_nodes
    plan, weight = Plan(batch, own), torch.rand(graphs.num_edges)
    order = torch.randperm(graphs.num_edges, generator=torch.Generator().manual_seed(0))
    loops = torch.arange(nodes).repeat(2, 1)
    found = plan.weight_of(weight, torch.cat([loops, own[:, order]], dim=1))
    assert torch.equal(found, torch.cat([torch.ones(nodes), weight[order]]))
    assert plan.weight_of(weight, own) is weight
    longer = plan.weight_of(weight, torch.cat([own, loops], dim=1))
    assert torch.equal(longer, torch.cat([weight, torch.ones(nodes)]))


def test_a_node_level_model_is_asked_about_the_center_of_each_graph(graphs: PackedGraphs) -> None:
    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(graphs.x.shape[1], 3)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv(x, edge_index)  # type: ignore[no-any-return]

    model = Rows()
    center = torch.zeros(graphs.num_nodes, dtype=torch.bool)
    center[graphs.node_ptr[1:-1]] = True  # the first graph has lost its own
    batch = replace(graphs, of_nodes={CENTER: center}).batch()
    found = Frozen(model).run(batch).full
    expected = model(batch.x, batch.adj.edge_index)[center]
    torch.testing.assert_close(found, torch.cat([torch.zeros(1, 3), expected]))


@pytest.mark.parametrize(("width", "task"), [(1, "regression"), (2, "classification")])
def test_one_output_is_taken_for_a_value_and_two_for_classes(
    width: int, task: str, graphs: PackedGraphs
) -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(graphs.x.shape[1], width)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(self.conv(x, edge_index), batch)

    frozen = Frozen(Plain())
    frozen.run(graphs.batch())
    assert frozen.task == task


def test_features_that_a_model_embeds_first_are_replaced_where_its_layers_begin(
    graphs: PackedGraphs,
) -> None:
    class Embeds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.conv = nn.Linear(graphs.x.shape[1], 8), GCNConv(8, 3)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(self.conv(self.embed(x), edge_index), batch)

    model, batch = Embeds(), graphs.batch()
    frozen = Frozen(model)
    clean = frozen.run(batch)
    torch.testing.assert_close(clean.inputs, model.embed(batch.x))
    torch.testing.assert_close(frozen.run(batch, inputs=clean.inputs).output, clean.output)
    twice = model.conv(2 * model.embed(batch.x), batch.adj.edge_index)
    found = frozen.run(batch, inputs=2 * clean.inputs).output
    torch.testing.assert_close(found, global_add_pool(twice, batch.graphs.batch))


def test_a_layer_on_a_coarser_graph_is_left_as_it_is(graphs: PackedGraphs) -> None:
    class Coarsens(nn.Module):
        """Its second layer sees every graph as one node, each joined to the next."""

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.coarse = GCNConv(graphs.x.shape[1], 8), GCNConv(8, 3)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            pooled = global_add_pool(self.conv(x, edge_index), batch)
            ends = torch.arange(len(pooled))
            out: Tensor = self.coarse(pooled, torch.stack([ends[:-1], ends[1:]]))
            return out

    model, batch = Coarsens(), graphs.batch()
    frozen, edges = Frozen(model), batch.adj.edge_index
    assert [state.shape for state in frozen.run(batch).states] == [(graphs.num_nodes, 8)]
    found = frozen.run(batch, edge_weight=torch.zeros(graphs.num_edges)).output
    torch.testing.assert_close(found, model(batch.x, edges[:, :0], batch.graphs.batch))


def test_edge_features_are_read_by_a_model_that_names_them_and_by_no_other(
    model_of: ModelOf, data: list[Data]
) -> None:
    class Bonds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GINEConv(nn.Linear(5, 3), edge_dim=2)

        def forward(
            self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor
        ) -> Tensor:
            return global_add_pool(self.conv(x, edge_index, edge_attr), batch)

    for one in data:
        one.edge_attr = torch.rand(one.num_edges, 2)
    batch = PackedGraphs.from_data(data).batch()
    assert Frozen(Bonds()).edge_channels(batch) == 2
    assert Frozen(model_of("gcn")).edge_channels(batch) == 0


@pytest.mark.parametrize("shape", [(3,), (1,), (), (3, 2)])
def test_a_node_level_model_says_a_row_of_each_node(
    shape: tuple[int, ...], graphs: PackedGraphs
) -> None:
    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(graphs.x.shape[1], torch.Size(shape).numel())

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.conv(x, edge_index).view(-1, *shape)
            return out

    model, batch = Rows(), graphs.batch()
    if len(shape) == 2:
        with pytest.raises(InputError, match="expected one row for each node"):
            Frozen(model).of_nodes(batch)
    else:
        expected = model(batch.x, batch.adj.edge_index).view(graphs.num_nodes, -1)
        torch.testing.assert_close(Frozen(model).of_nodes(batch), expected)
