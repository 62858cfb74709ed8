"""Training together: the same steps as alone, only shared out."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed

from vgib.config import Architecture, Training
from vgib.data.processes import LocalProcesses
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.nn.net import SubgraphNet, build
from vgib.train.loop import seeded, train
from vgib.train.team import ALONE, Group, shares

GRAPHS = generate_ba2motifs(41)
VALIDATION = generate_ba2motifs(15, seed=1)
OPTIONS: dict[str, dict[str, Any]] = {
    "attention": {},
    "vgib": {},
    "gin": {},
    "gib": {"inner_steps": 5},
}
# With all graphs in one batch, a method without noise takes the same steps alone and in a team.
SETTINGS = Training(epochs=4, batch_size=41, lr=5e-3, clip=1.0)


def make_net(case: str) -> SubgraphNet:
    with seeded(0):
        return build(
            encoder="gin" if case == "gin" else "gcn",
            bottleneck="vgib" if case == "gin" else case,
            cardinalities=None,
            in_channels=1,
            task="classification",
            outputs=2,
            architecture=Architecture(hidden=8),
            bottleneck_options=OPTIONS[case],
        )


def member(job: tuple[int, int, str]) -> dict[str, Any]:
    """A worker of a team: what each case of training came to, and a word on the arithmetic."""
    rank, size, meeting = job
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    team = Group()
    one, other = torch.tensor([2.0 * rank]), torch.full((2, 2), 1.0 + rank)
    team.average([one, other], weight=1 + 2 * rank)
    found: dict[str, Any] = {
        "mean": team.mean({"a": float(rank)}, weight=1 + 2 * rank),
        "average": [one.tolist(), other.tolist()],
    }
    try:
        team.batch_sizes(1, 10)
    except InputError as error:
        found["refused"] = str(error)
    for case in OPTIONS:
        net = make_net(case)
        part = slice(rank, None, size)
        history = train(net, GRAPHS[part], val=VALIDATION[part], settings=SETTINGS, team=team)
        weights = torch.cat([value.flatten().double() for value in net.state_dict().values()])
        found[case] = {
            "weights": weights.tolist(),
            "losses": history.curve("loss"),
            "validation": history.curve("val_loss"),
        }
    distributed.destroy_process_group()
    return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the two workers of a team of two say."""
    meeting = f"file://{tmp_path_factory.mktemp('team') / 'meeting'}"
    outcomes = list(LocalProcesses(2, retries=0).map(member, [(0, 2, meeting), (1, 2, meeting)]))
    assert all(outcome.error is None for outcome in outcomes), outcomes
    return [o.result for o in sorted(outcomes, key=lambda o: o.job[0]) if o.result is not None]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(("batch_size", "count"), [(4, 12), (4, 9), (4, 11), (32, 9), (3, 3)])
def test_every_place_of_every_batch_is_one_workers(size: int, batch_size: int, count: int) -> None:
    parts = [shares(rank, size, batch_size, count) for rank in range(size)]
    assert [sum(part) for part in parts] == [len(range(r, count, size)) for r in range(size)]
    assert len({len(part) for part in parts}) == 1
    assert all(share > 0 for part in parts for share in part)
    together = [sum(step) for step in zip(*parts, strict=True)]
    assert all(total == batch_size for total in together[:-2])
    assert sum(together) == count


def test_one_worker_has_the_batches_of_a_worker_alone() -> None:
    assert shares(0, 1, 4, 9) == [4, 4, 1]
    assert ALONE.batch_sizes(4, 9) == 4


def test_means_are_weighted_and_the_same_for_everyone(pair: list[dict[str, Any]]) -> None:
    for found in pair:
        assert found["mean"] == {"a": 0.75}
        assert found["average"] == [[1.5], [[1.75, 1.75], [1.75, 1.75]]]
        assert "2 workers cannot share batches of 1 graphs" in found["refused"]


@pytest.mark.parametrize("case", OPTIONS)
def test_all_workers_have_the_same_weights_and_history(
    pair: list[dict[str, Any]], case: str
) -> None:
    one, other = (dict(found[case]) for found in pair)
    assert json.dumps(one["losses"]) == json.dumps(other["losses"])
    assert json.dumps(one["validation"]) == json.dumps(other["validation"])
    assert one["weights"] == other["weights"]


def test_a_team_takes_the_steps_of_a_worker_alone(pair: list[dict[str, Any]]) -> None:
    net = make_net("attention")
    history = train(net, GRAPHS, val=VALIDATION, settings=SETTINGS)
    found = pair[0]["attention"]
    assert found["losses"] == pytest.approx(history.curve("loss"), rel=1e-4)
    assert found["validation"] == pytest.approx(history.curve("val_loss"), rel=1e-4)


@pytest.mark.parametrize("case", ["attention", "vgib"])
def test_a_team_of_one_is_a_worker_alone(case: str, tmp_path: Path) -> None:
    alone, team = make_net(case), make_net(case)
    history = train(alone, GRAPHS, val=VALIDATION, settings=SETTINGS)
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1
    )
    try:
        same = train(team, GRAPHS, val=VALIDATION, settings=SETTINGS, team=Group())
    finally:
        distributed.destroy_process_group()
    assert same.curve("val_loss") == pytest.approx(history.curve("val_loss"), rel=1e-4)
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(team.state_dict()[name], value, msg=name)
