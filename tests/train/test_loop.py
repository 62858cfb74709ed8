"""The training loop: what it records, what it selects, and that a killed run goes on as if nothing
had happened.

Run as a program, this file is the run that is killed (see ``main``).
"""

import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from vgib.config import Architecture, Training
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import FileFormatError, InputError
from vgib.nn.bottleneck import bottlenecks
from vgib.nn.net import SubgraphNet, build
from vgib.train import checkpoint
from vgib.train import loop as module
from vgib.train import optimizer as levels
from vgib.train.checkpoint import History, restore
from vgib.train.loop import DivergedError, predict, seeded, train, validation_loss

GRAPHS = generate_ba2motifs(60)
VALIDATION = generate_ba2motifs(20, seed=1)
SHORT = Training(epochs=5, batch_size=20, lr=5e-3, halve_at=2)

# What a checkpoint must bring back, one difficulty each; all registered bottlenecks are among them.
CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "stages": {"bottleneck": "vgib"},
    "population": {"bottleneck": "vgib-paper", "bottleneck_options": {"prior": "population"}},
    "reference": {"bottleneck": "vgib-reference"},
    "gib": {"bottleneck": "gib", "bottleneck_options": {"inner_steps": 3}},
    "gsat": {"bottleneck": "gsat", "bottleneck_options": {"rate_every": 1}},
    "gmt": {"bottleneck": "gmt-sam", "bottleneck_options": {"rate_every": 1, "draws": 2}},
    "attention": {"bottleneck": "attention"},
    "gin": {"encoder": "gin"},
    "dropout": {"bottleneck": "none", "dropout": 0.5},
    "mean": {"average": 0.5},
}


def make_net(case: str = "paper", seed: int = 0) -> SubgraphNet:
    options = dict(CASES[case])
    with seeded(seed):
        return build(
            encoder=options.get("encoder", "gcn"),
            bottleneck=options.get("bottleneck", "vgib-paper"),
            cardinalities=None,
            in_channels=1,
            task="classification",
            outputs=2,
            architecture=Architecture(hidden=8, dropout=options.get("dropout", 0.0)),
            bottleneck_options=options.get("bottleneck_options"),
        )


def weights_of(net: SubgraphNet) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in net.state_dict().items()}


def assert_same_weights(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """Bit for bit."""
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def differ(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return any(not torch.equal(one[name], other[name]) for name in one)


def losses_in_turn(monkeypatch: pytest.MonkeyPatch, losses: list[float]) -> None:
    """Puts known numbers in the place of the validation loss."""
    given = iter(losses)
    monkeypatch.setattr(module, "validation_loss", lambda *args, **options: next(given))


# ---- learning and its record -------------------------------------------------------------------


def test_the_loss_falls_and_the_motifs_are_told_apart() -> None:
    accuracies = []
    for seed in range(3):
        net = make_net("gin")
        settings = Training(epochs=40, batch_size=20, lr=1e-2, seed=seed)
        history = train(net, GRAPHS, val=VALIDATION, settings=settings)
        curve = history.curve("loss")
        assert curve[-1] < 0.5 * curve[0]
        output, scores = predict(net, VALIDATION)
        accuracies.append(float((output.argmax(1) == VALIDATION.y).float().mean()))
        assert scores.shape == (VALIDATION.num_nodes,)
        assert not net.training
    # One training on sixty graphs ends anywhere between 0.7 and 1, by the last bits of its sums.
    assert sum(accuracies) / len(accuracies) >= 0.8


@pytest.mark.parametrize("val", [VALIDATION, None], ids=["selected", "last"])
def test_a_running_mean_of_the_weights_is_what_is_judged_and_kept(
    val: PackedGraphs | None, tmp_path: Path
) -> None:
    seen: list[dict[str, Tensor]] = []
    plain, net = make_net(), make_net()
    one = Training(epochs=3, batch_size=20, lr=1e-2)
    train(plain, GRAPHS, settings=one, on_epoch=lambda _: seen.append(weights_of(plain)))
    averaged = one.model_copy(update={"average": 0.5})
    path = tmp_path / "mean"
    history = train(net, GRAPHS, val=val, settings=averaged, checkpoint=path)
    best = history.best_epoch if val is not None else 2
    expected = weights_of(net)
    for name, parameter in net.named_parameters():
        mean = seen[0][name]
        for later in seen[1 : best + 1]:
            mean = (mean + later[name]) / 2
        assert torch.allclose(parameter, mean, atol=1e-6), name
    again = make_net()
    restore(again, path)
    assert_same_weights(weights_of(again), expected)


@pytest.mark.parametrize("case", [case for case in CASES if case != "stages"])
def test_the_history_has_every_named_term(case: str) -> None:
    net = make_net(case)
    seen: list[dict[str, float]] = []
    settings = Training(epochs=2, batch_size=20)
    history = train(net, GRAPHS, val=VALIDATION, settings=settings, on_epoch=seen.append)
    terms = {name for name, weight in net.bottleneck.weights.items() if weight}
    expected = {*terms, "loss", "kept", "val_loss", "seconds", "epoch"}
    assert [set(epoch) for epoch in history.epochs] == [expected] * 2
    assert history.curve("epoch") == [1, 2]
    assert len(seen) == 2
    for name in (*terms, "loss", "val_loss"):
        assert all(math.isfinite(value) for value in history.curve(name))
    for epoch in history.epochs:
        total = sum(net.bottleneck.weights[name] * epoch[name] for name in terms)
        assert epoch["loss"] == pytest.approx(total, abs=1e-4)


def test_every_step_is_told_and_its_terms_make_the_epoch() -> None:
    steps: list[dict[str, float]] = []
    history = train(
        make_net(),
        GRAPHS,
        settings=SHORT,
        on_step=lambda terms: steps.append({k: float(v.detach()) for k, v in terms.items()}),
    )
    assert len(steps) == 5 * 3
    mean = sum(step["compression"] for step in steps[:3]) / 3
    assert history.curve("compression")[0] == pytest.approx(mean, rel=1e-5)


def test_the_recorded_loss_is_the_mean_over_graphs_not_over_batches() -> None:
    net = make_net("dropout").eval()
    net.head[2].p = 0.0
    # A rate this small leaves the weights as they are: 60 graphs in batches of 50 and 10.
    history = train(net, GRAPHS, settings=Training(epochs=1, batch_size=50, lr=1e-30))
    assert history.curve("loss")[0] == pytest.approx(
        validation_loss(net, [GRAPHS.batch()]), rel=1e-5
    )


def test_the_validation_loss_does_not_depend_on_the_batch_size() -> None:
    net = make_net()
    whole = validation_loss(net, [GRAPHS.batch()])
    assert validation_loss(net, GRAPHS.batches(7)) == pytest.approx(whole, rel=1e-5)


def test_predictions_do_not_depend_on_the_batch_size() -> None:
    net = make_net("population")
    train(net, GRAPHS, settings=Training(epochs=1))
    one, other = predict(net, GRAPHS), predict(net, GRAPHS, batch_size=7)
    assert torch.allclose(one[0], other[0], atol=1e-5)
    assert torch.allclose(one[1], other[1], atol=1e-6)


def test_training_on_an_index_is_training_on_these_graphs() -> None:
    index = torch.tensor([3, 10, 11, 40, 41, 2, 59])
    one, other = make_net(), make_net()
    settings = Training(epochs=2, batch_size=3)
    by_index = train(one, GRAPHS, index=index, settings=settings)
    by_part = train(other, GRAPHS[index], settings=settings)
    assert_same_weights(weights_of(one), weights_of(other))
    assert by_index.curve("loss") == by_part.curve("loss")


def test_every_epoch_is_announced_to_the_bottleneck(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    told: list[int] = []
    for epochs in (2, 4):  # the second goes on where the first ended
        net = make_net()
        net.bottleneck.start_epoch = lambda epoch, epochs: told.append(epoch)
        settings = Training(epochs=epochs, batch_size=60)
        train(net, GRAPHS, settings=settings, checkpoint=path)
    assert told == [0, 1, 2, 3]


# ---- selection ---------------------------------------------------------------------------------


@pytest.mark.parametrize("select", ["best", "last"])
def test_the_best_or_the_last_weights_stay(select: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    losses_in_turn(monkeypatch, [3.0, 1.0, 2.0, 1.0])
    net = make_net()
    after: list[dict[str, Tensor]] = []
    settings = Training(epochs=4, batch_size=20, select=select)
    history = train(
        net,
        GRAPHS,
        val=VALIDATION,
        settings=settings,
        on_epoch=lambda _: after.append(weights_of(net)),
    )
    assert_same_weights(weights_of(net), after[1 if select == "best" else 3])
    assert differ(after[1], after[3])
    # Of equal losses the first counts.
    assert (history.best_epoch, history.best_loss) == (1, 1.0)


def test_without_validation_graphs_the_last_weights_stay() -> None:
    net = make_net()
    after: list[dict[str, Tensor]] = []
    settings = Training(epochs=3, batch_size=20, patience=1)
    history = train(
        net, GRAPHS, settings=settings, on_epoch=lambda _: after.append(weights_of(net))
    )
    assert_same_weights(weights_of(net), after[-1])
    assert history.best_epoch == -1
    assert len(history.epochs) == 3


@pytest.mark.parametrize("patience", [1, 2, 4])
def test_training_stops_when_the_validation_loss_has_not_fallen_for_so_long(
    patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses_in_turn(monkeypatch, [3.0, 1.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0])
    settings = Training(epochs=8, batch_size=60, patience=patience)
    history = train(make_net(), GRAPHS, val=VALIDATION, settings=settings)
    assert len(history.epochs) == 2 + patience


def test_the_halved_rate_is_used() -> None:
    def moved(halve_at: int | None) -> list[float]:
        net = make_net("attention")
        before, steps = weights_of(net), []

        def note(_: Any) -> None:
            nonlocal before
            now = weights_of(net)
            steps.append(max(float((now[k] - before[k]).abs().max()) for k in now))
            before = now

        settings = Training(epochs=3, batch_size=60, lr=1e-3, halve_at=halve_at)
        train(net, GRAPHS, settings=settings, on_epoch=note)
        return steps

    plain, halved = moved(None), moved(1)
    assert halved[0] == plain[0]
    assert halved[2] < 0.4 * plain[2]


def test_a_large_gradient_is_clipped_to_its_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    norms = []
    original = levels.adam

    def adam(parameters: Any, gradients: list[Tensor], *args: Any, **options: Any) -> Any:
        norms.append(float(torch.stack([gradient.norm() for gradient in gradients]).norm()))
        return original(parameters, gradients, *args, **options)

    monkeypatch.setattr(levels, "adam", adam)
    train(make_net(), GRAPHS, settings=Training(epochs=1, batch_size=20, clip=1e-3))
    assert norms == pytest.approx([1e-3] * 3, rel=1e-2)


# ---- seeds and global state --------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_gives_the_same_weights_whatever_the_global_state(case: str) -> None:
    def run(global_seed: int, seed: int = 0) -> dict[str, Tensor]:
        net = make_net(case)
        with torch.random.fork_rng():
            torch.manual_seed(global_seed)
            settings = Training(epochs=2, batch_size=20, seed=seed)
            train(net, GRAPHS, settings=settings)
        return weights_of(net)

    one = run(global_seed=1)
    assert_same_weights(one, run(global_seed=2))
    assert differ(one, run(global_seed=1, seed=1))


def test_training_leaves_every_global_random_state_as_it_was() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    train(make_net(), GRAPHS, val=VALIDATION, settings=Training(epochs=1))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]


def test_an_error_in_a_seeded_block_still_hands_the_random_state_back() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), seeded(5):
        torch.rand(3)
        raise RuntimeError
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_the_device_reaches_every_batch(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = PackedGraphs.batch

    def batch(self: PackedGraphs, *args: Any, **options: Any) -> Any:
        asked.append(options.get("device"))
        return original(self, *args, **options)

    monkeypatch.setattr(PackedGraphs, "batch", batch)
    settings = Training(epochs=1, batch_size=30)
    net = make_net()
    train(net, GRAPHS, val=VALIDATION, settings=settings, device=device)
    predict(net, GRAPHS, device=device)
    assert asked == [device] * 4


# ---- divergence --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graphs", "lr"),
    [(GRAPHS, 1e25), (replace(GRAPHS, x=GRAPHS.x * float("nan")), 1e-3)],
    ids=["huge rate", "NaN features"],
)
def test_a_diverged_run_says_what_to_do_and_saves_nothing(
    graphs: PackedGraphs, lr: float, tmp_path: Path
) -> None:
    path = tmp_path / "run.checkpoint"
    settings = Training(epochs=3, batch_size=20, lr=lr)
    with pytest.raises(DivergedError, match=r"diverged in epoch \d.*lower lr .*clip=1.0") as caught:
        train(make_net(), graphs, settings=settings, checkpoint=path, checkpoint_seconds=0)
    assert isinstance(caught.value, ArithmeticError)
    if path.exists():
        saved = safetensors.torch.load_file(path)
        assert all(t.isfinite().all() for n, t in saved.items() if n.startswith("net."))


def test_a_validation_loss_that_is_no_number_ends_the_run() -> None:
    val = replace(VALIDATION, x=VALIDATION.x * float("nan"))
    with pytest.raises(DivergedError, match="'val_loss': nan"):
        train(make_net(), GRAPHS, val=val, settings=Training(epochs=2))


# ---- checkpoints -------------------------------------------------------------------------------


def run(case: str, path: Path | None = None, settings: Training = SHORT) -> tuple[Any, History]:
    net = make_net(case)
    settings = settings.model_copy(update={"average": CASES[case].get("average")})
    history = train(
        net, GRAPHS, val=VALIDATION, settings=settings, checkpoint=path, checkpoint_seconds=0
    )
    return weights_of(net), history


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def counted(call: Callable[..., Any], fatal: int, last_act: Callable[..., Any]) -> Any:
    """The same function, but its ``fatal``-th call does ``last_act`` and is the last."""
    calls = 0

    def wrapper(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == fatal:
            last_act(*args)
            die()
        return call(*args, **options)

    return wrapper


def train_and_be_killed(case: str, place: str, path: Path) -> None:
    """Trains until a SIGKILL at the given place ends the process."""
    original = SubgraphNet.terms_of
    if place == "in the first epoch":
        SubgraphNet.terms_of = counted(original, 2, lambda *_: None)
    elif place == "in the third epoch":
        SubgraphNet.terms_of = counted(original, 8, lambda *_: None)
    elif place == "while writing":
        safetensors.torch.save_file = counted(
            safetensors.torch.save_file, 3, lambda _, target: Path(target).write_bytes(b"half")
        )
    run(case, path)


PLACES = [(case, "in the third epoch") for case in CASES]
PLACES += [("paper", "in the first epoch"), ("paper", "while writing")]


def main(folder: Path) -> None:
    """For each place a fork that is killed there; imports are paid once."""
    torch.set_num_threads(1)
    for number, (case, place) in enumerate(PLACES):
        child = os.fork()
        if child == 0:
            train_and_be_killed(case, place, folder / str(number) / "run.checkpoint")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"{case} was not killed {place}: status {status}")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of runs that were killed, one folder for each of ``PLACES``."""
    folder = tmp_path_factory.mktemp("killed")
    found = subprocess.run(
        [sys.executable, __file__, str(folder)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return folder


def test_every_bottleneck_is_killed_and_resumed() -> None:
    tried = {options.get("bottleneck", "vgib-paper") for options in CASES.values()}
    assert tried == set(bottlenecks.names())


@pytest.mark.parametrize("number", range(len(PLACES)), ids=[" ".join(place) for place in PLACES])
def test_a_killed_run_resumes_to_the_very_same_weights(
    killed: Path, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    case, place = PLACES[number]
    path = killed / str(number) / "run.checkpoint"
    expected, history = run(case)
    with caplog.at_level(logging.INFO, logger="vgib.train.checkpoint"):
        found, resumed = run(case, path)
    if place == "in the first epoch":
        assert "resumed" not in caplog.text
    else:
        assert "after epoch 2" in caplog.text
    if place == "while writing":
        assert [p.read_bytes() for p in path.parent.glob(".*.part")] == [b"half"]
    assert_same_weights(found, expected)
    assert (resumed.best_epoch, resumed.best_loss) == (history.best_epoch, history.best_loss)
    for name in ("loss", "val_loss", "epoch"):
        assert resumed.curve(name) == history.curve(name)


@pytest.mark.parametrize("case", ["paper", "gib"])
def test_a_finished_run_is_taken_as_it_is_and_can_go_on_longer(case: str, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    first, history = run(case, path)
    again, same = run(case, path)
    assert_same_weights(again, first)
    assert same.epochs == history.epochs
    longer = SHORT.model_copy(update={"epochs": 8})
    expected, _ = run(case, settings=longer)
    found, _ = run(case, path, longer)
    assert_same_weights(found, expected)


def test_a_run_that_stopped_early_stays_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.checkpoint"
    losses_in_turn(monkeypatch, [1.0, 2.0, 3.0])
    settings = SHORT.model_copy(update={"patience": 2})
    first, history = run("paper", path, settings)
    again, same = run("paper", path, settings)
    assert len(same.epochs) == len(history.epochs) == 3
    assert_same_weights(again, first)


def test_checkpoints_are_written_no_more_often_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    original = checkpoint.write_safetensors
    monkeypatch.setattr(
        checkpoint, "write_safetensors", lambda *args: written.append(1) or original(*args)
    )
    path = tmp_path / "run.checkpoint"
    train(make_net(), GRAPHS, settings=SHORT, checkpoint=path, checkpoint_seconds=1000)
    assert len(written) == 1


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    run("paper", path)
    other = SHORT.model_copy(update={"lr": 0.5, "seed": 3})
    with pytest.raises(InputError, match=r"lr=0.005 then, 0.5 now, seed=0 then, 3 now"):
        run("paper", path, other)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"readout": "mean"}, "readout='sum' then, 'mean' now"),
        ({"dropout": 0.5}, r"dropout=\[0.0\] then, \[0.5\] now"),
        ({"last_relu": False}, r"relus=\[True, True\] then, \[True, False\] now"),
    ],
)
def test_weights_that_fit_another_architecture_are_refused(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.checkpoint"
    run("paper", path)
    architecture = Architecture(hidden=8).model_copy(update=change)
    net = build(
        encoder="gcn",
        bottleneck="vgib-paper",
        cardinalities=None,
        in_channels=1,
        task="classification",
        outputs=2,
        architecture=architecture,
    )
    with pytest.raises(InputError, match=told):
        train(net, GRAPHS, val=VALIDATION, settings=SHORT, checkpoint=path)


def test_other_validation_graphs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    run("paper", path)
    with pytest.raises(InputError, match="validation="):
        train(make_net(), GRAPHS, val=VALIDATION[:10], settings=SHORT, checkpoint=path)


def test_other_edge_features_are_refused_but_older_files_never_told_them(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    graphs = replace(GRAPHS, edge_attr=torch.zeros(GRAPHS.num_edges))
    train(make_net(), graphs, settings=SHORT, checkpoint=path)
    others = replace(graphs, edge_attr=torch.ones(GRAPHS.num_edges))
    with pytest.raises(InputError, match="edge_attr="):
        train(make_net(), others, settings=SHORT, checkpoint=path)
    with safetensors.safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["about"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del about["settings"]["edge_attr"]
    safetensors.torch.save_file(tensors, path, {"about": json.dumps(about)})
    assert len(train(make_net(), graphs, settings=SHORT, checkpoint=path).epochs) == SHORT.epochs


def test_a_cosine_cannot_be_made_longer(tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    falling = SHORT.model_copy(update={"cosine": True})
    run("paper", path, falling)
    with pytest.raises(InputError, match="epochs=5 then, 6 now"):
        run("paper", path, falling.model_copy(update={"epochs": 6}))


@pytest.mark.parametrize("case", ["gib", "gin"])
def test_another_model_is_refused(case: str, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    run("paper", path)
    with pytest.raises(InputError, match="belongs to another model; delete it to start again"):
        run(case, path)


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a checkpoint")


def _empty(path: Path) -> None:
    path.touch()


def _truncated(path: Path) -> None:
    run("paper", path)
    path.write_bytes(path.read_bytes()[:-10])


def _plain_tensors(path: Path) -> None:
    safetensors.torch.save_file({"a": torch.ones(2)}, path)


def _packed_graphs(path: Path) -> None:
    VALIDATION.save(path)


@pytest.mark.parametrize("make", [_garbage, _empty, _truncated, _plain_tensors, _packed_graphs])
def test_a_file_that_is_no_checkpoint_is_refused(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "run.checkpoint"
    make(path)
    with pytest.raises(FileFormatError, match=r"not a usable checkpoint .* delete it"):
        run("paper", path)


def test_a_checkpoint_can_lie_in_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.checkpoint"
    run("paper", path)
    assert path.exists()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
