"""Where the file of a dataset comes from: a mirror, the cache, or its public address.

A mirror's file must agree with the mirror's ``SHA256SUMS``, and a public file with the checksum in
the catalog. Where there is none, because a server may pack its file anew, the file is read and
compared with the published statistics.
"""

import logging
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from vgib.data.download import caching, check_mirror_file, download, sha256
from vgib.data.entries import Entry
from vgib.errors import DownloadError, FileFormatError, InputError

logger = logging.getLogger(__name__)


Folder: TypeAlias = str | Path | None


class Places(TypedDict, total=False):
    """Where the files of the catalog are; every function that reads it takes these by name.

    Attributes:
        mirror: A folder with files and their ``SHA256SUMS``; by default ``VGIB_MIRROR``.
        cache: The folder of downloads; see :func:`cache_folder`.
    """

    mirror: Folder
    cache: Folder


def check_places(places: Places) -> None:
    """Refuses arguments of other names, as Python does where a function names its own."""
    for name in places:
        if name not in Places.__annotations__:
            raise TypeError(f"got an unexpected keyword argument {name!r}")


@dataclass(frozen=True)
class Source:
    """A file that was found to be right.

    Attributes:
        path: Where it is.
        sha256: Its checksum.
        content: What it holds, where it had to be read to be trusted; else ``None``.
    """

    path: Path
    sha256: str
    content: Any = None


Verify: TypeAlias = Callable[[Source], Any]
"""Gives what a file holds, or raises ``FileFormatError`` when it is not what it should be."""


def cache_folder(cache: Folder = None) -> Path:
    """Where downloads are kept: the argument, else ``VGIB_CACHE``, else the user's cache folder."""
    if cache := cache or os.environ.get("VGIB_CACHE"):
        return Path(cache).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "vgib"


def mirror_folder(mirror: Folder = None) -> Path | None:
    """The mirror, if there is one: the argument, else ``VGIB_MIRROR``."""
    if not (mirror := mirror or os.environ.get("VGIB_MIRROR")):
        return None
    folder = Path(mirror).expanduser()
    if not folder.is_dir():
        raise InputError(f"the mirror {folder} is no folder; give an existing one, or none")
    return folder


def find_source(
    found: Entry, verify: Verify, *, cache: Path, mirror: Path | None, progress: bool
) -> Source:
    """The file of an entry, found to be right; ``verify`` reads what no checksum vouches for.

    Raises:
        InputError: the dataset is generated.
        DownloadError: the file cannot be had, or is not what it should be.
    """
    if found.kind == "generated":
        raise InputError(f"{found.name} is generated, not fetched; use load({found.name!r})")
    if mirror is not None:
        if (mirror / found.file).is_file():
            return Source(mirror / found.file, check_mirror_file(mirror, found.file))
        logger.info("%s is not in the mirror %s", found.name, mirror)
    cached = cache / found.cached_file
    if cached.is_file():
        return _check_cached(found, verify, cached)
    return _download(found, verify, cached, progress)


def _check_cached(found: Entry, verify: Verify, cached: Path) -> Source:
    """A cached file has the checksum of the catalog, or reads as it should where there is none."""
    source = Source(cached, sha256(cached))
    if found.public_sha256:
        if source.sha256 != found.public_sha256:
            raise DownloadError(
                f"{cached} has SHA-256 {source.sha256} in the place of {found.public_sha256}; it "
                "is damaged: delete it, and it is downloaded again"
            )
        return source
    try:
        return replace(source, content=verify(source))
    except FileFormatError as error:
        raise DownloadError(
            f"{cached} is not {found.name}: {error}; delete it, and it is downloaded again"
        ) from error


def _download(found: Entry, verify: Verify, cached: Path, progress: bool) -> Source:
    if found.url is None:
        raise DownloadError(
            f"{found.name} has no public address. {found.public} Pass a mirror folder with "
            f"{found.file}, by option or by the environment variable VGIB_MIRROR"
        )
    with caching(cached) as temporary:
        download(found.url, temporary, known=found.public_sha256 or None, progress=progress)
        for member, url in found.extra:
            _add_member(temporary, found.url, member, url, progress)
        source = Source(temporary, sha256(temporary))
        try:
            content = verify(source)
        except FileFormatError as error:
            raise DownloadError(
                f"{found.url} gave a file that is not {found.name}: {error}. The server may have "
                "sent an error page; try again later, or pass a mirror folder"
            ) from error
    return Source(cached, source.sha256, content)


def _add_member(archive: Path, archive_url: str, member: str, url: str, progress: bool) -> None:
    """Downloads a file that is published apart into the zip that it belongs to."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        temporary = Path(folder) / Path(member).name
        download(url, temporary, progress=progress)
        # A fixed date, so that the same files give the same checksum.
        info = zipfile.ZipInfo(member, date_time=(1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        try:
            with zipfile.ZipFile(archive, "a") as zipped:
                is_zip = bool(zipped.namelist())
                zipped.writestr(info, temporary.read_bytes())
        except zipfile.BadZipFile:
            is_zip = False
    if not is_zip:
        raise DownloadError(
            f"{archive_url} gave something that is no zip file; try again later, or pass a "
            "mirror folder"
        )
