"""Runs the service until it is stopped."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import torch

from vgib.errors import InputError, MissingExtraError
from vgib.serve.gate import LOCAL
from vgib.serve.limits import Limits

IDLE_SECONDS = 5
"""How long a connection may stay open without a request."""

BACKLOG = 1024
"""Connections that may wait to be accepted."""

BROWSER_DELAY = 0.8
"""Seconds until the browser is sent to a server that is about to listen."""


def run(
    models: Sequence[str | Path],
    *,
    host: str,
    port: int,
    limits: Limits,
    editor: Path | None,
    shipped: bool,
    open_page: bool,
    say: Callable[[str], None],
) -> None:
    """Loads the models, says where the page is, and answers until it is interrupted.

    Raises:
        MissingExtraError: the web framework is not installed.
        InputError: there is no model, or the address cannot be had.
    """
    try:
        import uvicorn

        from vgib.serve.api import make_app
        from vgib.serve.shelf import ModelShelf
    except ImportError as error:
        if error.name in ("fastapi", "uvicorn", "starlette"):
            raise MissingExtraError(error.name, "serve") from None
        raise
    torch.set_num_threads(1)  # a second thread slows models of this size down
    shelf = ModelShelf(models, shipped=shipped)
    is_local = host in LOCAL
    app = make_app(shelf, limits, editor=editor, hosts=LOCAL if is_local else None)
    listener = listen(host, port)
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}"
    say(f"The page: {address}")
    say(f"The API: {address}/docs")
    say(f"Models: {', '.join(shelf.names())}. Stop with Ctrl-C.")
    if not is_local:
        say("warning: others may reach this address, and nobody is asked for a password")
    if open_page:
        opening = Timer(BROWSER_DELAY, webbrowser.open, [address])
        opening.daemon = True
        opening.start()
    uvicorn.Server(configured(app, limits)).run(sockets=[listener])


def configured(app: Any, limits: Limits) -> Any:
    """How uvicorn runs the app: connections that say nothing are closed."""
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # one of two classes
        """Closes a connection whose headers do not arrive; uvicorn would wait forever."""

        _closing: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._expect_headers()

        def _expect_headers(self) -> None:
            """Starts the clock where headers are awaited, and stops it where they are there."""
            is_asked = self.cycle is not None and not self.cycle.response_complete
            if is_asked and self._closing is not None:
                self._closing.cancel()
                self._closing = None
            elif not is_asked and self._closing is None:
                self._closing = self.loop.call_later(IDLE_SECONDS, self._close)

        def _close(self) -> None:
            self._closing = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return uvicorn.Config(
        app,
        http=Impatient,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=IDLE_SECONDS,
        limit_concurrency=limits.connections,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        InputError: the address is taken or is not of this machine.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)  # at once: two that only bind may both have the port
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen at {host}:{port}: {error.strerror or error}; give another --port or "
            "--host"
        ) from None
    return listener
