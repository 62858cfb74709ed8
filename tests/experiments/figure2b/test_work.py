"""Noise in some nodes: what it does to the prediction."""

from typing import Any

import pytest
import torch

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.figure2b.job import NoiseJob
from vgib.experiments.figure2b.work import changes, moments, run_on
from vgib.experiments.table1.molecules import DividedMolecules, trained


def job(**more: Any) -> Any:
    subset = {"version": "list", "property": "qed", "method": "vgib-paper", "seed": 0}
    (made,) = recipe("figure2b").jobs({"epochs": 2, **more}, subset)
    assert isinstance(made, NoiseJob)
    return made


def test_no_noise_changes_nothing_and_more_noise_more(drugs: DividedMolecules) -> None:
    net = trained(job(), drugs).model.net_
    nodes = drugs.test.num_nodes
    generator = torch.Generator().manual_seed(0)
    none, all_ = torch.zeros(nodes, dtype=torch.bool), torch.ones(nodes, dtype=torch.bool)
    assert changes(net, drugs.test, none, job(), generator).tolist() == [0] * len(drugs.test)
    one = none.clone()
    one[0] = True  # of the first molecule alone
    moved = changes(net, drugs.test, one, job(), generator)
    assert moved[0] > 0 and moved[1:].abs().max() == 0
    assert (changes(net, drugs.test, all_, job(), generator) > 0).all()


def test_both_places_have_as_many_nodes(drugs: DividedMolecules) -> None:
    result = run_on(job(keep=0.6), drugs).result
    assert result["noised_share"] == pytest.approx(0.4, abs=0.05)
    assert set(result["change"]) == {"found", "others", "random"}
    assert all(len(values) == 8 for values in result["each"].values())


def test_the_same_job_gives_the_same_result(drugs: DividedMolecules) -> None:
    assert run_on(job(), drugs).result == run_on(job(), drugs).result


def test_with_its_own_mean_both_halves_of_a_graph_are_moved_equally_far(
    drugs: DividedMolecules,
) -> None:
    net = trained(job(), drugs).model.net_
    batch = drugs.test.batch()
    with torch.no_grad():
        h = net.encode(batch.x, batch.adj, batch.graphs).h
    half = (torch.arange(len(h)) % 2 == 0).unsqueeze(1)
    for moments_of, is_alike in (("graph", True), ("population", False)):
        mean, std = moments(h, batch.graphs, job(moments=moments_of))
        assert (std > 0).all()
        moved = [batch.graphs.sum(torch.where(part, mean - h, 0.0)) for part in (half, ~half)]
        assert torch.allclose(moved[0], -moved[1], atol=1e-3) is is_alike
