"""The drawing editor, fetched with npm; here with one that stands in for it."""

import base64
import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vgib.errors import DownloadError
from vgib.serve import editor
from vgib.serve.editor import SCRIPT, editor_folder, fetch_editor, is_fetched

Npm = Callable[[bytes], str]


def archive(name: str = f"package/{SCRIPT}") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as files:
        about = tarfile.TarInfo(name)
        about.size = 2
        files.addfile(about, io.BytesIO(b"//"))
    return packed.getvalue()


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """Makes a command that packs what it is told, of which the hash is expected."""

    def make(content: bytes) -> str:
        (tmp_path / "content").write_bytes(content)
        script = tmp_path / "npm"
        script.write_text(f'#!/bin/sh\ncp "{tmp_path}/content" jsme.tgz\n', encoding="utf-8")
        script.chmod(0o755)
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        monkeypatch.setattr(editor, "INTEGRITY", f"sha512-{digest}")
        return str(script)

    return make


def test_the_editor_is_fetched_once(npm: Npm, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    command = npm(archive())
    assert not is_fetched(cache)
    assert fetch_editor(cache, npm=command) == editor_folder(cache)
    assert is_fetched(cache)
    assert fetch_editor(cache, npm="no-such-npm") == editor_folder(cache)
    assert [path.name for path in cache.iterdir()] == [editor_folder(cache).name]


def test_another_file_is_not_unpacked(
    npm: Npm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = npm(archive())
    monkeypatch.setattr(editor, "INTEGRITY", "sha512-of-something-else")
    with pytest.raises(DownloadError, match="not the file that is expected"):
        fetch_editor(tmp_path / "cache", npm=command)
    assert not list((tmp_path / "cache").iterdir())


def test_a_file_that_reaches_outside_is_not_unpacked(npm: Npm, tmp_path: Path) -> None:
    with pytest.raises((DownloadError, tarfile.TarError)):
        fetch_editor(tmp_path / "cache", npm=npm(archive("../../outside.js")))
    assert not (tmp_path / "outside.js").exists()


def test_without_npm_the_page_is_said_to_work_with_smiles(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="takes pasted SMILES without it"):
        fetch_editor(tmp_path, npm="no-such-npm")


def test_a_failure_of_npm_is_told(tmp_path: Path) -> None:
    script = tmp_path / "npm"
    script.write_text("#!/bin/sh\necho 'npm error: no network' >&2\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    with pytest.raises(DownloadError, match="no network"):
        fetch_editor(tmp_path / "cache", npm=str(script))


@pytest.mark.network
def test_the_pinned_editor_is_what_npm_gives(tmp_path: Path) -> None:
    assert (fetch_editor(tmp_path) / SCRIPT).is_file()
