"""Training by several workers: as alone, and as if no worker had ever been lost."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.stream.molecules import smiles
from torch import distributed

from vgib.config import Architecture, Training
from vgib.data.molecules import from_smiles
from vgib.errors import InputError
from vgib.nn.attention import Attention
from vgib.nn.net import SubgraphNet, build
from vgib.train.checkpoint import Epoch, History
from vgib.train.loop import DivergedError, seeded, train
from vgib.train.on_ray import RayTraining, _take

MOLECULES = from_smiles(smiles(500)).graphs
SIZES = MOLECULES.sizes.float()
LABELLED = replace(MOLECULES, y=(SIZES - SIZES.mean()) / SIZES.std())
GRAPHS, VALIDATION = LABELLED[torch.arange(500) % 5 > 0], LABELLED[::5]
SETTINGS = Training(epochs=8, batch_size=32, lr=1e-2)


class Fragile(Attention):
    """Takes its worker down in the fifth epoch, unless it has left a mark before."""

    def __init__(self, channels: int, mark: str = "") -> None:
        super().__init__(channels)
        self.mark = mark

    def start_epoch(self, epoch: int, epochs: int) -> None:
        super().start_epoch(epoch, epochs)
        mark = Path(self.mark)
        is_second = distributed.is_initialized() and distributed.get_rank() == 1
        if epoch == 4 and is_second and self.mark and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def make_net(bottleneck: Any = "vgib", **options: Any) -> SubgraphNet:
    with seeded(0):
        return build(
            encoder="gcn",
            bottleneck=bottleneck,
            cardinalities=GRAPHS.cardinalities,
            in_channels=GRAPHS.x.shape[1],
            task="regression",
            outputs=1,
            architecture=Architecture(hidden=16),
            bottleneck_options=options,
        )


def trained(workers: int, folder: Path, net: SubgraphNet, **options: Any) -> History:
    given = {"settings": SETTINGS, "val": VALIDATION, **options}
    return RayTraining(workers)(net, GRAPHS, checkpoint=folder, **given)


def assert_same(one: SubgraphNet, other: SubgraphNet) -> None:
    for name, value in one.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], value, msg=name)


def test_one_worker_takes_the_steps_of_the_local_loop(cluster: Any, tmp_path: Path) -> None:
    alone, there = make_net(), make_net()
    told: list[Epoch] = []
    index = torch.arange(300)
    history = train(alone, GRAPHS, index=index, val=VALIDATION, settings=SETTINGS)
    found = trained(1, tmp_path, there, index=index, on_epoch=told.append)
    assert found.curve("val_loss") == pytest.approx(history.curve("val_loss"), rel=1e-6)
    assert [epoch["epoch"] for epoch in told] == history.curve("epoch")
    assert found.best_epoch == history.best_epoch
    assert_same(alone, there)
    assert not there.training
    assert not list(tmp_path.glob("*.graphs"))


def test_a_lost_worker_is_replaced_and_nothing_is_lost(cluster: Any, tmp_path: Path) -> None:
    whole, hurt = make_net(Fragile), make_net(Fragile, mark=str(tmp_path / "mark"))
    history = trained(2, tmp_path / "whole", whole)
    found = trained(2, tmp_path / "hurt", hurt)
    assert (tmp_path / "mark").exists()
    assert found.curve("val_loss") == history.curve("val_loss")
    assert_same(whole, hurt)
    # As many epochs, the same batch size: as good a model as one worker's (1 is chance).
    alone = train(make_net(Fragile), GRAPHS, val=VALIDATION, settings=SETTINGS)
    assert alone.best_loss < 0.15 and history.best_loss < 0.15


def test_a_refusal_of_the_loop_arrives_as_it_is(cluster: Any, tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"lr": 1e30})
    with pytest.raises(DivergedError, match="lower lr"):
        trained(1, tmp_path, make_net(), settings=settings)


def test_another_number_of_workers_cannot_go_on(tmp_path: Path) -> None:
    ray_train = pytest.importorskip("ray.train")
    (tmp_path / "new").mkdir()
    for rank in range(2):
        (tmp_path / f"worker-{rank}.safetensors").touch()
    there = ray_train.Checkpoint.from_directory(str(tmp_path))
    _take(there, tmp_path / "new" / "worker-1.safetensors", 2)
    with pytest.raises(InputError, match="made by 2 workers; use as many, not 3"):
        _take(there, tmp_path / "new" / "worker-1.safetensors", 3)


def test_what_cannot_be_shared_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1"):
        RayTraining(0)
    with pytest.raises(InputError, match="too few for 200 workers"):
        trained(200, tmp_path, make_net())
    with pytest.raises(InputError, match="needs a checkpoint"):
        RayTraining(1)(make_net(), GRAPHS, settings=SETTINGS, checkpoint=None)
