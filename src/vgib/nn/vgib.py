"""The recommended form of the variational graph information bottleneck."""

from vgib.nn.bottleneck import bottlenecks
from vgib.nn.paper_vgib import PaperVGIB


@bottlenecks.register("vgib")
class VGIB(PaperVGIB):
    r"""The paper's bottleneck with a prior of the whole population and the kept nodes supervised.

    .. math:: \mathcal L = \mathcal L_{cls}(G_N, Y) + \mathcal L_{cls}(G, Y)
              + \mathcal L_{cls}(G_{sub}, Y) + \beta\, \mathcal L_{MI}(z_N, G)

    Noise of the population hands nothing of a graph through but its size, and the head has seen in
    training what it is given at test time.

    Args:
        channels: Channels of the node representations.
        beta: Weight of the compression bound.
    """

    def __init__(self, channels: int, *, beta: float = 1e-3) -> None:
        super().__init__(channels, beta=beta, prior="population", subgraph=1.0)
