"""Training in stages: a bottleneck with an encoder of its own, and a gate that is trained last."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from vgib.config import Architecture, Training
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.nn.bottleneck import Bottleneck, Encoded, Gate, Perturbed, Site, Stage
from vgib.nn.encoder import Encoder
from vgib.nn.net import SubgraphNet, build
from vgib.nn.paper_vgib import relax
from vgib.train.checkpoint import History
from vgib.train.loop import train

GRAPHS = generate_ba2motifs(60, seed=0)
VALIDATION = generate_ba2motifs(20, seed=1)
SETTINGS = Training(epochs=4, batch_size=20, lr=5e-3)


class TwoStages(Bottleneck):
    """First two predictors, of clean and of noisy inputs; then the gate alone against the second.

    The price of a node falls and rises by a multiplier that the bottleneck moves itself.
    """

    predict_from = "clean"
    stages = (
        Stage("predictors", ("features", "encoder", "head", "bottleneck.noisy"), share=0.75),
        Stage("gate", ("bottleneck.gate",), share=0.5, weights={"divergence": 1.0, "price": 0.1}),
    )

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.weights["clean"] = 1.0
        encoder = Encoder(site.layer, site.in_channels, hidden=8, depth=site.depth)
        self.noisy = nn.ModuleDict({"encoder": encoder, "head": nn.Linear(8, site.outputs)})
        self.gate = Gate(site.in_channels + site.channels + site.outputs)
        self.multiplier: Tensor
        self.register_buffer("multiplier", torch.ones(()))
        self.heard: list[tuple[str, bool, bool]] = []

    @classmethod
    def at(cls, site: Site, **options: Any) -> Self:
        return cls(site, **options)

    def _output(self, encoded: Encoded, keep: Tensor) -> Tensor:
        z = torch.lerp(torch.randn_like(encoded.x), encoded.x, keep.unsqueeze(1))
        states = self.noisy["encoder"].states(z, encoded.adj.with_ends(keep))
        output: Tensor = self.noisy["head"](encoded.graphs.sum(states[-1], keep))
        return output

    def forward(self, encoded: Encoded) -> Perturbed:
        chances = encoded.graphs.spread(encoded.output.detach().softmax(1))
        logits = self.gate(torch.cat([encoded.x, encoded.h, chances], dim=1).detach())
        p = logits.sigmoid()
        if not self.training:
            return Perturbed(None, p, output=encoded.output)
        assert encoded.target is not None
        bn = self.noisy["encoder"].training
        self.heard.append((self.stage.name, bn, encoded.h.requires_grad))
        if self.stage.name == "predictors":
            return Perturbed(None, p, output=self._output(encoded, torch.rand_like(p)))
        keep = relax(logits, 1.0)
        wanted = encoded.output.detach().argmax(1)
        divergence = nn.functional.cross_entropy(self._output(encoded, keep), wanted)
        self.multiplier.add_(0.01 * divergence.detach())
        return Perturbed(
            None, p, {"divergence": self.multiplier * divergence, "price": keep.mean()}
        )

    def criterion(self, encoded: Encoded, perturbed: Perturbed) -> Tensor | None:
        return perturbed.scores.mean() if self.stage.name == "gate" else None


def made(bottleneck: str | type[Bottleneck] = TwoStages, seed: int = 0) -> SubgraphNet:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build(
            encoder="gin",
            bottleneck=bottleneck,
            cardinalities=GRAPHS.cardinalities,
            in_channels=GRAPHS.x.shape[1],
            task="classification",
            outputs=2,
            architecture=Architecture(hidden=8, depth=2),
        )


def weights(net: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def opened(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["about"])


def fitted(net: SubgraphNet, **more: Any) -> History:
    return train(net, GRAPHS, val=VALIDATION, settings=more.pop("settings", SETTINGS), **more)


def test_each_stage_moves_what_it_names_and_lets_the_rest_rest() -> None:
    net = made()
    seen: list[dict[str, Tensor]] = [weights(net)]
    fitted(net, on_epoch=lambda _: seen.append(weights(net)))
    assert len(seen) == 1 + 3 + 2
    for before, after in pairwise(seen[:4]):
        assert all(torch.equal(before[k], after[k]) for k in before if "gate" in k)
        assert not torch.equal(before["head.0.weight"], after["head.0.weight"])
    for before, after in pairwise(seen[4:]):
        changed = {k for k in before if not torch.equal(before[k], after[k])}
        assert changed and all("gate" in k or "multiplier" in k for k in changed)
    modes = {name: (training, grad) for name, training, grad in net.bottleneck.heard}
    assert modes == {"predictors": (True, True), "gate": (False, False)}
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_the_history_tells_the_stages_and_each_is_selected_by_its_own_criterion() -> None:
    net = made()
    states: list[dict[str, Tensor]] = []
    history = fitted(net, on_epoch=lambda _: states.append(weights(net)))
    assert [int(epoch["stage"]) for epoch in history.epochs] == [1, 1, 1, 2, 2]
    assert {"prediction", "clean"} <= set(history.epochs[0])
    assert {"divergence", "price"} <= set(history.epochs[3]) and "clean" not in history.epochs[3]
    losses = [epoch["val_loss"] for epoch in history.epochs]
    first, second = min(range(3), key=losses.__getitem__), min(range(3, 5), key=losses.__getitem__)
    assert history.best_epoch == second and history.best_loss == losses[second]
    assert torch.equal(net.head[0].weight, states[first]["head.0.weight"])
    gate = "bottleneck.gate.mlp.0.weight"
    assert torch.equal(net.state_dict()[gate], states[second][gate])


def test_the_last_epoch_of_a_stage_stays_where_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = TwoStages.stages
    last = Stage(second.name, second.moves, second.share, second.weights, select="last")
    monkeypatch.setattr(TwoStages, "stages", (first, last))
    net = made()
    states: list[dict[str, Tensor]] = []
    fitted(net, on_epoch=lambda _: states.append(weights(net)))
    gate = "bottleneck.gate.mlp.0.weight"
    assert torch.equal(net.state_dict()[gate], states[-1][gate])


class KilledError(Exception):
    pass


def killed_after(epochs: int) -> Callable[[Any], None]:
    def stop(epoch: Any) -> None:
        if epoch["epoch"] == epochs:
            raise KilledError

    return stop


@pytest.mark.parametrize("epochs", [1, 3, 4, 5])
def test_a_killed_run_resumes_in_its_stage_to_the_very_same_weights(
    epochs: int, tmp_path: Path
) -> None:
    whole, path = made(), tmp_path / "checkpoint"
    history = fitted(whole)
    with pytest.raises(KilledError):
        fitted(made(), checkpoint=path, checkpoint_seconds=0, on_epoch=killed_after(epochs))
    again = made(seed=7)
    resumed = fitted(again, checkpoint=path)
    expected = weights(whole)
    assert all(torch.equal(value, expected[k]) for k, value in weights(again).items())
    assert resumed.best_epoch == history.best_epoch
    assert [e["val_loss"] for e in resumed.epochs] == [e["val_loss"] for e in history.epochs]


@pytest.mark.parametrize("bottleneck", [TwoStages, "vgib"])
@pytest.mark.parametrize("epochs", [1, 4, 5])
def test_a_network_that_was_interrupted_goes_on_itself(
    bottleneck: str | type[Bottleneck], epochs: int, tmp_path: Path
) -> None:
    whole, net, path = made(bottleneck), made(bottleneck), tmp_path / "checkpoint"
    fitted(whole)
    own = dict(net.bottleneck.weights)
    with pytest.raises(KilledError):
        fitted(net, checkpoint=path, checkpoint_seconds=0, on_epoch=killed_after(epochs))
    assert all(parameter.requires_grad for parameter in net.parameters())
    assert net.bottleneck.weights == own
    fitted(net, checkpoint=path)
    expected = weights(whole)
    assert all(torch.equal(value, expected[k]) for k, value in weights(net).items())
    before = path.stat().st_mtime_ns
    assert len(fitted(net, checkpoint=path).epochs) >= 5 and path.stat().st_mtime_ns > before


def test_an_interrupted_network_can_be_trained_anew() -> None:
    whole, net = made(), made()
    fitted(whole)
    with pytest.raises(KilledError):
        fitted(net, on_epoch=killed_after(5))
    net.load_state_dict(made().state_dict())
    fitted(net)
    expected = weights(whole)
    assert all(torch.equal(value, expected[k]) for k, value in weights(net).items())


def test_what_training_moves_is_no_setting_of_a_file_from_before(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    fitted(made("vgib"), checkpoint=path)
    tensors, about = opened(path)
    assert not [name for name in about["settings"] if name.endswith("_now")]
    about["settings"] |= {"bottleneck.price_now": 1.0, "bottleneck.temperature_now": 0.2}
    save_file(tensors, path, {"about": json.dumps(about)})
    fitted(made("vgib"), checkpoint=path)


def test_a_checkpoint_says_in_which_stage_it_is_and_stages_do_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with pytest.raises(KilledError):
        fitted(made(), checkpoint=path, checkpoint_seconds=0, on_epoch=killed_after(4))
    _, about = opened(path)
    assert (about["stage"], about["begun"]) == (1, 3)
    longer = SETTINGS.model_copy(update={"epochs": 8})
    with pytest.raises(InputError, match="epochs=4 then, 8 now"):
        fitted(made(), checkpoint=path, settings=longer)


def test_patience_ends_a_stage_and_not_the_training() -> None:
    settings = SETTINGS.model_copy(update={"epochs": 12, "patience": 1, "lr": 0.3})
    history = fitted(made(), settings=settings)
    lengths = [sum(epoch["stage"] == number for epoch in history.epochs) for number in (1, 2)]
    assert lengths[0] < 9 and lengths[1] >= 1


def test_the_rate_falls_anew_in_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(settings: Training, epoch: int, epochs: int) -> float:
        asked.append((epoch, epochs))
        return settings.lr

    monkeypatch.setattr("vgib.train.checkpoint.rate", noted)
    fitted(made())
    assert asked == [(0, 3), (1, 3), (2, 3), (0, 2), (1, 2)]


def test_a_parameter_that_the_user_froze_stays_frozen() -> None:
    net = made()
    net.head[0].bias.requires_grad_(False)
    before = net.head[0].bias.clone()
    fitted(net)
    assert torch.equal(net.head[0].bias, before) and not net.head[0].bias.requires_grad
