"""The page, the documentation and the editor: local files, and nothing from elsewhere."""

import re
from pathlib import Path

import httpx
import pytest
from tests.serve.support import serving

from vgib.serve.api import make_app
from vgib.serve.shelf import ModelShelf
from vgib.serve.site import PAGE

FILES = sorted(path.name for path in PAGE.iterdir())


@pytest.mark.parametrize(
    ("path", "told"), [("/", "Molecule: SMILES, InChI"), ("/docs", "vgib API")]
)
def test_pages_are_served(client: httpx.Client, path: str, told: str) -> None:
    answer = client.get(path)
    assert answer.headers["content-type"].startswith("text/html")
    assert told in answer.text


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_the_page_is_served(client: httpx.Client, name: str) -> None:
    assert client.get(f"/page/{name}").content == (PAGE / name).read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_no_file_loads_anything_from_elsewhere(name: str) -> None:
    text = (PAGE / name).read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'`<)]+", text)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith((".html", ".js"))])
def test_every_file_that_is_named_is_there(name: str) -> None:
    text = (PAGE / name).read_text(encoding="utf-8")
    assert {*re.findall(r"/page/([\w.]+)", text)} <= set(FILES)


def test_every_answer_forbids_what_comes_from_elsewhere(client: httpx.Client) -> None:
    for path in ("/", "/docs", "/page/app.js", "/api/v1/health"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_without_the_editor_there_is_no_board(client: httpx.Client) -> None:
    assert client.get("/editor").status_code == 404
    assert client.get("/api/v1/health").json()["editor"] is False


def test_the_editor_is_served_from_its_folder(shelf: ModelShelf, tmp_path: Path) -> None:
    (tmp_path / "jsme.nocache.js").write_text("// the editor", encoding="utf-8")
    with (
        serving(make_app(shelf, editor=tmp_path)) as found,
        httpx.Client(base_url=found.url) as client,
    ):
        assert client.get("/api/v1/health").json()["editor"] is True
        assert "jsme" in client.get("/editor").text
        script = client.get("/editor/jsme/jsme.nocache.js")
        assert script.text == "// the editor"
        assert "unsafe-eval" in script.headers["content-security-policy"]
        assert client.get("/editor/jsme/../../etc/passwd").status_code == 404


def test_files_outside_the_page_are_not_served(client: httpx.Client) -> None:
    assert client.get("/page/../api.py").status_code == 404
    assert client.get("/page/%2e%2e/api.py").status_code == 404
