"""Occlusion against graphs that are built by hand without the node."""

from collections.abc import Callable

import torch
from torch import nn

from vgib.data.packed import PackedGraphs
from vgib.explain.explainer import Case
from vgib.explain.frozen import Frozen
from vgib.explain.lift import scaled
from vgib.explain.methods.occlusion import Occlusion, passes


def test_scores_are_the_drops_when_each_node_goes(
    model_of: Callable[[str], nn.Module], graphs: PackedGraphs
) -> None:
    model = model_of("gat-mean").eval()
    case = Case.of(Frozen(model), graphs.batch())
    model.requires_grad_(False)
    drops = []
    for node in range(graphs.num_nodes):
        graph = int(case.batch.graphs.batch[node])
        if int(graphs.sizes[graph]) == 1:
            drops.append(0.0)
            continue
        mask = torch.arange(graphs.num_nodes) != node
        left = graphs.induced(mask)[[graph]].batch()
        output = model(left.x, left.adj.edge_index, left.graphs.batch)
        goal = case.goal[graph : graph + 1]
        whole = case.frozen.evidence(case.clean.output[graph : graph + 1], goal)
        drops.append(float(whole - case.frozen.evidence(output, goal)))
    expected = scaled(torch.tensor(drops), case.batch.graphs)
    for chunk in (4, 1024):
        found = Occlusion(chunk=chunk).explain(case)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)


def test_large_graphs_go_through_the_model_a_few_at_a_time() -> None:
    sizes = torch.tensor([10_000] * 100)
    groups = list(passes(sizes, 1024))
    assert torch.equal(torch.cat(groups), torch.arange(100))
    assert max(int(sizes[group].sum()) for group in groups) <= 1024 * 256
    assert [len(group) for group in passes(torch.full((2000,), 30), 1024)] == [1024, 976]
    assert [len(group) for group in passes(torch.tensor([10**9, 10**9]), 4)] == [1, 1]
