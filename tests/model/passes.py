"""Counts the forward passes of every network, and what goes through them."""

from itertools import pairwise
from typing import Any

import pytest
from torch import Tensor

from vgib.nn.net import SubgraphNet


class Passes:
    """What goes through which network while a test runs.

    Attributes:
        calls: Batches that went through any network.
        seen: For each graph of each batch the network and the content of the graph.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.seen: list[tuple[int, bytes]] = []
        plain = SubgraphNet.predict

        def counted(net: SubgraphNet, x: Tensor, adj: Any, graphs: Any) -> Any:
            self.calls += 1
            edges = adj.edge_index
            for low, high in pairwise(graphs.ptr.tolist()):
                own = edges[:, (edges[0] >= low) & (edges[0] < high)] - low
                content = x[low:high].numpy().tobytes() + own.numpy().tobytes()
                self.seen.append((id(net), content))
            return plain(net, x, adj, graphs)

        monkeypatch.setattr(SubgraphNet, "predict", counted)

    def are_distinct(self) -> bool:
        """Whether no network has seen a graph twice."""
        return len(self.seen) == len(set(self.seen))
