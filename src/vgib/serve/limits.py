"""How much one request may ask for, and what it is told when it asks for more."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from vgib.errors import InputError, VgibError

T = TypeVar("T")

SMILES_LENGTH = 4_000
"""Letters of one SMILES: a molecule of as many atoms as are ever accepted needs fewer."""


@dataclass(frozen=True)
class Limits:
    """What the service takes.

    Attributes:
        body: Bytes of one table; also of what a compressed file unpacks to.
        question: Bytes of any other request: enough for as many of the longest SMILES as it may
            hold, and read before ``/health`` has to wait.
        molecules: Molecules of one request.
        rows: Rows of one uploaded table.
        atoms: Heavy atoms of one molecule.
        arrival: How many seconds a request may take to arrive.
        seconds: How long a request may take; of a table, how long some rows may be computed for.
        patience: How long a learned explanation may take, or some rows of a table may wait.
        batch: Molecules that are computed in one pass.
        waiting: Requests that may wait at once for one kind of work.
        connections: Connections that may be open at once.
    """

    body: int = 8_000_000
    question: int = 2_000_000
    molecules: int = 256
    rows: int = 10_000
    atoms: int = 250
    arrival: float = 30.0
    seconds: float = 30.0
    patience: float = 180.0
    batch: int = 512
    waiting: int = 512
    connections: int = 1024

    @property
    def batch_seconds(self) -> float:
        """How long one batch may take: who was in it with a slow one can still be answered."""
        return self.seconds / 3

    def of_route(self, path: str) -> int:
        """Bytes of one request to this address."""
        return self.body if path.endswith("/table") else self.question


class TooMuchError(InputError):
    """A request that is larger than the service takes."""


class BusyError(VgibError, RuntimeError):
    """A request that cannot be answered now."""


async def within(seconds: float, answer: Awaitable[T]) -> T:
    """The answer, if it comes in time.

    Raises:
        BusyError: it did not.
    """
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise BusyError(
            f"no answer within {seconds:g} seconds; ask for less at once, or try again later"
        ) from None
