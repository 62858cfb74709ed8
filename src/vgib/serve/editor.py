"""The drawing board of the page: JSME, fetched once with npm and kept in the cache folder.

B. Bienfait, P. Ertl, "JSME: a free molecule editor in JavaScript", J. Cheminformatics 5:24 (2013);
BSD license.
"""

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from vgib.data.sources import cache_folder
from vgib.errors import DownloadError

PACKAGE, VERSION = "jsme-editor", "0.8.2"
INTEGRITY = (
    "sha512-"
    "qjPe2CsxWmDlW6brK41e2hsRdFTui8rJwOgk2GkSYTK0l+EljmmC9znp46IqRxOBQWPqJZCPo/MefOJmzeIUOQ=="
)
SCRIPT = "jsme.nocache.js"
SECONDS = 120


def editor_folder(cache: str | Path | None = None) -> Path:
    """Where the editor is kept, whether it is there or not."""
    return cache_folder(cache) / f"{PACKAGE}-{VERSION}"


def is_fetched(cache: str | Path | None = None) -> bool:
    """Whether the page can offer it."""
    return (editor_folder(cache) / SCRIPT).is_file()


def fetch_editor(cache: str | Path | None = None, *, npm: str = "npm") -> Path:
    """Fetches the editor with ``npm pack``, checks it, and unpacks it; once.

    Raises:
        DownloadError: npm is missing or fails, or the file is not the one that is expected.
    """
    folder = editor_folder(cache)
    if is_fetched(cache):
        return folder
    if shutil.which(npm) is None:
        raise DownloadError(
            f"the drawing editor is fetched with {npm}, which is not installed; the page takes "
            "pasted SMILES without it"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        archive = _packed(Path(place), npm)
        _check(archive)
        with tarfile.open(archive) as files:
            files.extractall(place, filter="data")
        if not is_fetched(cache):
            Path(place, "package").rename(folder)
    return folder


def _packed(place: Path, npm: str) -> Path:
    command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", str(place)]
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DownloadError(f"npm pack {PACKAGE} took more than {SECONDS} seconds") from None
    found = sorted(place.glob("*.tgz"))
    if done.returncode != 0 or not found:
        why = (done.stderr.strip().splitlines() or ["no archive"])[-1]
        raise DownloadError(f"npm pack {PACKAGE}@{VERSION} failed: {why}")
    return found[0]


def _check(archive: Path) -> None:
    came = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{came}" != INTEGRITY:
        raise DownloadError(
            f"{PACKAGE}@{VERSION} is not the file that is expected: its hash is sha512-{came}; "
            "it was not unpacked"
        )
