"""Networks that are trained once and shared."""

import logging
from pathlib import Path

import pytest
import torch

from vgib.config import Training
from vgib.data.packed import PackedGraphs
from vgib.data.splits import Split, random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.experiments.table3.backbones import backbone
from vgib.experiments.table3.job import Network

NETWORK = Network(encoder="gin", hidden=4, depth=1)


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    return generate_ba2motifs(40, seed=0)


@pytest.fixture(scope="module")
def split() -> Split:
    return random_split(40, seed=1)


def settings(**changes: object) -> Training:
    made: Training = Training.of(**({"epochs": 1, "seed": 3} | changes))
    return made


def test_the_second_time_it_is_read_and_is_the_same(
    graphs: PackedGraphs, split: Split, tmp_path: Path
) -> None:
    first = backbone(graphs, split, NETWORK, settings(), tmp_path)
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    again = backbone(graphs, split, NETWORK, settings(), tmp_path)
    assert file.stat().st_mtime_ns == written
    assert again.facts == first.facts
    assert {"val_accuracy", "test_accuracy", "best_epoch"} == set(first.facts)
    for name, tensor in first.net.state_dict().items():
        assert torch.equal(tensor, again.net.state_dict()[name])
    assert not again.net.training


def test_who_trains_elsewhere_gets_the_same_weights(
    graphs: PackedGraphs, split: Split, tmp_path: Path
) -> None:
    one = backbone(graphs, split, NETWORK, settings(), tmp_path / "a")
    two = backbone(graphs, split, NETWORK, settings(), tmp_path / "b")
    assert one.facts == two.facts
    assert [file.name for file in (tmp_path / "a").iterdir()] == [
        file.name for file in (tmp_path / "b").iterdir()
    ]


def test_other_settings_are_another_file(
    graphs: PackedGraphs, split: Split, tmp_path: Path
) -> None:
    backbone(graphs, split, NETWORK, settings(), tmp_path)
    backbone(graphs, split, NETWORK, settings(seed=4), tmp_path)
    backbone(graphs, random_split(40, seed=2), NETWORK, settings(), tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_damaged_file_is_trained_again(
    graphs: PackedGraphs, split: Split, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = backbone(graphs, split, NETWORK, settings(), tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"nothing of the kind")
    with caplog.at_level(logging.WARNING):
        again = backbone(graphs, split, NETWORK, settings(), tmp_path)
    assert "trained again" in caplog.text
    assert again.facts == first.facts
