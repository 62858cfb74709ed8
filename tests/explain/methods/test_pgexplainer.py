"""Our batched PGExplainer takes PyG's steps on one graph."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch_geometric.explain import Explainer as PygExplainer
from torch_geometric.explain import PGExplainer as PygPGExplainer

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.methods.pgexplainer import PGExplainer

ModelOf = Callable[[str], nn.Module]


# PyG hands its loss back as a number while it still carries a gradient.
@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_training_and_masks_agree_with_pyg(model_of: ModelOf, graphs: PackedGraphs) -> None:
    model, graph = model_of("gcn").eval(), graphs[3]
    epochs = 5
    theirs = PygExplainer(
        model,
        algorithm=PygPGExplainer(epochs=epochs, lr=0.01),
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )
    case = Case.of(Frozen(model), graphs.batch(torch.tensor([3])))
    ours = PGExplainer(steps=epochs)
    scorer = ours.module_ = ours.build(case)
    batch = torch.zeros(graph.num_nodes, dtype=torch.int64)
    with torch.no_grad():
        # Their first layer finds its width out when it is first used.
        theirs.algorithm.mlp(torch.zeros(1, 16))
        for mine, other in zip(scorer.parameters(), theirs.algorithm.mlp.parameters(), strict=True):
            other.copy_(mine)
    adam = torch.optim.Adam(scorer.parameters(), lr=0.01)
    for epoch in range(epochs):
        torch.manual_seed(epoch)
        theirs.algorithm.train(
            epoch, model, graph.x, graph.edge_index, target=case.goal, batch=batch
        )
        torch.manual_seed(epoch)
        adam.zero_grad()
        ours.loss(case, epoch).backward()
        adam.step()
    found = theirs(graph.x, graph.edge_index, target=case.goal, batch=batch).edge_mask
    torch.testing.assert_close(ours.logits(case).sigmoid(), found, atol=1e-4, rtol=1e-3)


def test_the_size_term_does_not_grow_with_the_batch(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    frozen = Frozen(model_of("gcn"))
    explainer = PGExplainer(edge_size=10.0, edge_entropy=0.0)
    twice = graphs[[3, 3]]
    explainer.module_ = explainer.build(Case.of(frozen, twice.batch()))
    losses = []
    for index in ([0], [0, 1]):
        torch.manual_seed(0)
        case = Case.of(frozen, twice.batch(torch.tensor(index)))
        losses.append(float(explainer.loss(case, 0).detach()))
    assert abs(losses[1] / losses[0] - 1) < 0.2
