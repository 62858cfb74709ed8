"""The network of GSAT's authors, which their method needs: with ours its gate is bimodal.

Graph-COM/GSAT, ``src/configs/GIN-*.yml``: two layers of 64 channels with the batch norm between the
two linear maps of each layer, dropout 0.3 after it.
"""

import torch
from torch import Tensor, nn

from vgib.nn.encoder import EdgeIndex, Encoder
from vgib.nn.layers import BatchNorm
from vgib.nn.sparse import Adjacency


class AuthorsGIN(Encoder):
    r"""GIN as in PyG's ``BasicGNN``, a linear map of the features before it.

    .. math:: h_i' = \operatorname{dropout} \operatorname{ReLU} W_2 \operatorname{ReLU}
              \operatorname{BN} W_1 \bigl(h_i + \textstyle\sum_j w_{ij} h_j\bigr)
    """

    def __init__(self, in_channels: int, *, hidden: int = 64) -> None:
        nn.Module.__init__(self)
        self.first = nn.Linear(in_channels, hidden)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Linear(hidden, hidden), BatchNorm(hidden), nn.ReLU(), nn.Linear(hidden, hidden)
            )
            for _ in range(2)
        )
        self.dropout = nn.Dropout(0.3)
        self.out_channels = hidden

    def states(
        self, x: Tensor, edge_index: EdgeIndex, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """The representations after each layer, ``[num_nodes, hidden]`` each."""
        adj = (
            edge_index
            if isinstance(edge_index, Adjacency)
            else Adjacency.from_edge_index(edge_index, x.shape[0])
        )
        found = []
        h = self.first(x)
        for layer in self.layers:
            h = self.dropout(torch.relu(layer(h + adj @ h)))
            found.append(h)
        return tuple(found)
