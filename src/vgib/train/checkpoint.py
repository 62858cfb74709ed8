"""How far a training is, in memory and in one file: a killed process goes on as if nothing was."""

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from vgib.config import Training
from vgib.data.files import write_safetensors
from vgib.data.packed import PackedGraphs
from vgib.errors import FileFormatError, InputError, unknown_name
from vgib.nn.bottleneck import Stage
from vgib.nn.net import SubgraphNet
from vgib.train.optimizer import Level, levels, rate
from vgib.train.team import ALONE, Alone

log = logging.getLogger(__name__)

Epoch = dict[str, float]

MOVING = ("training", "rate", "price_now", "temperature_now")
"""Plain attributes of bottlenecks that training itself changes, and so are no settings."""


@dataclass
class History:
    """What happened in each epoch, averaged over it.

    Every loss term by name, ``loss`` their weighted sum, ``kept`` the share of nodes that score at
    least one half, ``val_loss`` after the epoch, and its ``seconds``.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int = -1
    best_loss: float = float("inf")

    def curve(self, name: str) -> list[float]:
        """One named quantity over the epochs that have it: a stage has terms of its own."""
        found = [epoch[name] for epoch in self.epochs if name in epoch]
        if not found:
            known = {key for epoch in self.epochs for key in epoch}
            raise unknown_name("quantity", name, known)
        return found


class Progress:
    """All that training needs to go on: weights, moments, random state, history, best weights.

    Attributes:
        stage: The stage of the bottleneck's training that is on.
        outer: What moves in it.
        inner: What the inner level of a two-level objective moves.
        term_weights: The weights of the terms of the loss, where a stage has none of its own.
        mean: The running mean of the weights, where one is kept.
        best: The weights of the best epoch of this stage.
        history: What happened in each epoch.
    """

    outer: Level
    inner: Level | None

    def __init__(
        self,
        net: SubgraphNet,
        settings: Training,
        identity: dict[str, Any],
        team: Alone = ALONE,
    ) -> None:
        self.net, self.settings, self.identity, self.team = net, settings, identity, team
        self.history = History()
        self.trainable = {n: p for n, p in net.named_parameters() if p.requires_grad}
        self.term_weights = net.bottleneck.weights
        self._enter(0)

    def _enter(self, number: int) -> None:
        """Begins a stage: lets its parameters move and holds all others."""
        self.number, self.stage = number, self.net.bottleneck.stages[number]
        self.begun = len(self.history.epochs)
        if self.selects:
            self.history.best_epoch, self.history.best_loss = -1, float("inf")
        self.best: dict[str, Tensor] = {}
        self.mean: AveragedModel | None = None
        for name, parameter in self.trainable.items():
            parameter.requires_grad_(self.stage.is_moving(name))
        self.net.bottleneck.weights = self.term_weights
        self.net.bottleneck.start_stage(self.stage)
        self.outer, self.inner = levels(self.net, self.settings, self.team)

    def leave(self) -> None:
        """Ends a stage: the selected weights stay, and the network is handed back."""
        if self.best:
            self.net.load_state_dict(self.best)
        elif self.mean is not None:
            self.net.load_state_dict(self.mean.module.state_dict())
        self.close()

    def close(self) -> None:
        """Hands the network back so that it can be trained again, also after an interruption.

        Every parameter has its own memory and may move again, and every term of the loss has the
        weight that it had before a stage changed it.
        """
        for level in self.levels().values():
            level.parameters.release()
        for parameter in self.trainable.values():
            parameter.requires_grad_(True)
        self.net.bottleneck.weights = self.term_weights

    def stages_left(self) -> Iterator[Stage]:
        """This stage and those after it, which begin with the selected weights of the last one."""
        yield self.stage
        for number in range(self.number + 1, len(self.net.bottleneck.stages)):
            self.leave()
            self._enter(number)
            yield self.stage

    def epochs_left(self) -> Iterator[int]:
        """The epochs of this stage that are to come, until the validation loss stops falling."""
        for epoch in range(len(self.history.epochs) - self.begun, self.epochs):
            if self.is_done():
                return
            yield epoch

    @property
    def epochs(self) -> int:
        """How many epochs this stage has."""
        return stage_epochs(self.stage, self.settings.epochs)

    def start_epoch(self, epoch: int) -> None:
        """Sets the learning rate, tells the bottleneck, and puts what moves in training mode."""
        self.outer.lr = rate(self.settings, epoch, self.epochs)
        self.net.bottleneck.start_epoch(epoch, self.epochs)
        self.net.train()
        if self.stage.moves:
            let_rest(self.net)

    def update_mean(self) -> None:
        """Moves the running mean of the weights, when one is kept, towards what they are now."""
        if self.settings.average is None:
            return
        if self.mean is None:
            moved = get_ema_multi_avg_fn(self.settings.average)  # type: ignore[no-untyped-call]
            self.mean = AveragedModel(self.net, multi_avg_fn=moved)
        self.mean.update_parameters(self.net)

    @property
    def shown(self) -> SubgraphNet:
        """The network that is judged and selected: with the mean of the weights, if one is kept."""
        if self.mean is None:
            return self.net
        assert isinstance(self.mean.module, SubgraphNet)
        return self.mean.module

    @property
    def selects(self) -> bool:
        """Whether validation graphs decide anything: a stage whose last epoch stays needs none."""
        return self.stage.select != "last"

    def finish_epoch(self, record: Epoch) -> None:
        """Files the record and remembers the weights when they are the best so far."""
        epoch = len(self.history.epochs)
        number = {"stage": self.number + 1} if len(self.net.bottleneck.stages) > 1 else {}
        self.history.epochs.append({"epoch": epoch + 1, **number, **record})
        loss = record.get("val_loss")
        # Not while a schedule of the bottleneck lasts, but the last epoch always.
        earliest = min(self.net.bottleneck.selected_from, self.epochs - 1)
        may_be_selected = epoch - self.begun >= earliest
        if loss is not None and may_be_selected and loss < self.history.best_loss:
            self.history.best_loss, self.history.best_epoch = loss, epoch
            if (self.stage.select or self.settings.select) == "best":
                weights = self.shown.state_dict().items()
                self.best = {name: value.detach().clone() for name, value in weights}

    def is_done(self) -> bool:
        """Whether the validation loss has not fallen for too long."""
        patience = self.settings.patience if self.selects else None
        waited = len(self.history.epochs) - 1 - self.history.best_epoch
        return patience is not None and self.history.best_epoch >= 0 and waited >= patience

    def levels(self) -> dict[str, Level]:
        return {"outer": self.outer} | ({"inner": self.inner} if self.inner is not None else {})

    def save(self, path: Path) -> None:
        tensors = {f"net.{k}": v for k, v in self.net.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best.items()}
        for name, level in self.levels().items():
            tensors |= {f"{name}.{k}": v for k, v in level.moments.items()}
        if self.mean is not None:
            tensors |= {f"mean.{k}": v for k, v in self.mean.module.state_dict().items()}
        tensors["random"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random_cuda"] = torch.cuda.get_rng_state()
        about = {
            "settings": self.settings.model_dump() | self.identity,
            "epochs": self.history.epochs,
            "stage": self.number,
            "begun": self.begun,
            "best_epoch": self.history.best_epoch,
            "best_loss": self.history.best_loss,
        }
        plain = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        write_safetensors(path, plain, {"about": json.dumps(about)})

    def load(self, path: Path) -> None:
        """Takes everything back; refuses a checkpoint of other settings or another model."""
        tensors, about = _read(path)
        weights = _under("net.", tensors)
        ours = self.net.state_dict()
        if {k: v.shape for k, v in weights.items()} != {k: v.shape for k, v in ours.items()}:
            raise InputError(f"{str(path)!r} belongs to another model; delete it to start again")
        settings = self.settings.model_dump() | self.identity
        if "edge_attr" not in about["settings"]:  # files from before it was written down
            settings.pop("edge_attr", None)
        changed = _differences(about["settings"], settings)
        if changed:
            raise InputError(
                f"{str(path)!r} was made with other settings ({changed}); "
                "use the same ones, or delete it to start again"
            )
        self.leave()
        self._enter(about.get("stage", 0))
        self.begun = about.get("begun", 0)
        if mean := _under("mean.", tensors):
            self.net.load_state_dict(mean)
            self.update_mean()
        self.net.load_state_dict(weights)
        self.best = _under("best.", tensors)
        for name, level in self.levels().items():
            for moment, value in _under(f"{name}.", tensors).items():
                level.moments[moment].copy_(value)
        torch.set_rng_state(tensors["random"])
        if "random_cuda" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["random_cuda"])
        self.history = History(about["epochs"], about["best_epoch"], about["best_loss"])
        log.info("resumed from %s after epoch %d", path, len(self.history.epochs))


def stage_epochs(stage: Stage, epochs: int) -> int:
    """How many epochs a stage has, at least one, of settings with so many."""
    return max(1, round(stage.share * epochs))


def let_rest(module: nn.Module) -> None:
    """Puts every part of a module in evaluation mode of which no parameter moves."""
    for part in module.children():
        parameters = list(part.parameters())
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            part.eval()
        else:
            let_rest(part)


def restore(net: SubgraphNet, checkpoint: Path) -> History:
    """Takes the selected weights of a finished training over into a model; gives its history."""
    tensors, about = _read(checkpoint)
    kinds = (_under(f"{kind}.", tensors) for kind in ("best", "mean", "net"))
    selected = next(weights for weights in kinds if weights)
    net.load_state_dict(selected)
    net.eval()
    return History(about["epochs"], about["best_epoch"], about["best_loss"])


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a checkpoint, and what it says about itself."""
    try:
        with safe_open(path, framework="pt") as file:
            about: dict[str, Any] = json.loads(file.metadata()["about"])
            if "settings" not in about:
                raise KeyError("settings")
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise FileFormatError(
            f"{str(path)!r} is not a usable checkpoint ({error}); delete it to start again"
        ) from None


def identity(
    net: SubgraphNet, graphs: PackedGraphs, index: Tensor | None, val: PackedGraphs | None
) -> dict[str, Any]:
    """What a checkpoint must agree with, beside the settings: the network and the data."""
    network = {
        "task": net.task,
        "readout": net.readout,
        "relus": getattr(net.encoder, "relu_after", None),
        "head": [type(layer).__name__ for layer in net.head],
        "dropout": [layer.p for layer in net.head if isinstance(layer, nn.Dropout)],
    }
    plain: dict[str, Any] = {
        f"bottleneck.{name}": value
        for name, value in vars(net.bottleneck).items()
        if isinstance(value, bool | int | float | str) and name not in MOVING
    }
    weights = {f"weight.{name}": value for name, value in net.bottleneck.weights.items()}
    if len(net.bottleneck.stages) > 1:
        # More epochs would move the end of every stage but the last.
        stages = [asdict(stage) for stage in net.bottleneck.stages]
        plain["bottleneck.stages"] = json.loads(json.dumps(stages))
    digest = hashlib.sha256(graphs.fingerprint(edge_attr=False).encode())
    if index is not None:
        digest.update(index.numpy().tobytes())
    data = {
        "data": digest.hexdigest(),
        "validation": None if val is None else val.fingerprint(edge_attr=False),
        "edge_attr": [part.fingerprint() for part in (graphs, val) if part is not None],
    }
    return network | plain | weights | data


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The settings that changed.

    More epochs are no change, so that training can go on longer, unless the rate falls along all of
    them or several stages share them. Older files hold what moves too.
    """
    is_fixed = new["cosine"] or "bottleneck.stages" in new
    free = {f"bottleneck.{name}" for name in MOVING} | (set() if is_fixed else {"epochs"})
    keys = sorted((old.keys() | new.keys()) - free)
    return ", ".join(
        f"{k}={old.get(k)!r} then, {new.get(k)!r} now" for k in keys if old.get(k) != new.get(k)
    )
