"""Downloads from a local server that truncates, dies, refuses and recovers; and checksums."""

import errno
import hashlib
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pooch
import pytest

from vgib.data.download import check_mirror_file, download, sha256
from vgib.errors import DownloadError, UnwritableError

BODY = bytes(range(256)) * 2000


class Server(http.server.ThreadingHTTPServer):
    """Serves ``BODY``, misbehaving by the next item of ``script`` until that is empty."""

    script: list[str]
    asked: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data/file.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked += 1
        act = self.server.script.pop(0) if self.server.script else "whole"
        if act.isdigit():
            self.send_error(int(act))
            return
        self.send_response(200)
        if act != "no length":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[: len(BODY) // 2] if act == "half" else BODY)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No proxy, and no waiting between attempts; the pauses that there would have been."""
    found: list[float] = []
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(pooch.core.time, "sleep", found.append)
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.script, running.asked = [], 0
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def fetched(server: Server, folder: Path, *script: str, known: str | None = None) -> bytes:
    server.script = list(script)
    download(server.url, folder / "file", known=known, progress=False)
    return (folder / "file").read_bytes()


def test_a_file_arrives_whole_and_replaces_what_was_there(server: Server, tmp_path: Path) -> None:
    assert fetched(server, tmp_path) == BODY
    (tmp_path / "file").write_bytes(b"old")
    assert fetched(server, tmp_path, "no length") == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("trouble", ["half", "408", "425", "429", "500", "502", "503", "504"])
def test_what_may_pass_is_tried_again_after_growing_pauses(
    server: Server, tmp_path: Path, trouble: str, pauses: list[float]
) -> None:
    assert fetched(server, tmp_path, trouble, trouble, trouble) == BODY
    assert server.asked == 4
    assert len(pauses) == 3 and pauses == sorted(set(pauses))


def test_a_body_that_is_always_short_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"file\.bin could not be fetched in 5 .*mirror"):
        fetched(server, tmp_path, *["half"] * 5)
    assert not list(tmp_path.iterdir())


def test_a_file_with_another_checksum_than_the_pinned_one_is_refused(
    server: Server, tmp_path: Path
) -> None:
    value = hashlib.sha256(BODY).hexdigest()
    assert fetched(server, tmp_path, known=value) == BODY
    with pytest.raises(DownloadError, match=f"file.bin could not .*{'0' * 64}.*{value}.*mirror"):
        fetched(server, tmp_path, known="0" * 64)
    assert not list(tmp_path.iterdir())


def test_a_refusal_is_final_and_names_the_address(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"file\.bin answered 404 .*mirror"):
        fetched(server, tmp_path, "404")
    assert server.asked == 1


def test_nobody_listening_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="check the connection"):
        download("http://127.0.0.1:1/x", tmp_path / "x", progress=False)


def test_a_full_disk_is_told_at_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pooch.core.shutil, "move", full)
    with pytest.raises(UnwritableError, match=r"cannot write .*No space left.*free some space"):
        fetched(server, tmp_path)
    assert server.asked == 1


def test_the_progress_bar_shows_on_a_terminal_only(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    download(server.url, tmp_path / "file")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    download(server.url, tmp_path / "file")
    assert "512k/512k" in capsys.readouterr().err


def make_mirror(folder: Path, line: str) -> Path:
    (folder / "tu").mkdir()
    (folder / "tu/a.zip").write_bytes(BODY)
    (folder / "SHA256SUMS").write_text(line)
    return folder


@pytest.mark.parametrize("form", ["{}  tu/a.zip\n", "{} *tu/a.zip\n", "\n{}  ./tu/a.zip"])
def test_a_mirror_file_with_its_checksum_is_trusted(tmp_path: Path, form: str) -> None:
    value = hashlib.sha256(BODY).hexdigest()
    assert check_mirror_file(make_mirror(tmp_path, form.format(value)), "tu/a.zip") == value


def test_a_mirror_file_with_another_checksum_is_refused_with_both(tmp_path: Path) -> None:
    make_mirror(tmp_path, f"{'0' * 64}  tu/a.zip\n")
    with pytest.raises(
        DownloadError, match=f"{hashlib.sha256(BODY).hexdigest()}.*{'0' * 64}.*copy"
    ):
        check_mirror_file(tmp_path, "tu/a.zip")


def test_a_mirror_file_without_a_checksum_is_refused(tmp_path: Path) -> None:
    make_mirror(tmp_path, f"{'0' * 64}  other\n")
    with pytest.raises(DownloadError, match=r"not listed.*sha256sum tu/a\.zip >> SHA256SUMS"):
        check_mirror_file(tmp_path, "tu/a.zip")
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(DownloadError, match="not listed"):
        check_mirror_file(tmp_path, "tu/a.zip")


def test_the_checksum_is_that_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x").startswith("ba7816bf8f01cfea414140de5dae2223b00361a3")
