"""Public files over HTTP, whole or not at all, and the checksums that keep them honest."""

import hashlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vgib.data.files import replacing, unwritable
from vgib.errors import DownloadError, UnwritableError

ATTEMPTS = 5
TIMEOUT = 30.0
SUMS = "SHA256SUMS"

PASSING_STATUS = (408, 425, 429, 500, 502, 503, 504)
"""Answers of a server in trouble, which may pass when tried again; any other is a refusal."""


def download(url: str, target: Path, *, known: str | None = None, progress: bool = True) -> None:
    """Fetches ``url`` into the file ``target``, which is overwritten.

    A failed attempt is repeated, after a pause that grows; a body that is shorter than the server
    announced has failed, and so has one whose SHA-256 is not ``known``.

    Raises:
        DownloadError: the address refuses, keeps failing, or keeps giving another file.
        UnwritableError: the file cannot be written.
    """
    # Imported here, because listing the catalog should not wait for it.
    import pooch  # type: ignore[import-untyped]  # ships no types
    from requests import HTTPError, RequestException

    receive = pooch.HTTPDownloader(
        progressbar=progress and sys.stderr.isatty(),
        timeout=TIMEOUT,
        headers={"User-Agent": "vgib", "Accept-Encoding": "identity"},
    )

    def receive_unless_refused(address: str, file: str, fetcher: Any) -> None:
        try:
            receive(address, file, fetcher)
        except HTTPError as error:
            assert error.response is not None
            if error.response.status_code in PASSING_STATUS:
                raise
            raise DownloadError(
                f"{url} answered {error.response.status_code} {error.response.reason}; check the "
                "name, or pass a mirror folder that has the file"
            ) from None

    pooch.get_logger().setLevel(logging.WARNING)  # else it tells every person every address
    try:
        target.unlink(missing_ok=True)
        pooch.Pooch(
            path=target.parent,
            base_url="",
            registry={target.name: known},
            urls={target.name: url},
            retry_if_failed=ATTEMPTS - 1,
        ).fetch(target.name, downloader=receive_unless_refused)
    except DownloadError:
        raise
    except (RequestException, ValueError) as error:  # the latter is of another checksum
        raise DownloadError(
            f"{url} could not be fetched in {ATTEMPTS} attempts (last: {error}); check the "
            "connection and try again, or pass a mirror folder that has the file"
        ) from error
    except OSError as error:
        raise unwritable(target, error) from error


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
