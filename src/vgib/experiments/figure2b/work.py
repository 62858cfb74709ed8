r"""Noise in the found subgraph against noise in as many other nodes (Figure 2b).

If the subgraph carries what the prediction rests on, then to drown it in noise must change the
prediction more than to drown other nodes.
"""

from time import perf_counter
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from vgib.data.packed import PackedGraphs
from vgib.data.sources import Places
from vgib.experiments.engine.finished import Finished
from vgib.experiments.figure2b.job import NoiseJob
from vgib.experiments.table1.molecules import (
    DividedMolecules,
    parts_of,
    trained,
)
from vgib.experiments.table1.work import thousandths
from vgib.nn.net import SubgraphNet
from vgib.nn.paper_vgib import graph_statistics, inject_noise
from vgib.nn.sparse import Segments
from vgib.select import masks as select

STD_FLOOR = 1e-2
"""Least spread of the noise, as in :class:`vgib.nn.paper_vgib.PaperVGIB`."""


def run(job: NoiseJob, **places: Unpack[Places]) -> Finished:
    """Trains a model and disturbs its view of held-out molecules."""
    return run_on(job, parts_of(job, **places))


def run_on(job: NoiseJob, parts: DividedMolecules) -> Finished:
    made, begun = trained(job, parts), perf_counter()
    model, graphs = made.model, made.parts.test
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
            job,
            generator,
        )
        for name, values in ranks.items()
    }
    result: dict[str, Any] = {
        "test_molecules": len(graphs),
        **made.prediction_error(),
        "noised_share": float((torch.from_numpy(sizes) / graphs.sizes).mean()),
        "change": {name: float(values.mean()) for name, values in change.items()},
        "each": {name: thousandths(values.double().numpy()) for name, values in change.items()},
    }
    return made.finished(result, begun)


@torch.no_grad()
def changes(
    net: SubgraphNet,
    graphs: PackedGraphs,
    noised: Tensor,
    job: NoiseJob,
    generator: torch.Generator,
) -> Tensor:
    r"""How far noise in some nodes moves the prediction of each graph, on average over draws.

    .. math:: \frac1T \sum_t \bigl| f(z^{(t)}) - f(h) \bigr|, \quad
              z_j = \epsilon_j \sim \mathcal N(\mu_h, \sigma_h^2) \text{ for } j \in S

    Read out over all nodes, so that nothing but the noise differs.

    Note:
        With each graph's own mean the deviations of all its nodes sum to zero, so that noise in one
        half and noise in the other move a sum readout equally far, in opposite directions:
        :math:`\sum_{j \in S} (h_j - \mu_h) = -\sum_{j \notin S} (h_j - \mu_h)`. Only another mean,
        such as that of all graphs together, can tell the halves apart.

    Args:
        noised: :math:`S`, ``bool [num_nodes]``.
        job: How often noise is drawn, and whose moments it has.
    """
    net.eval()
    batch = graphs.batch()
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    mean, std = moments(encoded.h, batch.graphs, job)
    keep = (~noised).to(encoded.h)
    clean = net.rescale(encoded.output)
    total = torch.zeros(len(graphs))
    for _ in range(job.draws):
        z = inject_noise(encoded.h, keep, mean, std, rng=generator)
        noisy = net.rescale(net.head(encoded.pool(z)))
        total += (noisy - clean).abs().squeeze(1)
    return total / job.draws


def moments(h: Tensor, graphs: Segments, job: NoiseJob) -> tuple[Tensor, Tensor]:
    """Mean and spread of the noise, for each node or for all alike."""
    if job.moments == "population":
        std, mean = torch.std_mean(h, dim=0, correction=0)
        return mean.unsqueeze(0), std.clamp(min=STD_FLOOR).unsqueeze(0)
    mean, std = graph_statistics(h, graphs, STD_FLOOR)
    return graphs.spread(mean), graphs.spread(std)
