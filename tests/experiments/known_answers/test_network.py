"""The network of GSAT's authors."""

import torch

from vgib.experiments.known_answers.network import AuthorsGIN
from vgib.nn.sparse import Adjacency


def test_the_authors_network_weights_its_messages() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x, adj = torch.randn(3, 2), Adjacency.from_edge_index(edges, 3)
    encoder = AuthorsGIN(2, hidden=4).eval()
    weight = torch.rand(4)
    states = encoder.states(x, adj.with_weight(weight))
    assert [state.shape for state in states] == [(3, 4), (3, 4)]
    h = encoder.first(x)
    sent = torch.zeros(3, 4).index_add(0, adj.edge_index[1], weight[:, None] * h[adj.edge_index[0]])
    assert torch.allclose(states[0], encoder.layers[0](h + sent).relu(), atol=1e-6)
    assert torch.allclose(encoder(x, edges), encoder(x, adj), atol=1e-6)
