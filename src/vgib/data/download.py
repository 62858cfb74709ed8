"""Public files over HTTP, whole or not at all, and the checksums that keep them honest."""

import hashlib
import json
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
HASHES = "hashes.json"

PASSING_STATUS = (408, 425, 429, 500, 502, 503, 504)
"""Answers of a server in trouble, which may pass when tried again; any other is a refusal."""

PINNED = {
    "vgib/qed.txt": "b0dbd672ea82ffcc2e64739c2aadd404ce40cce993d8aa4443b794b702de7965",
    "vgib/hlm.txt": "83471bea59265a762433fde4013c16ba5cc0abd67d4bc6bbd75306c2b10d6312",
    "vgib/mlm.txt": "2fe0240a67cce66da3ee5103a73090b337a123bcab24346cec8ea0ccd6033417",
    "vgib/rlm.txt": "44a618a119124578c7100b386a77144d1ee2caec1854497a14afee52915d62b2",
    "vgib/drd2.txt": "b2ccc888b4784ad07e514477131b8f09a4d1529faa3b157ba35e0b4e8c573b1d",
}
"""The SHA-256 of public files, by their path in the cache, where it is known in advance."""


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


def known_hash(cache: Path, name: str) -> str | None:
    """The SHA-256 of a file of the cache: pinned, or what it was when the file was found right."""
    return PINNED.get(name) or _hashes(cache).get(name)


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
