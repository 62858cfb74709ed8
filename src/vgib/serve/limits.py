"""How much one request may ask for, and what it is told when it asks for more."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from vgib.errors import InputError, VgibError

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("127.0.0.1", "localhost")
"""Names of this machine by which nobody else can reach it."""

SMILES_LENGTH = 4_000
"""Letters of one SMILES: a molecule of as many atoms as are ever accepted needs fewer."""


@dataclass(frozen=True)
class Limits:
    """What the service takes.

    Attributes:
        body: Bytes of one request.
        molecules: Molecules of one request.
        rows: Rows of one uploaded table.
        atoms: Heavy atoms of one molecule.
        seconds: How long a request may take, learned explanations and tables excepted.
        patience: How long those may take.
        batch: Molecules that are computed in one pass.
        waiting: Requests that may wait at once.
    """

    body: int = 8_000_000
    molecules: int = 256
    rows: int = 10_000
    atoms: int = 250
    seconds: float = 30.0
    patience: float = 180.0
    batch: int = 512
    waiting: int = 512


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


class BodyLimit:
    """Refuses a body that is too long before it is read any further."""

    def __init__(self, app: App, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body, and hands it on whole."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.most:
                await self._refuse(send)
                return
        is_read = False

        async def again() -> MutableMapping[str, Any]:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self.app(scope, again, send)

    async def _refuse(self, send: Send) -> None:
        message = (
            f"the request is longer than {self.most:,} bytes; send less at once, or use "
            "`vgib recognize` on the file"
        )
        content = json.dumps({"error": {"kind": "TooMuchError", "message": message}}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(content)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": content})
