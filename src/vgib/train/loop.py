"""The one training loop: read it top to bottom."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from math import ceil, isfinite
from pathlib import Path
from time import monotonic, perf_counter

import torch
from torch import Tensor

from vgib.config import Training
from vgib.data.packed import Batch, PackedGraphs
from vgib.errors import InputError, VgibError
from vgib.nn.net import SubgraphNet
from vgib.nn.vgib import NodeVGIB
from vgib.train.checkpoint import Epoch, History, Progress, identity
from vgib.train.optimizer import Level
from vgib.train.team import ALONE, Alone


class DivergedError(VgibError, ArithmeticError):
    """Training whose loss is no longer a number."""


def epochs_for(settings: Training, batches: int) -> int:
    """How often the graphs are passed over: as asked, and until there were enough steps."""
    return max(settings.epochs, ceil(settings.steps / max(1, batches)))


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

    Most bottlenecks train in one stage. One with several names for each the parameters that move;
    the next stage goes on from the selected weights of the one before.

    Args:
        net: The model; left in evaluation mode with the selected weights.
        index: The graphs to train on; all when ``None``.
        val: Graphs for model selection and early stopping; without them the last weights stay.
        checkpoint: A file to resume from when it exists, and to write as training goes on. It is
            replaced atomically: a killed process resumes to the very same weights.
        checkpoint_seconds: Least time between two writes.
        on_epoch: Called with each finished epoch, once its checkpoint is written; the network then
            has the weights of that epoch.
        on_step: Called with every term of each finished step, as tensors.
        device: Where to compute.
        team: The workers that train this model, each with its own part of the graphs; weights and
            histories are the same on all of them.
    """
    _check(net, graphs, index, val)
    net.to(device)
    own = len(graphs) if index is None else len(index)
    held_out = [] if val is None else list(val.batches(1024, device=device))
    sizes = team.batch_sizes(settings.batch_size, own)
    # The running moments (of a population prior, of batch norm), which every batch moves.
    buffers = (*net.encoder.buffers(), *net.bottleneck.buffers())
    moments = [buffer for buffer in buffers if buffer.is_floating_point()]
    enough = epochs_for(settings, len(sizes) if isinstance(sizes, list) else ceil(own / sizes))
    settings = settings.model_copy(update={"epochs": enough})
    made_of = identity(net, graphs, index, val) if checkpoint is not None else {}
    state = Progress(net, settings, made_of, team)
    seed = settings.seed + (team.rank << 32)
    with threads(settings.threads), seeded(seed, device), closing(state):
        if checkpoint is not None and checkpoint.exists():
            state.load(checkpoint)
        written = monotonic()
        for _ in state.stages_left():
            for epoch in state.epochs_left():
                started = perf_counter()
                state.start_epoch(epoch)
                sums: dict[str, Tensor] = {}
                for batch in graphs.batches(
                    sizes, index=index, generator=torch.default_generator, device=device
                ):
                    terms = train_step(net, batch, state.outer, state.inner, clip=settings.clip)
                    team.average(moments, batch.num_graphs)
                    for name, term in terms.items():
                        sums[name] = sums.get(name, 0.0) + term.detach() * batch.num_graphs
                    if on_step is not None:
                        on_step(terms)
                record = team.mean({name: float(total) / own for name, total in sums.items()}, own)
                state.update_mean()
                if val is not None and state.selects:
                    loss = validation_loss(state.shown, held_out)
                    record |= team.mean({"val_loss": loss}, len(val))
                if not all(isfinite(value) for value in record.values()):
                    raise DivergedError(
                        f"training diverged in epoch {len(state.history.epochs) + 1}: {record}; "
                        f"lower lr (now {settings.lr}), set clip=1.0, or look for NaN in features "
                        "and labels"
                    )
                record["seconds"] = perf_counter() - started
                state.finish_epoch(record)
                if checkpoint is not None and monotonic() - written >= checkpoint_seconds:
                    state.save(checkpoint)
                    written = monotonic()
                if on_epoch is not None:
                    on_epoch(state.history.epochs[-1])
        if checkpoint is not None:
            state.save(checkpoint)
        state.leave()
    net.eval()
    return state.history


def train_step(
    net: SubgraphNet,
    batch: Batch,
    outer: Level,
    inner: Level | None = None,
    *,
    clip: float | None = None,
) -> dict[str, Tensor]:
    """One step on a batch; gives every loss term, the ``loss`` and the ``kept`` share.

    The inner level of a two-level objective goes first: the critic alone, on this batch as it is
    encoded now.
    """
    assert batch.y is not None
    encoded = net.encode(batch.x, batch.adj, batch.graphs)
    encoded.target = batch.y
    if inner is not None:
        for _ in net.bottleneck.inner_gradients(encoded.detached()):
            inner.move(batch.num_graphs)
    perturbed = net.perturb(encoded)
    terms = net.terms_of(encoded, perturbed, batch.y)
    loss = net.objective(terms)
    outer.step(loss, batch.num_graphs, clip)
    kept = (perturbed.scores.detach() >= 0.5).float().mean()
    return terms | {"loss": loss, "kept": kept}


@torch.no_grad()
def validation_loss(net: SubgraphNet, batches: Iterable[Batch]) -> float:
    """What the best epoch has least of: the loss of the prediction that is used at test time.

    It has no randomness; a bottleneck may judge a stage of its training by its own ``criterion``.
    """
    net.eval()
    total, graphs = 0.0, 0
    for batch in batches:
        assert batch.y is not None
        encoded = net.encode(batch.x, batch.adj, batch.graphs)
        encoded.target = batch.y
        perturbed = net.perturb(encoded)
        loss = net.bottleneck.criterion(encoded, perturbed)
        if loss is None:
            loss = net.loss(net.read(encoded, perturbed), batch.y)
        total += float(loss) * batch.num_graphs
        graphs += batch.num_graphs
    return total / graphs


def predict(
    net: SubgraphNet,
    graphs: PackedGraphs,
    *,
    batch_size: int = 1024,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Outputs ``[num_graphs, outputs]`` in the target's units, and node scores ``[num_nodes]``."""
    outputs, scores = predict_all([net], graphs, batch_size=batch_size, device=device)
    return outputs[0], scores[0]


@torch.no_grad()
def predict_all(
    nets: Sequence[SubgraphNet],
    graphs: PackedGraphs,
    *,
    batch_size: int = 1024,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, Tensor]:
    """What several networks say: outputs and node scores as of :func:`predict`, network first."""
    for net in nets:
        net.to(device).eval()
    outputs: list[list[Tensor]] = [[] for _ in nets]
    scores: list[list[Tensor]] = [[] for _ in nets]
    with threads(1):
        for batch in graphs.batches(batch_size, device=device):
            for number, net in enumerate(nets):
                output, score = net.predict(batch.x, batch.adj, batch.graphs)
                outputs[number].append(net.rescale(output).cpu())
                scores[number].append(score.cpu())
    return torch.stack([torch.cat(o) for o in outputs]), torch.stack([torch.cat(s) for s in scores])


@torch.no_grad()
def predict_parts(
    net: SubgraphNet,
    graphs: PackedGraphs,
    part: Tensor,
    owner: Tensor | None = None,
    *,
    batch_size: int = 1024,
    device: torch.device | str = "cpu",
) -> Tensor:
    """What the part of each graph alone predicts, ``[num_graphs, outputs]``, in the target's units.

    A bottleneck that has learned from parts is asked, else the network, on the induced subgraphs.
    In both the nodes keep the features that they have in the whole graph.

    Args:
        part: The nodes that are there, ``bool [num_nodes]``.
        owner: The graph that each part is of, where there are many of some; see
            :meth:`vgib.data.packed.PackedGraphs.parts`.
        device: Where to compute.
    """
    owner = torch.arange(len(graphs)) if owner is None else owner
    bottleneck = net.bottleneck
    if not isinstance(bottleneck, NodeVGIB):
        induced = replace(graphs, ids=None).parts(owner, part)
        return predict(net, induced, batch_size=batch_size, device=device)[0]
    net.to(device).eval()
    outputs = []
    with threads(1):
        seen = []
        for batch in graphs.batches(batch_size, device=device):
            encoded = net.encode(batch.x, batch.adj, batch.graphs)
            seen.append(bottleneck.predictor.embed(encoded))
        inputs = torch.cat(seen)
        numbers = torch.arange(graphs.num_nodes).unsqueeze(1)
        parts = replace(graphs, x=numbers, cardinalities=None, ids=None).parts(owner, part)
        for batch in parts.batches(batch_size, device=device):
            x = inputs[batch.x.squeeze(1).long()]
            judged = bottleneck.predictor.open(x, batch.adj, batch.graphs)
            outputs.append(net.rescale(judged).cpu())
    return torch.cat(outputs)


@torch.no_grad()
def predict_counts(
    net: SubgraphNet,
    graphs: PackedGraphs,
    *,
    batch_size: int = 512,
    device: torch.device | str = "cpu",
) -> Tensor:
    """What counts, by a bottleneck that has learned from parts: one share a node, ``[num_nodes]``.

    See :meth:`vgib.nn.vgib.NodeVGIB.counts`.
    """
    bottleneck = net.bottleneck
    if not isinstance(bottleneck, NodeVGIB):
        raise InputError(
            "only a model that has learned from parts can say what counts; train one with the "
            "bottleneck 'vgib'"
        )
    net.to(device).eval()
    with threads(1):
        found = [
            bottleneck.counts(net.encode(batch.x, batch.adj, batch.graphs)).cpu()
            for batch in graphs.batches(batch_size, device=device)
        ]
    return torch.cat(found)


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
