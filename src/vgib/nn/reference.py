"""What the authors' published program does where it differs from the paper; described, not copied.

Beside what stands here, the preset ``reference`` sets what belongs to network and training: no ReLU
after the second layer, a ReLU after the regression head, the weights of the last epoch. The first
tenth of a list is its test set (:func:`vgib.data.splits.reference_split`).
"""

import torch
from torch import Tensor

from vgib.nn.bottleneck import Encoded, Perturbed, PredictFrom, bottlenecks, connectivity
from vgib.nn.paper_vgib import Known, Moments, PaperVGIB, graph_statistics, relax
from vgib.nn.sparse import Segments


def inject_uniform_noise(h: Tensor, keep: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    r"""Noise that starts at the mean and ends one spread above it, in the place of a Gaussian.

    .. math:: z_j = \lambda_j h_j + (1 - \lambda_j)(\mu_h + \sigma_h u_j), \quad
              u_j \sim \mathrm{Uniform}[0, 1)

    ``keep`` is :math:`\lambda`, ``[num_nodes]``; all others are ``[num_nodes, channels]``.
    """
    return torch.lerp(torch.addcmul(mean, std, torch.rand_like(h)), h, keep.unsqueeze(1))


def sum_of_squares(h: Tensor, keep: Tensor, mean: Tensor, std: Tensor, graphs: Segments) -> Tensor:
    r"""The program's price, for each graph: no logarithm, no square of a sum, no :math:`2m`.

    .. math:: \frac{A}{2m} + \sum_j \lambda_j^2 \frac{(h_j - \mu_h)^2}{\sigma_h^2}, \quad
              A = \sum_j (1 - \lambda_j)^2

    Averaged over channels. ``h``, ``mean`` and ``std`` are ``[num_nodes, channels]``, ``keep`` is
    ``[num_nodes]``; gives ``[num_graphs]``. It is no bound on any information.
    """
    noise_power = graphs.mean((1 - keep).square().unsqueeze(1)).squeeze(1)
    passed = keep.unsqueeze(1) * (h - mean) / std
    return noise_power / 2 + graphs.sum(passed.square()).mean(1)


@bottlenecks.register("vgib-reference")
class ReferenceVGIB(PaperVGIB):
    r"""The paper's bottleneck as its authors' program computes it.

    .. math:: \mathcal L = \tfrac12 \bigl[\mathcal L_{cls}(G_N, Y) + \mathcal L_{cls}(G, Y)\bigr]
              + \beta\, \mathcal L_{MI} + \alpha\, \mathcal L_{con}

    The prediction loss is the mean of the two views'. A two-way softmax gives p and 1 - p, and
    these probabilities are handed to the Gumbel-softmax as if they were logits: a gate is more
    often open than not with probability sigmoid(2p - 1), from 0.27 to 0.73 whatever p is. The
    spread of a graph's nodes has m - 1 in its denominator.

    Args:
        channels: Channels of the node representations.
        beta: Weight of the price.
        temperature: Temperature of the Gumbel-softmax.
        connectivity: Weight of the connectivity term; 1 for QED and RLM, 5 for HLM and MLM.
        predict_from: What is pooled at test time; see :class:`~vgib.nn.paper_vgib.PaperVGIB`.
        std_floor: Least spread of the noise, for constant channels and one-node graphs.
    """

    def __init__(
        self,
        channels: int,
        *,
        beta: float = 1e-3,
        temperature: float = 1.0,
        connectivity: float = 1.0,
        predict_from: PredictFrom = "subgraph",
        std_floor: float = 1e-2,
    ) -> None:
        super().__init__(
            channels,
            beta=beta,
            temperature=temperature,
            predict_from=predict_from,
            std_floor=std_floor,
        )
        self.weights |= {"prediction": 0.5, "clean": 0.5, "connectivity": connectivity}

    def forward(self, encoded: Encoded) -> Perturbed:
        """Noise in training mode; in evaluation mode the expected graph, with p for lambda."""
        if not self.training:
            return super().forward(encoded)
        h, graphs = encoded.h, encoded.graphs
        p = torch.sigmoid(self.gate(h))
        keep = relax(2 * p - 1, self.temperature)
        mean, std = (graphs.spread(moment) for moment in self.moments(h, graphs))
        z = inject_uniform_noise(h, keep, mean, std)
        perturbed = Perturbed(graph=encoded.pool(z), scores=p, z=z)
        if self.weights["compression"]:
            price = sum_of_squares(h, keep, mean, std, graphs)
            perturbed.terms["compression"] = price.mean()
        if self.weights["connectivity"]:
            perturbed.terms["connectivity"] = connectivity(p, encoded.adj, graphs).mean()
        return perturbed

    def moments(self, h: Tensor, graphs: Segments, total: Known = None) -> Moments:
        """Mean and spread of each graph's nodes, the spread of a sample."""
        mean, std = graph_statistics(h, graphs, self.std_floor, total)
        sizes = graphs.sizes.to(std)
        return mean, std * (sizes / (sizes - 1).clamp(min=1)).sqrt()
