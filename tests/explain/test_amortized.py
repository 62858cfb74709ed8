"""Learning once for many graphs, and taking nodes away to a degree."""

from collections.abc import Callable

import pytest
import torch
from tests.explain.shapes import BatchNormed, planted
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphNorm, global_max_pool, global_mean_pool

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.amortized import Amortized, exact_readout, keep_nodes
from vgib.explain.explainer import Case, as_graphs
from vgib.explain.frozen import Frozen, predictions

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize(
    ("of", "readout"),
    [
        ("ours-gcn", "sum"),
        ("ours-gat", "sum"),
        ("ours-sage", "sum"),
        ("ours-gin", "sum"),
        ("gcn", "sum"),
        ("gcn-mean", "mean"),
        ("gin", "sum"),
        ("gcn-max", "sum"),  # no maximum of rectified channels is below zero
        ("gat", "sum"),
        ("gatv2-mean", "mean"),
        ("sage-mean", "mean"),
        ("maxsage", None),
    ],
)
def test_where_nodes_can_be_removed_exactly_is_found_out(
    of: str, readout: str | None, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    found = exact_readout(case)
    assert found == readout
    if found is None:
        return
    keep = torch.rand(graphs.num_nodes) < 0.6
    keep[graphs.node_ptr[:-1]] = True
    soft = keep_nodes(case, keep.float(), readout=found)
    hard = predictions(case.frozen, graphs.induced(keep))
    torch.testing.assert_close(soft, hard, atol=1e-4, rtol=1e-3)


def test_all_nodes_kept_is_the_graph_itself(model_of: ModelOf, graphs: PackedGraphs) -> None:
    for of in ("gcn", "gat-mean", "sage"):
        case = Case.of(Frozen(model_of(of)), graphs.batch())
        for readout in ("sum", "mean", None):
            found = keep_nodes(case, torch.ones(graphs.num_nodes), readout=readout)  # type: ignore[arg-type]
            torch.testing.assert_close(found, case.clean.output, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("of", ["gcn", "gin", "gat", "gatv2", "sage-mean"])
def test_gates_that_are_all_but_closed_have_finite_gradients(
    of: str, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    logits = torch.linspace(-40, 5, graphs.num_nodes).requires_grad_()
    keep = torch.where(torch.arange(graphs.num_nodes) % 7 == 0, 0.0, logits.sigmoid())
    keep_nodes(case, keep, readout="mean").square().sum().backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    assert logits.grad.abs().max() < 1e4


def test_gradients_reach_the_gates(model_of: ModelOf, graphs: PackedGraphs) -> None:
    for of in ("ours-gcn", "gcn-mean", "gat", "sage"):
        case = Case.of(Frozen(model_of(of)), graphs.batch())
        keep = torch.rand(graphs.num_nodes).requires_grad_()
        keep_nodes(case, keep, readout="mean").square().sum().backward()
        assert keep.grad is not None
        assert (keep.grad != 0).float().mean() > 0.5


class Normed(nn.Module):
    """A model with a residual connection and a norm of each node before the readout."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(5, 6), GCNConv(6, 6)
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = self.first(x, edge_index).relu()
        h = self.norm(h + self.second(h, edge_index))
        out: Tensor = self.head(global_mean_pool(h, batch))
        return out


class AcrossNodes(Normed):
    """The same with a norm over all nodes of a graph, which removed ones would change."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = GraphNorm(6)(self.first(x, edge_index), batch)
        return super().forward(x, edge_index, batch) + global_max_pool(h, batch)[:, :2]


def test_models_that_weights_cannot_reach_are_known(graphs: PackedGraphs) -> None:
    assert exact_readout(Case.of(Frozen(AcrossNodes()), graphs.batch())) is None


def test_a_norm_between_the_last_layer_and_the_readout_leaves_removal_exact(
    graphs: PackedGraphs,
) -> None:
    assert exact_readout(Case.of(Frozen(Normed()), graphs.batch())) == "late mean"
    normed = BatchNormed().eval()
    for norm in normed.norms:
        norm.running_mean = torch.randn(32)
        norm.bias.data.normal_()
    some = as_graphs(planted(4))
    assert exact_readout(Case.of(Frozen(normed), some.batch())) == "late sum"


@pytest.mark.parametrize("of", ["gcn", "ours-gcn", "gat", "gin"])
def test_a_node_with_a_loop_of_its_own_can_be_taken_out(of: str, model_of: ModelOf) -> None:
    edges = torch.tensor([[0, 1, 1, 2, 0, 1, 2], [1, 0, 2, 1, 0, 1, 2]])
    graphs = as_graphs([Data(x=torch.eye(5)[:3], edge_index=edges)])
    case = Case.of(Frozen(model_of(of)), graphs.batch())
    keep = torch.tensor([1.0, 1.0, 0.0], requires_grad=True)
    output = keep_nodes(case, keep, readout="sum")
    (slope,) = torch.autograd.grad(output.square().sum(), keep)
    assert slope.isfinite().all()
    wanted = predictions(case.frozen, graphs.induced(torch.tensor([True, True, False])))
    torch.testing.assert_close(output, wanted, atol=1e-4, rtol=1e-4)


def test_graphs_without_nodes_teach_nothing(model_of: ModelOf, graphs: PackedGraphs) -> None:
    nothing = graphs.induced(torch.zeros(graphs.num_nodes, dtype=torch.bool))
    with pytest.raises(InputError, match="no graph with a node to learn from"):
        Amortized().fit(model_of("gcn"), nothing)


@pytest.mark.parametrize("name", ["steps", "batch_size", "lr"])
def test_nothing_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be positive; got 0"):
        Amortized(**{name: 0})


def test_as_many_steps_as_asked_for_however_few_the_graphs(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    seen: list[int] = []

    class Count(Amortized):
        def build(self, case: Case) -> nn.Module:
            return nn.Linear(1, 1)

        def loss(self, case: Case, step: int) -> Tensor:
            seen.append(case.batch.num_graphs)
            return self.fitted(torch.ones(1, 1)).sum()  # type: ignore[no-any-return]

    explainer = Count(steps=5, batch_size=4).fit(model_of("gcn"), graphs)
    assert seen == [4, 3, 4, 3, 4]
    assert len(explainer.losses_) == 5


def test_values_are_measured_in_units_of_their_spread(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    class Idle(Amortized):
        def build(self, case: Case) -> nn.Module:
            return nn.Linear(1, 1)

        def loss(self, case: Case, step: int) -> Tensor:
            return 0 * self.fitted.weight.sum()

    model = model_of("value")
    explainer = Idle(steps=1).fit(model, graphs)
    frozen = explainer.freeze(model)
    spread = float(frozen.run(graphs.batch()).output.std())
    assert frozen.spread == pytest.approx(spread)
