"""What the tests of the service share."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn

from vgib.serve.limits import Limits
from vgib.serve.server import configured, listen

PARACETAMOL = "CC(=O)Nc1ccc(O)cc1"
IMATINIB = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"


class Serving(NamedTuple):
    """A running service."""

    url: str
    server: uvicorn.Server


@contextmanager
def serving(app: Any) -> Iterator[Serving]:
    """An app behind a socket of this machine, until the block ends."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(configured(app, Limits()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Serving(f"http://127.0.0.1:{listener.getsockname()[1]}", server)
    finally:
        server.should_exit = True
        thread.join(60)
