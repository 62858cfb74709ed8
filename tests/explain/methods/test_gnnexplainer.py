"""Our batched GNNExplainer finds the masks of PyG's, graph by graph."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch_geometric.explain import Explainer as PygExplainer
from torch_geometric.explain import GNNExplainer as PygGNNExplainer

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.gnnexplainer import GNNExplainer

ModelOf = Callable[[str], nn.Module]


@pytest.mark.parametrize("of", ["gcn", "gin-mean", "gat", "sage-max"])
@pytest.mark.parametrize("nodes", [True, False])
def test_masks_agree_with_pyg(
    of: str, nodes: bool, model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model = model_of(of)
    reference = PygExplainer(
        model,
        algorithm=PygGNNExplainer(epochs=30, lr=0.05),
        explanation_type="model",
        node_mask_type="object" if nodes else None,
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )
    chosen = graphs[[0, 2, 3, 4]]
    torch.manual_seed(11)
    theirs = []
    for graph in chosen:
        batch = torch.zeros(graph.num_nodes, dtype=torch.int64)
        theirs.append(reference(graph.x, graph.edge_index, batch=batch))
    torch.manual_seed(11)
    case = Case.of(Frozen(model), chosen.batch())
    node, edge = GNNExplainer(epochs=30, lr=0.05, nodes=nodes).masks(case)
    assert edge is not None
    torch.testing.assert_close(
        edge, torch.cat([found.edge_mask for found in theirs]), atol=2e-3, rtol=0
    )
    if nodes:
        expected = torch.cat([found.node_mask.squeeze(1) for found in theirs])
        assert node is not None
        torch.testing.assert_close(node, expected, atol=2e-3, rtol=0)


def test_without_a_node_mask_scores_are_lifted_from_edges(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    explainer = GNNExplainer(nodes=False, epochs=3)
    scores = explainer.scores(model_of("gcn"), graphs.batch())
    isolated = graphs.indptr.diff() == 0
    assert (scores[isolated] == 0).all()
    assert (scores[~isolated] > 0).all()
