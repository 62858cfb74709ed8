"""Fidelity of random removals: its limits, what is removed, and the copy that has learned."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.fidelity import Judge, fidelity
from vgib.explain.robust import fine_tuned, fine_tuned_fidelity, robust_fidelity
from vgib.select.masks import keep_ratio

ModelOf = Callable[[str], nn.Module]


def test_robust_fidelity_with_certain_removal_is_fidelity(
    model_of: ModelOf, graphs: PackedGraphs
) -> None:
    model, scores = model_of("gcn"), torch.rand(graphs.num_nodes)
    options = {"keep_ratios": [0.5], "definition": "probability"}
    plain = fidelity(model, graphs, scores, **options)[0]  # type: ignore[arg-type]
    certain = robust_fidelity(
        model,
        graphs,
        scores,
        remove_explanation=1.0,
        remove_rest=1.0,
        samples=2,
        **options,  # type: ignore[arg-type]
    )[0]
    assert certain.plus.value == pytest.approx(plain.plus.value, abs=1e-5)
    assert certain.minus.value == pytest.approx(plain.minus.value, abs=1e-5)
    mild = robust_fidelity(
        model,
        graphs,
        scores,
        remove_explanation=0.0,
        remove_rest=0.0,
        samples=1,
        **options,  # type: ignore[arg-type]
    )[0]
    assert mild.plus.value == pytest.approx(0, abs=1e-6)
    assert mild.minus.value == pytest.approx(0, abs=1e-6)


def test_fine_tuned_fidelity_removes_few_nodes_of_the_explanation_or_of_the_rest(
    model_of: ModelOf, graphs: PackedGraphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []
    usual = Judge.outputs

    def watched(judge: Judge, masks: Tensor) -> Tensor:
        seen.append(masks)
        return usual(judge, masks)

    monkeypatch.setattr(Judge, "outputs", watched)
    scores = torch.rand(graphs.num_nodes)
    (found,) = fine_tuned_fidelity(
        model_of("gcn"), graphs, scores, keep_ratios=[0.5], most=0.3, share=0.5, samples=4
    )
    part = keep_ratio(scores, graphs.node_ptr, 0.5)
    owner = torch.repeat_interleave(graphs.sizes)
    for masks in seen:
        alone, _, without, _ = masks  # those of random nodes stand between them
        assert not (~alone & part).any() and not (~without & ~part).any()
        for left, some in ((alone, ~part), (without, part)):
            gone, own = (torch.bincount(owner, m.double()) for m in (~left, some))
            most = torch.minimum(0.5 * own, 0.3 * graphs.sizes).floor().clamp(min=1)
            assert torch.equal(gone, torch.minimum(most, own).to(gone))
    assert len({tuple(masks[2].tolist()) for masks in seen}) > 1  # drawn anew each time
    assert found.keep_ratio == 0.5 and np.isfinite(found.plus.value)


def test_a_fine_tuned_copy_knows_graphs_that_lack_nodes(graphs: PackedGraphs) -> None:
    class Size(nn.Module):
        """Two classes by the number of nodes, about a bound that is learned."""

        def __init__(self) -> None:
            super().__init__()
            self.bound = nn.Parameter(torch.tensor(5.0))
            self.conv = GCNConv(1, 1)  # for the sake of a message-passing layer

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            far = torch.bincount(batch).float() - self.bound
            return torch.stack([-far, far], dim=1)

    sizes = torch.tensor([9] * 40 + [11] * 40)
    paths = [Data(x=torch.ones(n, 1), edge_index=torch.zeros(2, 0).long()) for n in sizes.tolist()]
    model, y = Size(), (sizes > 10).long()
    copy = fine_tuned(model, paths, y=y, most=0.2, epochs=150, batch_size=20, lr=0.1)
    # Whole graphs are told apart by a bound of 10, graphs that lack up to a fifth by one of 9.
    assert model.bound.item() == 5.0 and 8.5 < copy.get_parameter("bound").item() < 9.8
    assert not copy.training
    with pytest.raises(InputError, match="labels"):
        fine_tuned(model, paths)
