"""Every error as one JSON sentence; no traceback leaves the service."""

import logging

import httpx
import pytest
from tests.serve.support import serving

from vgib.errors import InputError, NotFittedError, UnknownNameError
from vgib.serve import api
from vgib.serve.faults import status_of
from vgib.serve.limits import BusyError, TooMuchError
from vgib.serve.shelf import ModelShelf


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("bad"), 422),
        (NotFittedError("not trained"), 422),
        (UnknownNameError("nobody"), 404),
        (TooMuchError("much"), 413),
        (BusyError("busy"), 503),
    ],
    ids=lambda value: str(value),
)
def test_every_error_of_ours_has_its_status(error: InputError, status: int) -> None:
    assert status_of(error) == status


def test_an_unknown_address_is_answered_in_the_same_form(client: httpx.Client) -> None:
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "Not Found; see /docs"
    assert client.get("/api/v1/recognize").status_code == 405


class Broken:
    """A task that fails in the process that does it."""

    def __call__(self, desk: object) -> None:
        raise RuntimeError("a secret of the machine")


def test_a_fault_of_ours_is_told_by_a_number_and_logged(
    shelf: ModelShelf, caplog: pytest.LogCaptureFixture
) -> None:
    app = api.make_app(shelf)

    @app.post("/broken")
    async def broken() -> object:
        return await app.state.service.one.ask(Broken())

    with (
        caplog.at_level(logging.ERROR, logger="vgib.serve.faults"),
        serving(app) as found,
        httpx.Client(base_url=found.url, timeout=60) as client,
    ):
        answer = client.post("/broken")
    assert answer.status_code == 500
    told = answer.json()["error"]["message"]
    assert "secret" not in answer.text and "Traceback" not in answer.text
    assert told.split()[-1] in caplog.text
    assert "a secret of the machine" in caplog.text and "in __call__" in caplog.text
