"""The one training loop: read it top to bottom."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import cos, isfinite, pi
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.optim.adam import adam

from vgib.config import Training
from vgib.data.files import write_safetensors
from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import FileFormatError, InputError, VgibError
from vgib.nn.flat import FlatParameters
from vgib.nn.net import SubgraphNet
from vgib.team import ALONE, Alone

log = logging.getLogger(__name__)

Epoch = dict[str, float]


class DivergedError(VgibError, ArithmeticError):
    """Training whose loss is no longer a number."""


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


def train(
    net: SubgraphNet,
    graphs: PackedGraphs,
    *,
    index: Tensor | None = None,
    val: PackedGraphs | None = None,
    settings: Training,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 30.0,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[dict[str, Tensor]], None] | None = None,
    device: torch.device | str = "cpu",
    team: Alone = ALONE,
) -> History:
    """Trains in place and gives the history.

    Args:
        net: The model; left in evaluation mode with the selected weights.
        graphs: Graphs with labels.
        index: The graphs to train on; all when ``None``.
        val: Graphs for model selection and early stopping; without them the last weights stay.
        settings: Everything else.
        checkpoint: A file to resume from when it exists, and to write as training goes on. It is
            replaced atomically: a killed process resumes to the very same weights.
        checkpoint_seconds: Least time between two writes.
        on_epoch: Called with each finished epoch, once its checkpoint is written.
        on_step: Called with every term of each finished step, as tensors.
        device: Where to compute.
        team: The workers that train this model, each with its own part of the graphs; weights and
            histories are the same on all of them.
    """
    _check(net, graphs, index, val)
    net.to(device)
    outer, inner = levels(net, settings, team)
    own = len(graphs) if index is None else len(index)
    held_out = [] if val is None else list(val.batches(1024, device=device))
    sizes, moments = team.batch_sizes(settings.batch_size, own), _moments(net)
    identity = _identity(net, graphs, index) if checkpoint is not None else {}
    state = _State(net, outer, inner, History(), settings, identity)
    with threads(settings.threads), seeded(settings.seed + (team.rank << 32), device):
        if checkpoint is not None and checkpoint.exists():
            state.load(checkpoint)
        written = monotonic()
        for epoch in range(len(state.history.epochs), settings.epochs):
            if state.is_done():
                break
            started = perf_counter()
            outer.set_rate(settings, epoch)
            net.bottleneck.start_epoch(epoch)
            sums: dict[str, Tensor] = {}
            net.train()
            for batch in graphs.batches(
                sizes, index=index, generator=torch.default_generator, device=device
            ):
                terms = train_step(net, batch, outer, inner, clip=settings.clip)
                team.average(moments, batch.num_graphs)
                for name, term in terms.items():
                    sums[name] = sums.get(name, 0.0) + term.detach() * batch.num_graphs
                if on_step is not None:
                    on_step(terms)
            record = team.mean({name: float(total) / own for name, total in sums.items()}, own)
            outer.update_mean(settings.average)
            if val is not None:
                with outer.mean_shown():
                    loss = validation_loss(net, held_out)
                record |= team.mean({"val_loss": loss}, len(val))
            if not all(isfinite(value) for value in record.values()):
                raise DivergedError(
                    f"training diverged in epoch {epoch + 1}: {record}; lower lr "
                    f"(now {settings.lr}), set clip=1.0, or look for NaN in features and labels"
                )
            record["seconds"] = perf_counter() - started
            state.finish_epoch(record)
            if checkpoint is not None and monotonic() - written >= checkpoint_seconds:
                state.save(checkpoint)
                written = monotonic()
            if on_epoch is not None:
                with outer.mean_shown():
                    on_epoch(state.history.epochs[-1])
        if checkpoint is not None:
            state.save(checkpoint)
    state.restore_selected()
    for level in state.levels().values():
        level.parameters.release()
    net.eval()
    return state.history


def train_step(
    net: SubgraphNet,
    batch: Batch,
    outer: "Level",
    inner: "Level | None" = None,
    *,
    clip: float | None = None,
) -> dict[str, Tensor]:
    """One step on a batch; gives every loss term, the ``loss`` and the ``kept`` share.

    The inner level of a two-level objective goes first: the critic alone, on this batch as it is
    encoded now.
    """
    assert batch.y is not None
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    if inner is not None:
        for _ in net.bottleneck.inner_gradients(encoded.detached()):
            inner.move(batch.num_graphs)
    perturbed = net.perturb(encoded)
    terms = net.terms_of(encoded, perturbed, batch.y)
    loss = net.objective(terms)
    outer.step(loss, batch.num_graphs, clip)
    kept = batch.graphs.overall_mean((perturbed.scores.detach() >= 0.5).float())
    return terms | {"loss": loss, "kept": kept}


@torch.no_grad()
def validation_loss(net: SubgraphNet, batches: Iterable[Batch]) -> float:
    """The loss of the prediction that is used at test time; no randomness."""
    net.eval()
    total, graphs = 0.0, 0
    for batch in batches:
        assert batch.y is not None
        output, _ = net.predict(batch.x, batch.adj, batch.graphs)
        total += float(net.loss(output, batch.y)) * batch.num_graphs
        graphs += batch.num_graphs
    return total / graphs


@torch.no_grad()
def predict(
    net: SubgraphNet,
    graphs: PackedGraphs,
    *,
    batch_size: int = 1024,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Outputs ``[num_graphs, outputs]`` in the target's units, and node scores ``[num_nodes]``."""
    net.to(device).eval()
    outputs, scores = [], []
    with threads(1):
        for batch in graphs.batches(batch_size, device=device):
            output, score = net.predict(batch.x, batch.adj, batch.graphs)
            outputs.append(net.rescale(output).cpu())
            scores.append(score.cpu())
    return torch.cat(outputs), torch.cat(scores)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Runs a block with so many torch threads, and goes back to as many as before.

    Models of this size are faster with one: a second thread waits more than it works, and on a busy
    machine makes training many times slower.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Runs a block from a seed and hands the global random state back as it was."""
    kind = torch.device(device)
    with torch.random.fork_rng([kind] if kind.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


class Level:
    """What one level of the objective trains: its parameters, in one vector, and their Adam.

    Adam is torch's function and not its object, which takes a critic as long as its gradient does.

    Attributes:
        lr: The learning rate of this epoch.
        moments: What Adam remembers: ``step``, ``exp_avg`` and ``exp_avg_sq``.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        decay: float = 0.0,
        team: Alone = ALONE,
    ) -> None:
        self.parameters = FlatParameters(parameters)
        self.lr, self.decay, self.team = lr, decay, team
        vector = self.parameters.vector.detach()
        self.moments = {
            "step": vector.new_zeros(()),
            "exp_avg": torch.zeros_like(vector),
            "exp_avg_sq": torch.zeros_like(vector),
        }
        self.mean: Tensor | None = None

    def step(self, loss: Tensor, graphs: int, clip: float | None = None) -> None:
        """Moves the parameters down the gradient of the loss, a mean over so many graphs."""
        self.parameters.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.move(graphs, clip)

    @torch.no_grad()
    def move(self, graphs: int, clip: float | None = None) -> None:
        """Likewise, down the gradient that the parameters hold already."""
        self.team.average([self.parameters.gradient], graphs)
        if clip is not None:
            nn.utils.clip_grad_norm_(self.parameters.vector, clip)
        adam(
            [self.parameters.vector],
            [self.parameters.gradient],
            [self.moments["exp_avg"]],
            [self.moments["exp_avg_sq"]],
            [],
            [self.moments["step"]],
            lr=self.lr,
            weight_decay=self.decay,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            fused=True,
            amsgrad=False,
            maximize=False,
        )

    @torch.no_grad()
    def update_mean(self, decay: float | None) -> None:
        """Moves the running mean of the parameters, when one is kept, towards what they are now."""
        if decay is None:
            return
        now = self.parameters.vector.detach()
        self.mean = now.clone() if self.mean is None else self.mean.lerp_(now, 1 - decay)

    @contextmanager
    def mean_shown(self) -> Iterator[None]:
        """The running mean, when one is kept, in the place of the parameters for a while."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        if self.mean is not None:
            now = self.parameters.vector.detach().clone()
            self.parameters.vector.copy_(self.mean)
            self.mean = now

    def set_rate(self, settings: Training, epoch: int) -> None:
        """The learning rate of this epoch: halved now and then, or falling along a cosine."""
        halvings = epoch // settings.halve_at if settings.halve_at else 0
        fall = (1 + cos(pi * epoch / settings.epochs)) / 2 if settings.cosine else 1.0
        self.lr = settings.lr * 0.5**halvings * fall


def levels(net: SubgraphNet, settings: Training, team: Alone = ALONE) -> tuple[Level, Level | None]:
    """The outer level, all of the model, and the inner one (a critic) where there is one."""
    critic = list(net.bottleneck.inner_parameters())
    known = {id(parameter) for parameter in critic}
    rest = [parameter for parameter in net.parameters() if id(parameter) not in known]
    outer = Level(rest, settings.lr, settings.weight_decay, team)
    if not critic or not net.bottleneck.inner_steps:
        return outer, None
    return outer, Level(critic, settings.inner_lr, team=team)


def _moments(net: SubgraphNet) -> list[Tensor]:
    """The running moments (of a population prior, of batch norm), which every batch moves."""
    buffers = [*net.encoder.buffers(), *net.bottleneck.buffers()]
    return [buffer for buffer in buffers if buffer.is_floating_point()]


@dataclass
class _State:
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
        if loss is not None and loss < self.history.best_loss:
            self.history.best_loss, self.history.best_epoch = loss, epoch
            if self.settings.select == "best":
                with self.outer.mean_shown():
                    weights = self.net.state_dict().items()
                    self.best = {name: value.detach().clone() for name, value in weights}

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


def _check(
    net: SubgraphNet, graphs: PackedGraphs, index: Tensor | None, val: PackedGraphs | None
) -> None:
    """Refuses at the border what would fail somewhere inside."""
    if index is not None and index.dtype == torch.bool:
        raise InputError("index must hold graph numbers, not a mask; use mask.nonzero().flatten()")
    for name, part in (("training", graphs), ("validation", val)):
        if part is None:
            continue
        if not len(part) or (part is graphs and index is not None and not len(index)):
            raise InputError(f"there are no {name} graphs")
        if part.y is None:
            raise InputError(f"the {name} graphs carry no labels")
        if net.task == "classification" and part.y.is_floating_point():
            raise InputError(f"the {name} labels must be whole numbers for classification")


def _identity(net: SubgraphNet, graphs: PackedGraphs, index: Tensor | None) -> dict[str, Any]:
    """What a checkpoint must agree with, beside the settings: the bottleneck and the data."""
    plain = {
        f"bottleneck.{name}": value
        for name, value in vars(net.bottleneck).items()
        if isinstance(value, bool | int | float | str) and name not in ("training", "rate")
    }
    weights = {f"weight.{name}": value for name, value in net.bottleneck.weights.items()}
    digest = hashlib.sha256(graphs.fingerprint().encode())
    if index is not None:
        digest.update(index.numpy().tobytes())
    return plain | weights | {"data": digest.hexdigest()}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The settings that changed; more epochs are no change, so that training can go on longer."""
    keys = sorted((old.keys() | new.keys()) - {"epochs"})
    return ", ".join(
        f"{k}={old.get(k)!r} then, {new.get(k)!r} now" for k in keys if old.get(k) != new.get(k)
    )
