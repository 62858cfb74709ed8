"""Shapley values by sampling, and greedy pruning that keeps the rest connected."""

from collections.abc import Callable
from time import process_time

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_add_pool

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.subgraphx import SubgraphX, peel

PATH = Data(x=torch.randn(4, 5), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))


class Additive(nn.Module):
    """A value that is a sum over nodes, whatever their neighbors."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(5, 1, bias=False)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return global_add_pool(0 * self.conv(x, edge_index) + x[:, :1], batch)


def test_in_an_additive_game_each_node_gets_what_it_adds(graphs: PackedGraphs) -> None:
    case = Case.of(Frozen(Additive()), graphs.batch())
    found = SubgraphX(samples=3, chunk=7).values(case)
    # In 6 orders a node adds its value, but 0 where it comes first; one node of a graph does.
    times = 6 * found / graphs.x[:, 0]
    torch.testing.assert_close(times, times.round(), atol=1e-3, rtol=0)
    first = case.batch.graphs.sum((6 - times).unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(first, torch.full((7,), 6.0), atol=1e-2, rtol=0)


def test_what_is_left_stays_connected() -> None:
    path = PackedGraphs.from_data([PATH])
    # By value alone node 1 would go first, and cut node 0 off.
    order = peel(path, torch.tensor([0.9, 0.0, 0.5, 0.4]))
    assert order.tolist() == [3.0, 2.0, 1.0, 0.0]


def test_of_two_nodes_the_last_one_left_has_all() -> None:
    pair = Data(x=torch.tensor([[1.0] * 5, [2.0] * 5]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    case = Case.of(Frozen(Additive()), PackedGraphs.from_data([pair]).batch())
    assert sorted(SubgraphX(samples=2).explain(case).tolist()) == [0, 1]


def test_the_budget_is_kept(model_of: Callable[[str], nn.Module], graphs: PackedGraphs) -> None:
    started = process_time()
    scores = SubgraphX(samples=10**6, seconds=0.2).scores(model_of("gcn"), graphs.batch())
    assert process_time() - started < 5
    assert torch.isfinite(scores).all()
    assert sorted(scores[:6].tolist()) == torch.linspace(0, 1, 6).tolist()


def test_of_equal_nodes_the_last_goes_first_and_parts_of_a_graph_are_peeled_alike() -> None:
    parts = Data(x=torch.randn(4, 5), edge_index=torch.tensor([[0, 1], [1, 0]]))
    order = peel(PackedGraphs.from_data([parts, PATH]), torch.zeros(8))
    assert order.tolist() == [3.0, 2.0, 1.0, 0.0, 3.0, 2.0, 1.0, 0.0]
