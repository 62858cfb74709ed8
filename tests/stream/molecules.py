"""Molecules, a small model and slow work, for the tests of bulk runs."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from vgib.model.recognizer import SubgraphRecognizer
from vgib.stream.schema import Recognized
from vgib.stream.work import Recognize

CORES = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCOC1", "c1ccc2ccccc2c1")
HEADS = ("O", "N", "C", "Cl", "OC(=O)", "N#C", "CC", "CO", "NS(=O)(=O)", "F")


def smiles(count: int) -> list[str]:
    """Different molecules."""
    return [f"{HEADS[i % 10]}{'C' * (1 + i // 50)}{CORES[i // 10 % 5]}" for i in range(count)]


def small_model(folder: Path) -> Path:
    """A model that is trained for a moment, saved."""
    some = smiles(60)
    model = SubgraphRecognizer("gcn", epochs=1, hidden=8, depth=2, seed=0)
    model.fit(some, [float(len(text)) for text in some], val=(some[:10], [1.0] * 10))
    return model.save(folder / "model")


@dataclass(frozen=True)
class Slow:
    """The work, at a pace that leaves time to interfere; it says where it is done."""

    work: Recognize
    told: Path
    seconds: float = 0.3

    def __call__(self, chunk: pa.Table) -> Recognized:
        if len(chunk):
            line = chunk["line"][0].as_py()
            (self.told / f"{line}-{os.getpid()}-{time.monotonic_ns()}").touch()
            time.sleep(self.seconds)
        return self.work(chunk)


@dataclass(frozen=True)
class Deadly(Recognize):
    """Work with two molecules in it that no program survives: one raises, one kills."""

    def _recognized(self, chunk: pa.Table) -> Recognized:
        for name in chunk["id"].to_pylist():
            if name == "raises":
                raise RuntimeError("out of patience")
            if name == "kills":
                os.kill(os.getpid(), signal.SIGKILL)
        return super()._recognized(chunk)
