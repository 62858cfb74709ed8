"""Fidelity that shows the model graphs nearer to those it knows, by removing less at a time."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Unpack

import torch
from torch import Tensor, nn

from vgib.errors import InputError
from vgib.explain.explainer import Graphs
from vgib.explain.fidelity import (
    KEEP_RATIOS,
    Fidelity,
    Judge,
    Judging,
    beside_control,
    with_control,
    with_labels,
)
from vgib.explain.lift import ranks
from vgib.nn.pyg_layers import open_to_pyg
from vgib.nn.sparse import Segments
from vgib.train.loop import seeded


def robust_fidelity(
    model: nn.Module,
    graphs: Graphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    remove_explanation: float = 0.1,
    remove_rest: float = 0.9,
    samples: int = 20,
    seed: int = 0,
    **judging: Unpack[Judging],
) -> list[Fidelity]:
    r"""Fidelity under random partial removal, which stays nearer to the graphs the model knows.

    .. math:: \mathrm{RFid}^+ = \mathbb E[d(G, G \setminus E_{\alpha_1}(S))], \quad
              \mathrm{RFid}^- = \mathbb E[d(G, S \cup E_{1-\alpha_2}(G \setminus S))]

    where :math:`E_\alpha` takes each node with probability :math:`\alpha` and d is the difference
    of the ``definition``. Zheng et al., "Towards Robust Fidelity for Evaluating Explainability of
    Graph Neural Networks", ICLR 2024, arXiv:2310.01820, who remove edges; we remove nodes, as
    everywhere here. At probabilities of 1 it is :func:`vgib.explain.fidelity.fidelity`, whose
    arguments are those that are not named here.

    Args:
        remove_explanation: :math:`\alpha_1`, how probably a node of the explanation goes.
        remove_rest: :math:`\alpha_2`, how probably another node goes.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    judge = Judge(model, graphs, **judging)

    def drawn(kept: Tensor, draw: Tensor) -> tuple[Tensor, Tensor]:
        return kept | (draw >= remove_rest), ~kept | (draw >= remove_explanation)

    return _sampled(judge, scores, keep_ratios, drawn, samples, seed)


def fine_tuned_fidelity(
    model: nn.Module,
    graphs: Graphs,
    scores: Tensor,
    *,
    keep_ratios: Sequence[float] = KEEP_RATIOS,
    most: float = 0.1,
    share: float = 0.5,
    samples: int = 20,
    seed: int = 0,
    **judging: Unpack[Judging],
) -> list[Fidelity]:
    r"""F-Fidelity: of a model that has learned from graphs with nodes removed, removing few.

    .. math:: \mathrm{FFid}^+ = \mathbb E[d(G, G \setminus E_k(S))], \quad
              \mathrm{FFid}^- = \mathbb E[d(G, G \setminus E_{k'}(G \setminus S))], \quad
              k = \min(a |S|, b |G|), \; k' = \min(a |G \setminus S|, b |G|)

    where :math:`E_k` draws k nodes, at least one where there is one, and d is the difference of the
    ``definition``. Zheng et al., "F-Fidelity: A Robust Framework for Faithfulness Evaluation of
    Explainable AI", ICLR 2025, arXiv:2410.02970. The arguments that are not named here are those of
    :func:`vgib.explain.fidelity.fidelity`.

    Args:
        model: What :func:`fine_tuned` gave, for the same share ``most``.
        most: The share b of a graph's nodes that are removed at most.
        share: The share a of the explanation, or of the rest, that is removed at most.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    judge = Judge(model, graphs, **judging)
    data = judge.graphs
    owner = torch.repeat_interleave(data.sizes)

    def without(some: Tensor, draw: Tensor) -> Tensor:
        """All nodes but so many of these, those of the largest draws."""
        own = torch.bincount(owner, some.double(), minlength=len(data))
        count = torch.minimum(share * own, most * data.sizes).floor().clamp(min=1)
        place = ranks(torch.where(some, draw, -1.0), Segments(data.node_ptr))
        return ~some | (place >= count[owner])

    def drawn(kept: Tensor, draw: Tensor) -> tuple[Tensor, Tensor]:
        pairs = list(zip(kept, draw, strict=True))
        alone = torch.stack([without(~some, each) for some, each in pairs])
        return alone, torch.stack([without(some, each) for some, each in pairs])

    return _sampled(judge, scores, keep_ratios, drawn, samples, seed)


def fine_tuned(
    model: nn.Module,
    graphs: Graphs,
    *,
    y: Tensor | None = None,
    most: float = 0.1,
    epochs: int = 3,
    batch_size: int = 256,
    lr: float = 1e-3,
    seed: int = 0,
) -> nn.Module:
    """A copy of a classifier that goes on learning, from graphs without some random nodes.

    Each time a graph is seen it lacks a share of its nodes that is drawn between 0 and ``most``; so
    the copy knows what :func:`fine_tuned_fidelity` shows it.

    Args:
        model: Called as ``model(x, edge_index, batch)``, gives logits; left as it is.
        y: Labels, where the graphs carry none.
        most: The largest share of nodes that is removed.
    """
    data, labels = with_labels(graphs, y)
    if labels is None:
        raise InputError("fine-tuning needs true labels; pass y")
    copy: nn.Module = open_to_pyg(deepcopy(model)).requires_grad_(True).train()
    adam = torch.optim.Adam(copy.parameters(), lr=lr)
    with seeded(seed):
        for _ in range(epochs):
            for index in torch.split(torch.randperm(len(data)), batch_size):
                some = data[index]
                owner = torch.repeat_interleave(some.sizes)
                lost = (torch.rand(len(some)) * most * some.sizes).round()
                place = ranks(torch.rand(some.num_nodes), Segments(some.node_ptr))
                batch = some.induced(place >= lost[owner]).batch()
                said = copy(batch.x, batch.adj.edge_index, batch.graphs.batch)
                adam.zero_grad()
                loss = nn.functional.cross_entropy(said, labels[index])
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
    copy.eval()
    return copy


def _sampled(
    judge: Judge,
    scores: Tensor,
    keep_ratios: Sequence[float],
    drawn: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    samples: int,
    seed: int,
) -> list[Fidelity]:
    """Fidelities averaged over random removals, beside those of random nodes.

    Args:
        keep_ratios: Shares of nodes in the explanation.
        drawn: From explanations and uniform draws, ``[choices, nodes]`` each, what is left around
            the explanation and what is left of the graph without it.
        samples: Draws to average over.
        seed: Of the draws and of the control.
    """
    generator = torch.Generator()
    kept = torch.cat(with_control(judge.graphs, scores, keep_ratios, generator, seed))
    plus, minus = [], []
    for _ in range(samples):
        draw = torch.rand(kept.shape, generator=generator)
        low, high = judge.differences(judge.outputs(torch.cat(drawn(kept, draw)))).chunk(2)
        minus.append(low)
        plus.append(high)
    means = [torch.stack(draws).nanmean(0) for draws in (plus, minus)]
    return beside_control(judge.definition, keep_ratios, *means)
