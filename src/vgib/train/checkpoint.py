"""How far a training is, in memory and in one file: a killed process goes on as if nothing was."""

import hashlib
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from vgib.config import Training
from vgib.data.files import write_safetensors
from vgib.data.packed import PackedGraphs
from vgib.errors import FileFormatError, InputError
from vgib.nn.net import SubgraphNet
from vgib.train.optimizer import Level

log = logging.getLogger(__name__)

Epoch = dict[str, float]


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
        """One named quantity over the epochs."""
        return [epoch[name] for epoch in self.epochs]


@dataclass
class Progress:
    """All that training needs to go on: weights, moments, random state, history, best weights."""

    net: SubgraphNet
    outer: Level
    inner: Level | None
    history: History
    settings: Training
    identity: dict[str, Any]
    best: dict[str, Tensor] = field(default_factory=dict)

    def finish_epoch(self, record: Epoch) -> None:
        """Files the record and remembers the weights when they are the best so far."""
        epoch = len(self.history.epochs)
        self.history.epochs.append({"epoch": epoch + 1, **record})
        loss = record.get("val_loss")
        if loss is not None and self._may_be_selected(epoch) and loss < self.history.best_loss:
            self.history.best_loss, self.history.best_epoch = loss, epoch
            if self.settings.select == "best":
                with self.outer.mean_shown():
                    weights = self.net.state_dict().items()
                    self.best = {name: value.detach().clone() for name, value in weights}

    def _may_be_selected(self, epoch: int) -> bool:
        """Not while a schedule of the bottleneck lasts, but the last epoch always."""
        return epoch >= min(self.net.bottleneck.selected_from, self.settings.epochs - 1)

    def is_done(self) -> bool:
        """Whether the validation loss has not fallen for too long."""
        patience = self.settings.patience
        waited = len(self.history.epochs) - 1 - self.history.best_epoch
        return patience is not None and self.history.best_epoch >= 0 and waited >= patience

    def restore_selected(self) -> None:
        """Puts the selected weights into the model; for good, so that a mean need not stay."""
        if self.best:
            self.net.load_state_dict(self.best)
        elif self.outer.mean is not None:
            self.outer.parameters.vector.data.copy_(self.outer.mean)

    def levels(self) -> dict[str, Level]:
        """By name."""
        return {"outer": self.outer} | ({"inner": self.inner} if self.inner is not None else {})

    def save(self, path: Path) -> None:
        """Writes everything into one file."""
        tensors = {f"net.{k}": v for k, v in self.net.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best.items()}
        for name, level in self.levels().items():
            tensors |= {f"{name}.{k}": v for k, v in level.moments.items()}
        if self.outer.mean is not None:
            with self.outer.mean_shown():
                tensors |= {f"mean.{k}": v.clone() for k, v in self.net.state_dict().items()}
        tensors["random"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random_cuda"] = torch.cuda.get_rng_state()
        about = {
            "settings": self.settings.model_dump() | self.identity,
            "epochs": self.history.epochs,
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
        changed = _differences(about["settings"], self.settings.model_dump() | self.identity)
        if changed:
            raise InputError(
                f"{str(path)!r} was made with other settings ({changed}); "
                "use the same ones, or delete it to start again"
            )
        if mean := _under("mean.", tensors):
            self.net.load_state_dict(mean)
            self.outer.mean = self.outer.parameters.vector.detach().clone()
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
    plain = {
        f"bottleneck.{name}": value
        for name, value in vars(net.bottleneck).items()
        if isinstance(value, bool | int | float | str) and name not in ("training", "rate")
    }
    weights = {f"weight.{name}": value for name, value in net.bottleneck.weights.items()}
    digest = hashlib.sha256(graphs.fingerprint().encode())
    if index is not None:
        digest.update(index.numpy().tobytes())
    held_out = None if val is None else val.fingerprint()
    return network | plain | weights | {"data": digest.hexdigest(), "validation": held_out}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The settings that changed.

    More epochs are no change, so that training can go on longer, unless the rate falls along all of
    them.
    """
    keys = sorted((old.keys() | new.keys()) - (set() if new["cosine"] else {"epochs"}))
    return ", ".join(
        f"{k}={old.get(k)!r} then, {new.get(k)!r} now" for k in keys if old.get(k) != new.get(k)
    )
