"""What an oracle is: SMILES in, numbers out, NaN for what it cannot judge; and the card it carries.

Any callable of that shape serves as an oracle. Those of this package share the base class below,
which remembers what it was asked before.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vgib.data.files import write_text
from vgib.errors import FileFormatError
from vgib.metrics import Estimate

CHUNK = 4096
"""Molecules that are described at a time, so that memory does not grow with the list."""

REMEMBERED = 200_000
"""Molecules whose value an oracle keeps by default: some 30 MB."""


class Quality(BaseModel):
    """A number on molecules that were not trained on, its 95 % interval, and the trivial number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    low: float
    high: float
    n: int
    trivial: float | None = Field(default=None, description="What the trivial predictor reaches.")

    @classmethod
    def of(cls, estimate: Estimate, trivial: float | None = None) -> "Quality":
        """The quality that an estimate tells, rounded to the digits that its interval supports."""
        value, low, high = (round(x, 4) for x in (estimate.value, estimate.low, estimate.high))
        short = None if trivial is None else round(trivial, 4)
        return cls(value=value, low=low, high=high, n=estimate.n, trivial=short)


class OracleCard(BaseModel):
    """What a user must know before believing an oracle."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    card_version: int = 1
    name: str
    about: str
    unit: str
    headline: str = Field(default="", description="The name of the quality to look at first.")
    method: str
    data: dict[str, int] = Field(description="Datasets of the catalog, and rows used of each.")
    split: str = Field(description="Which molecules were held out, and how they were chosen.")
    quality: dict[str, Quality]
    trivial: str = Field(description="The trivial predictor that stands beside each quality.")
    domain: str = Field(description="For which molecules the number means something.")
    license: str
    command: str = Field(description="What makes the file again; empty when nothing is learned.")
    settings: dict[str, Any] = Field(default_factory=dict)
    weights_sha256: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes the card as JSON."""
        write_text(path, self.model_dump_json(indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> "OracleCard":
        """Reads a card that :meth:`write` wrote."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no oracle card"
            raise FileFormatError(
                f"cannot read the card {str(path)!r}: {reason}; install vgib again, or train the "
                "oracle with `vgib oracles train`"
            ) from error


class Oracle(ABC):
    """A property of molecules: ``oracle(smiles)`` gives one ``float64`` for each.

    Args:
        remembered: for how many molecules, the last ones asked for, the value is kept.
    """

    def __init__(self, card: OracleCard, *, remembered: int = REMEMBERED) -> None:
        self.card = card
        self.remembered = remembered
        self._values: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The public name of the oracle."""
        return self.card.name

    @abstractmethod
    def judge(self, smiles: Sequence[str]) -> npt.NDArray[np.float64]:
        """The values of distinct texts, computed anew; NaN for what cannot be judged."""

    def __call__(self, smiles: Sequence[str]) -> npt.NDArray[np.float64]:
        """The value of each molecule, in order; NaN for what cannot be judged."""
        texts = [text if isinstance(text, str) else "" for text in smiles]
        with self._lock:
            known = {text: self._values[text] for text in texts if text in self._values}
        missing = list(dict.fromkeys(text for text in texts if text not in known))
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            known |= zip(part, self.judge(part).tolist(), strict=True)
        with self._lock:
            for text in texts[-self.remembered :] if self.remembered else ():
                self._values[text] = known[text]
                self._values.move_to_end(text)
            while len(self._values) > self.remembered:
                self._values.popitem(last=False)
        return np.array([known[text] for text in texts], dtype=np.float64)

    def __repr__(self) -> str:
        return f"<oracle {self.name}: {self.card.about}>"
