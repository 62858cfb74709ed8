"""Attention pooling, the baseline whose scores are attention weights (Att05, Att07 in Sec. 5.1)."""

from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, bottlenecks


@bottlenecks.register("attention")
class Attention(Bottleneck):
    r"""Pools the nodes with a softmax over each graph's own.

    .. math:: z_G = \sum_j \alpha_j h_j, \quad
              \alpha_j = \frac{\exp(w^T \tanh(W h_j))}{\sum_k \exp(w^T \tanh(W h_k))}

    Li et al., "Semi-supervised graph classification: a hierarchical graph perspective", WWW 2019.
    The scores are the weights relative to the largest of the graph, so that they fill [0, 1]; the
    paper keeps the best 50 or 70 per cent of them.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = Gate(channels)

    def forward(self, encoded: Encoded) -> Perturbed:
        logits = self.gate(encoded.h)
        graphs = encoded.graphs
        scores = (logits - graphs.max(logits)[graphs.batch]).exp()
        total = graphs.spread(graphs.sum(scores.unsqueeze(1))).squeeze(1)
        weight = scores / total
        perturbed = Perturbed(graph=encoded.pool(encoded.h, weight), scores=scores)
        if encoded.readout is None:
            # A readout of its own expects nodes that count one each on the average.
            perturbed.z = (weight * graphs.sizes[graphs.batch, 0]).unsqueeze(1) * encoded.h
        return perturbed
