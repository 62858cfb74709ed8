"""Public files over HTTP, whole or not at all, and the checksums that keep them honest."""

import hashlib
import http.client
import json
import logging
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from vgib.data.files import replacing, unwritable
from vgib.errors import DownloadError, UnwritableError

ATTEMPTS = 5
FIRST_PAUSE = 0.5
"""Seconds before the second attempt; doubled before each further one."""
TIMEOUT = 30.0
CHUNK = 1 << 16
SUMS = "SHA256SUMS"
HASHES = "hashes.json"

# What may pass when tried again: a server or a line in trouble, not a refusal and not our own disk.
PASSING_STATUS = (408, 416, 425, 429, 500, 502, 503, 504)
PASSING = (
    urllib.error.URLError,
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
    ssl.SSLError,
)

logger = logging.getLogger(__name__)


def download(url: str, target: Path, *, progress: bool = True, pause: float = FIRST_PAUSE) -> None:
    """Fetches ``url`` into the file ``target``, which is overwritten.

    A broken connection is tried again, from where it broke when the server allows, and the length
    that the server announced is checked.

    Raises:
        DownloadError: the address refuses, keeps failing, or the file cannot be written.
    """
    failure: Exception | None = None
    try:
        with target.open("wb") as file, _bar(url, progress) as advance:
            for attempt in range(ATTEMPTS):
                if failure is not None:
                    logger.info("%s: %s; trying again", url, failure)
                    time.sleep(pause * 2 ** (attempt - 1))
                try:
                    _receive(url, file, advance)
                except PASSING as error:
                    if (
                        isinstance(error, urllib.error.HTTPError)
                        and error.code not in PASSING_STATUS
                    ):
                        raise DownloadError(
                            f"{url} answered {error.code} {error.reason}; check the name, or pass "
                            "a mirror folder that has the file"
                        ) from None
                    failure = error
                    continue
                file.flush()
                os.fsync(file.fileno())
                return
    except DownloadError:
        raise
    except OSError as error:
        raise unwritable(target, error) from error
    raise DownloadError(
        f"{url} could not be fetched in {ATTEMPTS} attempts (last: {failure}); check the "
        "connection and try again, or pass a mirror folder that has the file"
    ) from failure


def _receive(url: str, file: BinaryIO, advance: Callable[[int, int | None], None]) -> None:
    """One attempt: appends what is missing, or begins anew when the server sends the whole file."""
    have = file.tell()
    headers = {"User-Agent": "vgib", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # the range is beyond the end, so what we have is not this file
            _restart(file)
        raise
    with response:
        start, total = _extent(response, have)
        if start != have:
            _restart(file)
        while chunk := response.read(CHUNK):
            file.write(chunk)
            advance(file.tell(), total)
    if total is not None and file.tell() != total:
        came = file.tell()
        if came > total:
            _restart(file)
        raise ConnectionError(f"the connection closed after {came} of {total} bytes")


def _extent(response: http.client.HTTPResponse, have: int) -> tuple[int, int | None]:
    """Where the body begins in the file, and the length of the whole file where it is told."""
    if response.status == 206:
        unit, _, rest = (response.headers["Content-Range"] or "").partition(" ")
        first, _, total = rest.partition("/")
        if unit == "bytes" and first.split("-")[0] == str(have):
            return have, int(total) if total.isdigit() else None
        raise ConnectionError(f"the server answered with an unusable range {rest!r}")
    length = response.headers["Content-Length"]
    return 0, int(length) if length and length.isdigit() else None


def _restart(file: BinaryIO) -> None:
    file.seek(0)
    file.truncate()


@contextmanager
def _bar(url: str, progress: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on stderr, where a person can see it; gives the function that moves it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=console, disable=not (progress and console.is_terminal)) as bar:
        task = bar.add_task(url.rpartition("/")[2], total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def caching(target: Path) -> Iterator[Path]:
    """A temporary file of the cache that takes its name at the end; see :func:`replacing`."""
    try:
        with replacing(target) as temporary:
            yield temporary
    except UnwritableError as error:
        raise DownloadError(
            f"{error}, for instance another cache folder by option or by the environment variable "
            "VGIB_CACHE"
        ) from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_mirror_file(mirror: Path, name: str) -> str:
    """The SHA-256 of a mirror's file, after comparing it with the mirror's ``SHA256SUMS``.

    Raises:
        DownloadError: the file has another checksum, or none to compare with.
    """
    expected = _listed_sums(mirror).get(name)
    if expected is None:
        raise DownloadError(
            f"{mirror / name} is not listed in {mirror / SUMS}, so nothing vouches for it; if you "
            f"trust it, list it: (cd {mirror} && sha256sum {name} >> {SUMS})"
        )
    came = sha256(mirror / name)
    if came != expected:
        raise DownloadError(
            f"{mirror / name} has SHA-256 {came}, but {SUMS} says {expected}; the file is damaged "
            "or was exchanged: copy it to the mirror again"
        )
    return came


def _listed_sums(mirror: Path) -> dict[str, str]:
    """File -> checksum, as ``sha256sum`` writes them (``*`` marks its binary mode)."""
    try:
        lines = (mirror / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split(maxsplit=1) for line in lines if len(line.split(maxsplit=1)) == 2)
    return {name.strip().lstrip("*").removeprefix("./"): value.lower() for value, name in pairs}


def remembered_hash(cache: Path, name: str) -> str | None:
    """The SHA-256 that a file of the cache had when it was found to be right."""
    return _hashes(cache).get(name)


def remember_hash(cache: Path, name: str, value: str) -> None:
    """Notes the SHA-256 of a file of the cache that was found to be right."""
    text = json.dumps(_hashes(cache) | {name: value}, indent=2, sort_keys=True)
    with caching(cache / HASHES) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def _hashes(cache: Path) -> dict[str, str]:
    path = cache / HASHES
    try:
        return {str(key): str(value) for key, value in json.loads(path.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError):
        raise DownloadError(
            f"{path} is damaged; delete it, and the files of the cache are checked anew"
        ) from None
