"""The page itself, the documentation of the API, and the drawing editor: local files only."""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from vgib.serve.gate import App, Receive, Scope, Send

PAGE = Path(__file__).parent / "page"
EDITOR = "/editor"

STRICT = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
# The editor writes scripts into frames of its own, in which it is alone.
LENIENT = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


def install(app: FastAPI, editor: Path | None) -> None:
    """Adds the page to the app."""

    @app.get("/", include_in_schema=False)
    def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html")

    if editor is not None:

        @app.get(EDITOR, include_in_schema=False)
        def board() -> FileResponse:
            return FileResponse(PAGE / "editor.html")

        app.mount(f"{EDITOR}/jsme", StaticFiles(directory=editor), name="editor")
    app.mount("/page", StaticFiles(directory=PAGE), name="page")


class Headers:
    """Tells browsers to load nothing from elsewhere, and to believe the types of files."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the headers to every answer."""
        path = str(scope.get("path", ""))
        policy = LENIENT if path.startswith(EDITOR) else STRICT
        # The files of the page may change with the package; the editor's and the icon do not.
        is_lasting = path.endswith(".svg") or path.startswith(f"{EDITOR}/")
        keep = b"max-age=86400" if is_lasting else b"no-cache"

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    (b"content-security-policy", policy.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", keep),
                ]
            await send(message)

        await self.app(scope, receive, with_headers)
