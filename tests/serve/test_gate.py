"""What a request has to pass before it is read; foreign pages are in ``tests/test_hostile.py``."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.serve.support import serving

from vgib.serve.api import make_app
from vgib.serve.limits import Limits
from vgib.serve.shelf import ModelShelf


@pytest.fixture(scope="module")
def port(shelf: ModelShelf) -> Iterator[int]:
    """The port of a service that does not wait long for a body."""
    with serving(make_app(shelf, Limits(arrival=0.3, question=1000))) as found:
        yield int(urlsplit(found.url).port or 0)


def told(port: int, length: int | str, *pieces: bytes) -> tuple[int, str]:
    """The status and the message of what is answered, until the service closes the connection."""
    head = f"POST /api/v1/draw HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head.encode())
        for piece in pieces:
            connection.sendall(piece)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    status, _, content = answer.partition(b"\r\n\r\n")
    return int(status.split()[1]), json.loads(content)["error"]["message"]


def test_a_body_that_stalls_is_not_waited_for(port: int) -> None:
    status, message = told(port, 100, b'{"molecule": ')
    assert (status, message) == (
        408,
        "the request did not arrive within 0.3 seconds; send it again",
    )


def test_a_declared_length_over_the_limit_is_refused_before_the_body_comes(port: int) -> None:
    status, message = told(port, 1001)
    assert status == 413 and "1,000 bytes" in message
