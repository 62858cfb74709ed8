"""Downloads from a local server that truncates, dies, refuses and recovers; and checksums."""

import errno
import hashlib
import http.server
import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vgib.data import download as module
from vgib.data.download import (
    check_mirror_file,
    download,
    remember_hash,
    remembered_hash,
    sha256,
)
from vgib.errors import DownloadError, UnwritableError

BODY = bytes(range(256)) * 2000


class Server(http.server.ThreadingHTTPServer):
    """Serves ``BODY``, misbehaving by the next item of ``script`` until that is empty."""

    script: list[str]
    ranges: list[str | None]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data/file.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.ranges.append(self.headers["Range"])
        act = self.server.script.pop(0) if self.server.script else "whole"
        if act.isdigit():
            self.send_error(int(act))
            return
        start = int((self.headers["Range"] or "bytes=0-")[6:-1])
        if act in ("no ranges", "no ranges, half"):
            start = 0
        body = BODY[start:]
        self.send_response(206 if start else 200)
        if start:
            first = start + 1 if act == "wrong range" else start
            self.send_header("Content-Range", f"bytes {first}-{len(BODY) - 1}/{len(BODY)}")
        if act != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if act.endswith("half") else body)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.script, running.ranges = [], []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def fetched(server: Server, folder: Path, *script: str) -> bytes:
    server.script = list(script)
    download(server.url, folder / "file", progress=False, pause=0.001)
    return (folder / "file").read_bytes()


def test_a_file_arrives_whole(server: Server, tmp_path: Path) -> None:
    assert fetched(server, tmp_path) == BODY
    assert server.ranges == [None]
    assert fetched(server, tmp_path, "no length") == BODY


def test_a_connection_that_dies_is_resumed_where_it_broke(server: Server, tmp_path: Path) -> None:
    assert fetched(server, tmp_path, "half", "half", "whole") == BODY
    half = len(BODY) // 2
    assert server.ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


@pytest.mark.parametrize("second", ["no ranges", "wrong range", "416", "500", "429"])
def test_whatever_the_server_makes_of_the_range_the_file_is_right(
    server: Server, tmp_path: Path, second: str
) -> None:
    assert fetched(server, tmp_path, "half", second) == BODY


def test_a_body_that_is_always_short_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"file\.bin could not be fetched.*of 512000 bytes"):
        fetched(server, tmp_path, *["no ranges, half"] * 5)


def test_a_refusal_is_final_and_names_the_address(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"file\.bin answered 404 .*mirror"):
        fetched(server, tmp_path, "404")
    assert len(server.ranges) == 1


def test_nobody_listening_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="check the connection"):
        download("http://127.0.0.1:1/x", tmp_path / "x", progress=False, pause=0.001)


def test_pauses_double(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    fetched(server, tmp_path, "503", "503", "503")
    assert pauses == [0.001, 0.002, 0.004]


def test_a_full_disk_is_told_at_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda *_: Full())
    with pytest.raises(UnwritableError, match=r"cannot write .*No space left.*free some space"):
        fetched(server, tmp_path)
    assert len(server.ranges) == 1


def test_the_progress_bar_shows_on_a_terminal_only(
    server: Server,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    download(server.url, tmp_path / "file")
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    download(server.url, tmp_path / "file")
    assert "file.bin" in capfd.readouterr().err


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


def test_hashes_are_remembered_side_by_side(tmp_path: Path) -> None:
    assert remembered_hash(tmp_path, "a") is None
    remember_hash(tmp_path, "a", "1")
    remember_hash(tmp_path, "b/c", "2")
    assert (remembered_hash(tmp_path, "a"), remembered_hash(tmp_path, "b/c")) == ("1", "2")
    assert [path.name for path in tmp_path.iterdir()] == ["hashes.json"]
    (tmp_path / "hashes.json").write_text("{")
    with pytest.raises(DownloadError, match=r"hashes\.json is damaged; delete it"):
        remembered_hash(tmp_path, "a")


def test_the_checksum_is_that_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x").startswith("ba7816bf8f01cfea414140de5dae2223b00361a3")
