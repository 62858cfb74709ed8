"""Whatever a model's forward names reaches it, and nothing ends in a raw traceback."""

from copy import deepcopy

import pytest
import torch
from tests.explain.shapes import SHAPES, Net, called, graphs_for, planted
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.nn import GCNConv, global_add_pool
from torch_geometric.transforms import ToSparseTensor

from vgib.errors import InputError
from vgib.explain.explainer import as_graphs
from vgib.explain.frozen import Frozen
from vgib.explain.many import explain_many

# Whether a method answers does not depend on how long it learns.
BRIEF = {
    "vgib": {"steps": 2},
    "occlusion": {},
    "gradcam": {},
    "gnnexplainer": {"epochs": 4},
    "gsat": {"steps": 2},
    "ig": {"steps": 4},
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_prediction_is_the_models_own_and_every_method_answers_or_says_why_not(
    name: str,
) -> None:
    torch.manual_seed(0)
    make, options = SHAPES[name]
    model, data = make().eval(), graphs_for(name, 6)
    # A loop and an edge that is listed twice change what many models say.
    first = data[0]
    more = torch.tensor([[0, int(first.edge_index[0, 0])], [0, int(first.edge_index[1, 0])]])
    first.edge_index = torch.cat([first.edge_index, more], dim=1)
    for extra in ("edge_attr", "edge_weight"):
        first[extra] = torch.cat([first[extra], first[extra][:2]])
    with torch.no_grad():
        expected = called(model, name, Batch.from_data_list(data))
    for method, learning in BRIEF.items():
        try:
            found = explain_many(model, data, method, **options, **learning)
        except InputError as error:
            assert "no message-passing layer" in str(error)
            assert name in ("message passing by hand", "dense layers")
            assert method not in ("vgib", "occlusion")
            continue
        said = torch.cat([one.prediction for one in found])
        torch.testing.assert_close(said, expected, atol=1e-4, rtol=1e-4)
        for one, item in zip(found, data, strict=True):
            assert torch.equal(one.edge_index, item.edge_index)
            assert one.smiles == item.smiles
            assert torch.equal(one.y, item.y)
            assert one.node_mask.shape == (item.num_nodes, 1)
            assert one.edge_mask.shape == (item.num_edges,)
            assert torch.isfinite(one.node_mask).all()


class Needs(nn.Module):
    """A model that wants something."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(5, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, charge: Tensor) -> Tensor:
        return global_add_pool(self.conv(x, edge_index), batch) * charge.unsqueeze(1)


def test_what_the_graphs_do_not_carry_is_asked_for_by_name() -> None:
    data = graphs_for("GCN, sum", 4)
    with pytest.raises(InputError, match=r"Needs.forward needs 'charge', .* set data.charge"):
        explain_many(Needs(), data, "occlusion")
    for graph in data:
        graph.charge = torch.tensor([2.0])
    found = explain_many(Needs(), data, "occlusion")
    assert len(found) == 4


def test_values_of_nodes_edges_and_graphs_travel_with_them() -> None:
    data = graphs_for("GCN, sum", 4)
    for number, graph in enumerate(data):
        graph.u = torch.tensor([[float(number), 1.0]])
    graphs = as_graphs(data)
    batch = graphs.batch(torch.tensor([2, 0]))
    assert batch.named["u"].tolist() == [[2.0, 1.0], [0.0, 1.0]]
    assert torch.equal(batch.named["pos"], torch.cat([data[2].pos, data[0].pos]))
    mask = torch.arange(graphs.num_nodes) % 2 == 0
    part = graphs.induced(mask)
    assert torch.equal(part.of_nodes["pos"], graphs.of_nodes["pos"][mask])
    assert len(part.of_edges["edge_weight"]) == part.num_edges
    # An edge keeps its weight: the weights of an edge's two directions are equal in these graphs.
    for graph in part:
        pairs = map(tuple, graph.edge_index.T.tolist())
        weight = dict(zip(pairs, graph.edge_weight.tolist(), strict=True))
        assert all(weight[b, a] == w for (a, b), w in weight.items())


def test_forwards_that_cannot_be_called_are_refused_by_name() -> None:
    data = graphs_for("GCN, sum", 3)

    class NoBatch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(5, 2)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv(x, edge_index).sum(0, keepdim=True)

    with pytest.raises(InputError, match="takes no batch vector, so it cannot tell graphs apart"):
        explain_many(NoBatch(), data, "occlusion")

    class Breaks(NoBatch):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:  # type: ignore[override]
            raise IndexError("of its own")

    with pytest.raises(InputError, match=r"Breaks failed on the graphs, .* IndexError: of its own"):
        explain_many(Breaks(), data, "occlusion")
    with pytest.raises(InputError, match=r"heterogeneous graphs .*to_homogeneous"):
        explain_many(NoBatch(), [HeteroData()], "occlusion")
    with pytest.raises(InputError, match="pass pick= one of them"):
        explain_many(SHAPES["gives a dict"][0](), data, "occlusion", pick="logit")


def test_wrappers_of_torch_are_taken_off() -> None:
    data = graphs_for("GCN, sum", 3)
    model = SHAPES["GCN, sum"][0]().eval()
    inner = explain_many(model, data, "gradcam")
    outer = explain_many(nn.DataParallel(model), data, "gradcam")
    assert torch.equal(inner[0].node_mask, outer[0].node_mask)


def test_a_cache_of_other_edges_is_not_used() -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(5, 2, cached=True)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(self.conv(x, edge_index), batch)

    data, model = graphs_for("GCN, sum", 2), Cached().eval()
    model(data[0].x, data[0].edge_index, torch.zeros(len(data[0].x), dtype=torch.int64))
    found = explain_many(model, data, "occlusion")
    model.conv._cached_edge_index = None
    batch = Batch.from_data_list(data)
    assert torch.allclose(
        torch.cat([one.prediction for one in found]), model(batch.x, batch.edge_index, batch.batch)
    )


def test_every_part_of_a_batch_vector_by_any_name() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(5, 2)

        def forward(
            self,
            x: Tensor,
            edge_index: Tensor,
            batch_index: Tensor | None = None,
            batch_size: int | None = None,
        ) -> Tensor:
            assert batch_index is not None and batch_size is not None
            return global_add_pool(self.conv(x, edge_index), batch_index, batch_size)

    frozen = Frozen(Named())
    assert frozen.run(as_graphs(graphs_for("GCN, sum", 3)).batch()).output.shape == (3, 2)


def test_graphs_that_no_model_can_read_are_named() -> None:
    good = graphs_for("GCN, sum", 1)[0]
    for change, message in (
        ({"edge_index": good.edge_index.T}, r"graph 1 has an edge_index of type int64\[.*, 2\]"),
        ({"edge_index": good.edge_index.float()}, "edge_index of type float32"),
        ({"x": good.x * torch.nan}, "graph 1 has NaN or infinite values in its x"),
    ):
        bad = Data(**(good.to_dict() | change))
        with pytest.raises(InputError, match=message):
            as_graphs([good, bad])


# Torch warns of every sparse matrix that PyG makes.
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_edges_in_a_sparse_matrix_alone_are_asked_for() -> None:
    data = [ToSparseTensor()(graph) for graph in planted(2)]
    with pytest.raises(InputError, match="edges in adj_t alone; keep edge_index too"):
        explain_many(Net(), data, "occlusion")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("method", ["vgib", "vgib-paper", "gsat", "gradcam", "ig", "occlusion"])
def test_a_model_of_another_precision_is_explained(method: str, dtype: torch.dtype) -> None:
    data = [Data(x=graph.x.to(dtype), edge_index=graph.edge_index) for graph in planted(4)]
    options = {"steps": 2} if method in ("vgib", "vgib-paper", "gsat") else {}
    model = Net().to(dtype)
    whole = Batch.from_data_list(data)
    single = deepcopy(model).float()(whole.x.float(), whole.edge_index, whole.batch)
    for number, found in enumerate(explain_many(model, data, method, **options)):
        assert found.node_mask.isfinite().all()
        # Half precision is explained in single precision.
        assert found.prediction.dtype == (dtype if dtype == torch.float64 else torch.float32)
        assert torch.allclose(found.prediction.float(), single[number], atol=1e-5)
    assert {values.dtype for values in model.state_dict().values()} == {dtype}
