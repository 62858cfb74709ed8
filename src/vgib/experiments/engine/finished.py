"""What every job gives: the result, and how long it took."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any


@dataclass(frozen=True)
class Finished:
    """What a job gives: the result, the same each time, and the seconds, which are not."""

    result: dict[str, Any]
    seconds: dict[str, float]


class Clock:
    """The seconds of a job: on the wall, and of the processor, which a busy machine changes less.

    ``cpu`` is the processor's time from loading the graphs to the end of training, validation
    included.
    """

    def __init__(self) -> None:
        self._wall, self._cpu = perf_counter(), process_time()
        self._training = 0.0

    def stop_training(self) -> None:
        """Called when training has ended."""
        self._training = process_time() - self._cpu

    def seconds(self, epochs: Sequence[float]) -> dict[str, float]:
        """Seconds of the whole ``job``, of ``training`` and its median ``epoch``, and of ``cpu``.

        Args:
            epochs: The seconds of each epoch on the wall.
        """
        return {
            "job": round(perf_counter() - self._wall, 3),
            "training": round(sum(epochs), 3),
            "epoch": round(sorted(epochs)[len(epochs) // 2], 5),
            "cpu": round(self._training, 3),
        }
