"""What a request has to pass before it is read: where it comes from, how long it is, how slow."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Names of this machine by which nobody else can reach it."""


LINGERING = 2.0
"""Seconds for which more of a request that is too long is read, and thrown away."""


class OwnPage:
    """Refuses what another page in the browser asks for, or asks under another name.

    Browsers say with every request from which page it comes (``Origin``, ``Sec-Fetch-Site``), and
    no page can change that. Programs such as curl say nothing, and are let through. A link on
    another page may lead to this one, since that shows its owner nothing.

    Args:
        app: What comes after.
        hosts: Names under which the service may be reached; ``None`` for any.
    """

    def __init__(self, app: App, hosts: Collection[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, or says why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        host = told.get("host", "")
        if self.hosts is not None and _name(f"//{host}") not in self.hosts:
            told_host = f"this service is not called {host[:100]!r}; use {', '.join(self.hosts)}"
            await refuse(send, 400, "ForeignHost", told_host, receive)
        elif _is_foreign(told, host, scope["method"]):
            why = "a page of another address asks; this service answers its own page and programs"
            await refuse(send, 403, "ForeignPage", why, receive)
        else:
            await self.app(scope, receive, send)


def _is_foreign(told: dict[str, str], host: str, method: str) -> bool:
    if "origin" in told and urlsplit(told["origin"]).netloc != host:
        return True
    is_link = method == "GET" and told.get("sec-fetch-mode") == "navigate"
    return told.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


class BodyLimit:
    """Reads the body, and hands it on whole; refuses what is too long before it is read.

    When the client goes away, what is under way for it is canceled.

    Args:
        app: What comes after.
        most: Bytes of a body, for the path of a request.
        seconds: How long a body may take to arrive.
    """

    def __init__(self, app: App, most: Callable[[str], int], seconds: float) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on, or says why not."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        most = self.most(scope["path"])
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        try:
            async with asyncio.timeout(self.seconds):
                body = None if int(declared) > most else await _body(receive, most)
        except TimeoutError:
            why = f"the request did not arrive within {self.seconds:g} seconds; send it again"
            await refuse(send, 408, "TooSlow", why)
            return
        except ConnectionError:
            return
        if body is None:
            why = f"the request is longer than {most:,} bytes; send less at once, or use "
            await refuse(send, 413, "TooMuchError", f"{why}`vgib recognize` on the file", receive)
            return
        await self._while_there(scope, body, receive, send)

    async def _while_there(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        is_read = is_answered = False

        async def again() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def answer(message: Message) -> None:
            nonlocal is_answered
            is_answered = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        work, leaving = asyncio.ensure_future(self.app(scope, again, answer)), None
        try:
            leaving = asyncio.ensure_future(gone())
            await asyncio.wait([work, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not is_answered:
                work.cancel()
            with suppress(asyncio.CancelledError):
                await work
        finally:
            work.cancel()
            if leaving is not None:
                leaving.cancel()


async def _body(receive: Receive, most: int | None) -> bytes | None:
    """The whole body; ``None`` where it is longer than this, or is not wanted."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        more = message.get("more_body", False)
        if most is not None:
            body += message.get("body", b"")
            if len(body) > most:
                return None
    return None if most is None else bytes(body)


async def refuse(
    send: Send, status: int, kind: str, message: str, receive: Receive | None = None
) -> None:
    """Answers with one sentence, and closes the connection.

    What still comes of ``receive`` is thrown away for a moment: a client that is cut off while it
    sends does not look for an answer.
    """
    content = json.dumps({"error": {"kind": kind, "message": message}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": True})
    if receive is not None:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(LINGERING):
                await _body(receive, None)
    await send({"type": "http.response.body", "body": b""})
