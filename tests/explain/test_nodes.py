"""Single nodes of a node-level model, explained by their neighborhoods."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer
from torch_geometric.explain.metric import fidelity
from torch_geometric.nn import GCN, GINEConv, GraphNorm

from vgib.errors import InputError
from vgib.explain.explainer import as_graphs
from vgib.explain.frozen import CENTER
from vgib.explain.many import explain_many
from vgib.explain.methods.occlusion import Occlusion
from vgib.explain.nodes import NUMBER, Neighborhoods, explain_nodes
from vgib.explain.pyg import VGIBExplainer


@pytest.fixture(scope="module")
def ring() -> Data:
    """A ring of 60 nodes; a node's class is whether its left neighbor carries the mark."""
    torch.manual_seed(0)
    n = 60
    mark = torch.rand(n) < 0.5
    here, right = torch.arange(n), (torch.arange(n) + 1) % n
    x = torch.stack([mark.float(), torch.rand(n)], 1)
    edges = torch.stack([here, right])
    # Messages go to the right only, so that the left neighbor alone decides.
    return Data(x=x, edge_index=edges, y=mark[here - 1].long(), edge_attr=torch.rand(n, 2))


@pytest.fixture(scope="module")
def model(ring: Data) -> nn.Module:
    torch.manual_seed(1)
    net = GCN(2, 16, 2, out_channels=2)
    adam = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(150):
        adam.zero_grad()
        nn.functional.cross_entropy(net(ring.x, ring.edge_index), ring.y).backward()
        adam.step()
    return net.eval()


@pytest.mark.parametrize("method", ["vgib", "occlusion", "gnnexplainer"])
def test_the_node_that_decides_is_found(method: str, ring: Data, model: nn.Module) -> None:
    nodes = [5, 20, 40]
    options = {"steps": 150} if method == "vgib" else {}
    found = explain_nodes(model, ring, nodes, method, **options)
    said = model(ring.x, ring.edge_index)[nodes]
    for number, one, expected in zip(nodes, found, said, strict=True):
        assert one.index == number
        torch.testing.assert_close(one.prediction[0], expected, atol=1e-4, rtol=1e-4)
        assert int(one.target) == int(expected.argmax())
        far = torch.ones(60, dtype=torch.bool)
        far[[(number - back) % 60 for back in range(4)]] = False
        assert (one.node_mask[far] == 0).all()
        assert (one.edge_mask.shape, one.validate()) == ((60,), True)
    if method == "occlusion":
        best = [int(one.node_mask[:, 0].argsort(descending=True)[0]) for one in found]
        assert sum(b in (n - 1, n) for b, n in zip(best, nodes, strict=True)) == 3


def test_a_neighborhood_holds_all_that_the_model_sees(ring: Data, model: nn.Module) -> None:
    around = Neighborhoods(Occlusion().freeze(model), ring)
    graphs = around.of(torch.tensor([7, 30]))
    assert around.hops == 3
    assert graphs.of_nodes[NUMBER].tolist() == [4, 5, 6, 7, 27, 28, 29, 30]
    assert graphs.of_nodes[NUMBER][graphs.of_nodes[CENTER]].tolist() == [7, 30]


def test_edge_features_come_along(ring: Data) -> None:
    class Bonds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GINEConv(nn.Linear(2, 3), edge_dim=2)

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
            return self.conv(x, edge_index, edge_attr)  # type: ignore[no-any-return]

    net = Bonds()
    (found,) = explain_nodes(net, ring, [9], "occlusion")
    expected = net(ring.x, ring.edge_index, ring.edge_attr)[9]
    torch.testing.assert_close(found.prediction[0], expected)


def test_a_node_may_be_given_by_its_number_alone(ring: Data, model: nn.Module) -> None:
    (alone,), (listed,) = (explain_nodes(model, ring, n, "occlusion") for n in (3, [3]))
    assert alone.index == 3 and torch.equal(alone.node_mask, listed.node_mask)


def test_what_does_not_fit_is_refused(ring: Data, model: nn.Module) -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gnn, self.norm = GCN(2, 8, 1), GraphNorm(8)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.norm(self.gnn(x, edge_index))  # type: ignore[no-any-return]

    with pytest.raises(InputError, match="it reads the whole graph, which explain_nodes cannot"):
        explain_nodes(Whole(), ring, [3], "occlusion")
    with pytest.raises(InputError, match="numbers from 0 to 59; got \\[60\\]"):
        explain_nodes(model, ring, [60])
    with pytest.raises(InputError, match="nodes of one graph are explained at a time; got 2"):
        explain_nodes(model, [ring, ring], [0])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="explain single nodes with explain_nodes"):
        explain_many(model, [ring], "occlusion")
    graph = as_graphs(ring)
    assert graph.num_edges == 60


def test_pygs_explainer_asks_about_a_node(ring: Data, model: nn.Module) -> None:
    explain = Explainer(
        model,
        algorithm=VGIBExplainer(steps=2),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "node",
            "return_type": "raw",
        },
    )
    found = explain(ring.x, ring.edge_index, index=12)
    assert found.node_mask.shape == ring.x.shape
    assert (found.node_mask.sum(1) > 0).nonzero().flatten().tolist() == [9, 10, 11, 12]
    assert all(0 <= value <= 1 for value in fidelity(explain, found))
    with pytest.raises(InputError, match="say which node is to be explained"):
        explain(ring.x, ring.edge_index)
