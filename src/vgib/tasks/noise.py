r"""Noise in the found subgraph against noise in as many other nodes (Figure 2b).

If the subgraph carries what the prediction rests on, then to drown it in noise must change the
prediction more than to drown other nodes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vgib import select
from vgib.data.packed import PackedGraphs
from vgib.nn.net import SubgraphNet
from vgib.nn.vgib import graph_statistics, inject_noise
from vgib.recipes.jobs import NoiseJob
from vgib.tasks.classification import Clock, Finished
from vgib.tasks.interpretation import thousandths
from vgib.tasks.molecules import (
    Parts,
    fitted,
    parts_of,
    prediction_error,
    with_labelled_fragments,
)

STD_FLOOR = 1e-2
"""Least spread of the noise, as in :class:`vgib.nn.vgib.VGIB`."""


def run(
    job: NoiseJob, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> Finished:
    """Trains a model and disturbs its view of held-out molecules."""
    return run_on(job, parts_of(job, mirror, cache))


def run_on(job: NoiseJob, parts: Parts) -> Finished:
    """Likewise, on molecules that are at hand."""
    parts = with_labelled_fragments(job, parts)
    clock = Clock()
    model = fitted(job, parts)
    clock.stop_training()
    graphs = parts.test
    scores = model.scores(graphs)
    wanted = torch.from_numpy(select.sizes_of_ratio(graphs.node_ptr, job.keep))
    # The others must be as many: of an odd number of nodes one is in neither set.
    sizes = torch.minimum(wanted, graphs.sizes - wanted).clamp(min=1).numpy()
    ranks = {
        "found": scores,
        "others": -scores,
        "random": np.random.default_rng(job.seed).random(len(scores)),
    }
    generator = torch.Generator().manual_seed(job.seed)
    change = {
        name: changes(
            model.net_,
            graphs,
            torch.from_numpy(select.size(values, graphs.node_ptr, sizes)),
            job.draws,
            generator,
        )
        for name, values in ranks.items()
    }
    result: dict[str, Any] = {
        "test_molecules": len(graphs),
        **prediction_error(model, parts),
        "noised_share": float((torch.from_numpy(sizes) / graphs.sizes).mean()),
        "change": {name: float(values.mean()) for name, values in change.items()},
        "each": {name: thousandths(values.double().numpy()) for name, values in change.items()},
    }
    return Finished(result, clock.seconds(model.history_))


@torch.no_grad()
def changes(
    net: SubgraphNet, graphs: PackedGraphs, noised: Tensor, draws: int, generator: torch.Generator
) -> Tensor:
    r"""How far noise in some nodes moves the prediction of each graph, on average over draws.

    .. math:: \frac1T \sum_t \bigl| f(z^{(t)}) - f(h) \bigr|, \quad
              z_j = \epsilon_j \sim \mathcal N(\mu_h, \sigma_h^2) \text{ for } j \in S

    Read out over all nodes, so that nothing but the noise differs.

    Args:
        noised: :math:`S`, ``bool [num_nodes]``.
        draws: :math:`T`.
    """
    net.eval()
    batch = graphs.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    mean, std = (
        batch.graphs.spread(moment)
        for moment in graph_statistics(encoded.h, batch.graphs, STD_FLOOR)
    )
    keep = (~noised).to(encoded.h)
    clean = net.rescale(net.head(encoded.whole))
    total = torch.zeros(len(graphs))
    for _ in range(draws):
        z = inject_noise(encoded.h, keep, mean, std, generator=generator)
        total += (net.rescale(net.head(encoded.pool(z))) - clean).abs().squeeze(1)
    return total / draws
