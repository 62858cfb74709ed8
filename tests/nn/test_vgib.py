"""The recommended form is the paper's with two of its options set."""

import torch

from vgib.nn.paper_vgib import PaperVGIB
from vgib.nn.vgib import VGIB


def test_it_is_the_papers_with_the_populations_prior_and_the_kept_nodes_supervised() -> None:
    torch.manual_seed(0)
    ours = VGIB(4, beta=0.5)
    torch.manual_seed(0)
    same = PaperVGIB(4, beta=0.5, prior="population", subgraph=1.0)
    assert ours.prior == "population" and ours.weights == same.weights
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), same.parameters(), strict=True))
