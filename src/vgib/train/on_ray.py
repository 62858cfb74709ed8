"""One model trained by several workers of a cluster: the loop of ``vgib train --engine ray``."""

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import torch
from torch import Tensor

from vgib.config import Training
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError, VgibError
from vgib.nn.net import SubgraphNet
from vgib.train.checkpoint import Epoch, History, restore
from vgib.train.cluster import connected
from vgib.train.loop import train
from vgib.train.team import ALONE, Group

log = logging.getLogger(__name__)


class RayTraining:
    """Trains as :func:`vgib.train.loop.train` does, and is called in the same way.

    Each worker holds its own part of the packed graphs and takes its share of every batch; the
    gradients are averaged by torch's process group (gloo, nccl on GPUs), so that all have the same
    weights after each step; see :mod:`vgib.train.team`. One worker takes the very steps of the
    local loop. After each epoch every worker's state goes to the checkpoint. When a worker or its
    node is lost, Ray Train starts the workers again from there, to the same weights as if nothing
    had happened; started again after a crash of the whole run, it goes on in the same way.

    Args:
        workers: Processes, each with one core (and one GPU when the device is one).
        address: The cluster's; see :func:`~vgib.train.cluster.connected`.
        failures: How often lost workers are replaced before the run is given up.
    """

    def __init__(self, workers: int, address: str | None = None, *, failures: int = 3) -> None:
        if workers < 1:
            raise InputError(f"workers must be at least 1; got {workers}")
        self.workers = workers
        self.address = address
        self.failures = failures

    def __call__(
        self,
        net: SubgraphNet,
        graphs: PackedGraphs,
        *,
        index: Tensor | None = None,
        val: PackedGraphs | None = None,
        settings: Training,
        checkpoint: Path | None,
        on_epoch: Callable[[Epoch], None] | None = None,
        on_step: None = None,
        device: torch.device | str = "cpu",
    ) -> History:
        """Trains in place and gives the history.

        Args:
            net: As for :func:`vgib.train.loop.train`; so are all others but two.
            checkpoint: A folder that every machine of the cluster sees under this path.
            on_step: Must be ``None``: single steps are not told across machines.
        """
        if on_step is not None:
            raise InputError("on_step is not called from a cluster; use on_epoch")
        if checkpoint is None:
            raise InputError("training on Ray needs a checkpoint: a folder that all machines see")
        folder = checkpoint.resolve()
        seed = settings.seed
        self._shard(graphs if index is None else graphs[index], folder, "training", seed)
        self._shard(val, folder, "validation", seed)
        with connected(self.address, cores=self.workers):
            state = self._run(net, settings, folder, on_epoch, torch.device(device))
        with state.as_directory() as found:
            history = restore(net, Path(found) / _state_name(0))
        for path in folder.glob("*-*.graphs"):
            path.unlink()
        return history

    def _shard(self, graphs: PackedGraphs | None, folder: Path, name: str, seed: int) -> None:
        """A file for each worker, which it maps into its memory.

        Dealt out at random: in files where classes alternate, each worker would else have one.
        """
        if graphs is None:
            return
        if len(graphs) < self.workers:
            raise InputError(
                f"{len(graphs)} {name} graphs are too few for {self.workers} workers; use fewer"
            )
        order = torch.arange(len(graphs))
        if self.workers > 1:
            draws = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(graphs), generator=draws)
        for rank in range(self.workers):
            graphs[order[rank :: self.workers]].save(_shard_path(folder, name, rank))

    def _run(
        self,
        net: SubgraphNet,
        settings: Training,
        folder: Path,
        on_epoch: Callable[[Epoch], None] | None,
        device: torch.device,
    ) -> Any:
        """The last checkpoint of the finished run."""
        from ray import train as ray_train
        from ray.train.torch import TorchTrainer
        from ray.util.queue import Queue

        queue = Queue(actor_options={"num_cpus": 0})
        trainer = TorchTrainer(
            _work,
            train_loop_config={"net": net, "settings": settings, "folder": folder, "queue": queue},
            scaling_config=ray_train.ScalingConfig(
                num_workers=self.workers, use_gpu=device.type == "cuda"
            ),
            run_config=ray_train.RunConfig(
                name="run",
                storage_path=str(folder),
                failure_config=ray_train.FailureConfig(max_failures=self.failures),
                checkpoint_config=ray_train.CheckpointConfig(num_to_keep=2),
            ),
        )
        refused: list[VgibError] = []
        try:
            with _messages(queue, on_epoch, refused):
                result = trainer.fit()
        except ray_train.v2.api.exceptions.TrainingFailedError as error:
            raise VgibError(f"the cluster gave the training up: {error}") from error
        finally:
            queue.shutdown(force=True)
        if refused:
            raise refused[0]
        return result.checkpoint


def _shard_path(folder: Path, name: str, rank: int) -> Path:
    return folder / f"{name}-{rank}.graphs"


def _state_name(rank: int) -> str:
    return f"worker-{rank}.safetensors"


def _work(config: dict[str, Any]) -> None:
    """The life of a worker; what it refuses goes to the driver, since it would happen again."""
    try:
        _train(**config)
    except VgibError as error:
        config["queue"].put(error)


def _train(net: SubgraphNet, settings: Training, folder: Path, queue: Any) -> None:
    from ray import train as ray_train
    from ray.train.torch import get_device

    context = ray_train.get_context()
    rank, size, device = context.get_world_rank(), context.get_world_size(), get_device()
    held_out = _shard_path(folder, "validation", rank)
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch) / _state_name(rank)
        if (last := ray_train.get_checkpoint()) is not None:
            _take(last, state, size)

        def on_epoch(epoch: Epoch) -> None:
            here = ray_train.Checkpoint.from_directory(scratch)
            ray_train.report(epoch, checkpoint=here)
            if rank == 0:
                queue.put(epoch)

        train(
            net,
            PackedGraphs.load(_shard_path(folder, "training", rank)),
            val=PackedGraphs.load(held_out) if held_out.exists() else None,
            settings=settings,
            checkpoint=state,
            checkpoint_seconds=0,
            on_epoch=on_epoch,
            device=device,
            team=Group(device) if size > 1 else ALONE,
        )


def _take(checkpoint: Any, state: Path, size: int) -> None:
    """This worker's own part of a checkpoint, into which all workers have put theirs."""
    with checkpoint.as_directory() as found:
        files = sorted(path.name for path in Path(found).glob("worker-*.safetensors"))
        if files != sorted(map(_state_name, range(size))):
            raise InputError(
                f"the checkpoint was made by {len(files)} workers; use as many, not {size}, or "
                "delete it to start again"
            )
        shutil.copy(Path(found) / state.name, state)


@contextmanager
def _messages(
    queue: Any, on_epoch: Callable[[Epoch], None] | None, refused: list[VgibError]
) -> Iterator[None]:
    """Hands on what the workers tell while the block waits for them."""

    def listen() -> None:
        while (message := queue.get()) is not None:
            if isinstance(message, VgibError):
                refused.append(message)
            elif on_epoch is not None:
                on_epoch(message)

    listener = Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        queue.put(None)
        listener.join()
