"""Every error as one JSON sentence, worded as in Python; no traceback leaves the service."""

import logging
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from vgib.errors import UnknownNameError, VgibError
from vgib.serve.limits import BusyError, TooMuchError
from vgib.serve.worker import FaultError

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Makes the app answer errors in this way."""

    @app.exception_handler(VgibError)
    def refused(request: Request, error: VgibError) -> JSONResponse:
        return fault(status_of(error), type(error).__name__, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return fault(422, "InputError", sentence(error))

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: HTTPException) -> JSONResponse:
        answer = fault(error.status_code, "HTTPException", f"{error.detail}; see /docs")
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> JSONResponse:
        number = uuid4().hex[:12]
        place = None if isinstance(error, FaultError) else error  # that of a process is its text
        log.error("fault %s at %s: %s", number, request.url.path, error, exc_info=place)
        told = f"a fault of the service, not of the request; its log tells more under {number}"
        return fault(500, "Fault", told)


def status_of(error: VgibError) -> int:
    """The HTTP status of an error of ours."""
    if isinstance(error, BusyError):
        return 503
    if isinstance(error, TooMuchError):
        return 413
    return 404 if isinstance(error, UnknownNameError) else 422


def fault(status: int, kind: str, message: str) -> JSONResponse:
    """One sentence about what went wrong."""
    headers = {"retry-after": "1"} if status == 503 else None
    return JSONResponse({"error": {"kind": kind, "message": message}}, status, headers)


def sentence(error: RequestValidationError) -> str:
    """The first thing that is wrong with a request.

    >>> sentence(RequestValidationError([{"loc": ("body", "n"), "msg": "Input should be 1"}]))
    'n: input should be 1'
    """
    first = error.errors()[0]
    if first.get("type") == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error'].lower()}"
    where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    told = str(first["msg"])
    return f"{where}: {told[:1].lower()}{told[1:]}"
