"""Named datasets: fetched from a mirror, the cache or the network, checked, and read.

A mirror's file must agree with the mirror's ``SHA256SUMS``. The checksum of a public file cannot be
known in advance: it is read, compared with the published statistics, and its checksum remembered.
"""

import logging
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vgib.data.download import (
    HASHES,
    check_mirror_file,
    download,
    keep,
    remember_hash,
    remembered_hash,
    sha256,
    temporary_beside,
)
from vgib.data.entries import Entry, Statistics, entry, names
from vgib.errors import DownloadError, FileFormatError, InputError

if TYPE_CHECKING:  # torch and pandas are slow to import, and listing the catalog needs neither
    import pandas as pd

    from vgib.data.packed import PackedGraphs
    from vgib.data.tu import Features, Target

__all__ = ["Entry", "Statistics", "cache_folder", "entry", "fetch", "load", "load_table", "names"]

READER_VERSION = 1
"""Part of the name of packed files: to be raised when the same source would give other graphs."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Source:
    """A file that was found to be right, and its checksum."""

    path: Path
    sha256: str


def cache_folder(cache: str | Path | None = None) -> Path:
    """Where downloads are kept: the argument, else ``VGIB_CACHE``, else the user's cache folder."""
    if cache := cache or os.environ.get("VGIB_CACHE"):
        return Path(cache).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "vgib"


def fetch(
    name: str,
    *,
    cache: str | Path | None = None,
    mirror: str | Path | None = None,
    progress: bool = True,
) -> Path:
    """The file of a dataset, from the mirror, else from the cache, else from its public address.

    Args:
        name: a name of the catalog, or ``TU:NAME``.
        cache: the cache folder; see :func:`cache_folder`.
        mirror: a folder with files and their ``SHA256SUMS``; by default ``VGIB_MIRROR``.
        progress: whether a download shows a progress bar on a terminal.

    Raises:
        UnknownNameError: no such dataset.
        InputError: the dataset is generated, or the mirror is no folder.
        DownloadError: the file cannot be had, or is not what it should be.
    """
    return _source(entry(name), cache_folder(cache), _mirror_folder(mirror), progress).path


def load(
    name: str,
    *,
    features: "Features" = "auto",
    target: "Target" = "auto",
    seed: int = 0,
    cache: str | Path | None = None,
    mirror: str | Path | None = None,
    progress: bool = True,
) -> "PackedGraphs":
    """The graphs of a dataset; from the second time on they are mapped from a packed file.

    ``features`` and ``target`` are those of :func:`vgib.data.tu.read_tu`, ``seed`` is that of
    generated graphs; the rest as for :func:`fetch`.
    """
    found = entry(name)
    if found.kind == "table":
        raise InputError(
            f"{found.name} is a table of molecules, not of graphs; use load_table({found.name!r})"
        )
    if found.kind != "tu" and (features, target) != ("auto", "auto"):
        raise InputError(
            f"{found.name} has fixed features and classes; leave features and target out"
        )
    if found.kind == "generated":
        from vgib.data.synthetic import generate_ba2motifs

        return generate_ba2motifs(seed=seed)
    folder = cache_folder(cache)
    source = _source(found, folder, _mirror_folder(mirror), progress)
    return _packed(found, source, folder, features, target)


def load_table(
    name: str,
    *,
    cache: str | Path | None = None,
    mirror: str | Path | None = None,
    progress: bool = True,
) -> "pd.DataFrame":
    """The molecules of a dataset: a ``smiles`` column and the columns of values.

    The arguments are those of :func:`fetch`.
    """
    found = entry(name)
    if found.kind != "table":
        raise InputError(f"{found.name} holds graphs, not a table; use load({found.name!r})")
    source = _source(found, cache_folder(cache), _mirror_folder(mirror), progress)
    return _checked_table(found, source.path)


def _mirror_folder(mirror: str | Path | None) -> Path | None:
    if not (mirror := mirror or os.environ.get("VGIB_MIRROR")):
        return None
    folder = Path(mirror).expanduser()
    if not folder.is_dir():
        raise InputError(f"the mirror {folder} is no folder; give an existing one, or none")
    return folder


def _source(found: Entry, cache: Path, mirror: Path | None, progress: bool) -> _Source:
    if found.kind == "generated":
        raise InputError(f"{found.name} is generated, not fetched; use load({found.name!r})")
    if mirror is not None:
        if (mirror / found.file).is_file():
            return _Source(mirror / found.file, check_mirror_file(mirror, found.file))
        logger.info("%s is not in the mirror %s", found.name, mirror)
    cached = cache / found.cached_file
    if cached.is_file():
        return _check_cached(found, cached, cache)
    return _download(found, cached, cache, progress)


def _check_cached(found: Entry, cached: Path, cache: Path) -> _Source:
    """A cached file has its remembered checksum, or reads as it should where there is none."""
    source = _Source(cached, sha256(cached))
    known = remembered_hash(cache, found.cached_file)
    if known is None:
        try:
            _verify(found, source, cache)
        except FileFormatError as error:
            raise DownloadError(
                f"{cached} is not {found.name}: {error}; delete it, and it is downloaded again"
            ) from error
        remember_hash(cache, found.cached_file, source.sha256)
    elif known != source.sha256:
        raise DownloadError(
            f"{cached} has SHA-256 {source.sha256}, but had {known} when it was downloaded; it is "
            "damaged: delete it, and it is downloaded again"
        )
    return source


def _download(found: Entry, cached: Path, cache: Path, progress: bool) -> _Source:
    if found.url is None:
        raise DownloadError(
            f"{found.name} has no public address. {found.public} Pass a mirror folder with "
            f"{found.file}, by option or by the environment variable VGIB_MIRROR"
        )
    with temporary_beside(cached) as temporary:
        download(found.url, temporary, progress=progress)
        for member, url in found.extra:
            _add_member(temporary, found.url, member, url, progress)
        source = _Source(temporary, sha256(temporary))
        try:
            _verify(found, source, cache)
        except FileFormatError as error:
            raise DownloadError(
                f"{found.url} gave a file that is not {found.name}: {error}. The server may have "
                "sent an error page; try again later, or pass a mirror folder"
            ) from error
        known = remembered_hash(cache, found.cached_file)
        if known not in (None, source.sha256):
            raise DownloadError(
                f"{found.url} now gives a file with SHA-256 {source.sha256}, but gave {known} "
                f"before; if you trust the new one, remove {found.cached_file!r} from "
                f"{cache / HASHES}"
            )
        keep(temporary, cached)
    remember_hash(cache, found.cached_file, source.sha256)
    return _Source(cached, source.sha256)


def _add_member(archive: Path, archive_url: str, member: str, url: str, progress: bool) -> None:
    """Downloads a file that is published apart into the zip that it belongs to."""
    with temporary_beside(archive) as temporary:
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


def _verify(found: Entry, source: _Source, cache: Path) -> None:
    """Reads the file and compares it with the published statistics."""
    if found.kind == "table":
        _checked_table(found, source.path)
    else:
        # Kept packed: it is most likely loaded next, and reading the largest takes a while.
        _packed(found, source, cache, "auto", "auto")


def _packed(
    found: Entry, source: _Source, cache: Path, features: "Features", target: "Target"
) -> "PackedGraphs":
    """The graphs of a file, from a packed copy of what the same file gave before."""
    from vgib.data.packed import FORMAT_VERSION, PackedGraphs

    stem = Path(found.file).stem
    version = f"{features}-{target}-v{FORMAT_VERSION}.{READER_VERSION}"
    packed = cache / "packed" / f"{stem}-{source.sha256[:16]}-{version}.safetensors"
    if packed.is_file():
        try:
            return PackedGraphs.load(packed)
        except FileFormatError as error:
            logger.warning("%s; it is written anew", error)
    graphs = _read_graphs(found, source.path, features, target)
    try:
        graphs.save(packed)
    except InputError as error:
        logger.warning("%s; the next load reads the source again", error)
    return graphs


def _read_graphs(
    found: Entry, path: Path, features: "Features", target: "Target"
) -> "PackedGraphs":
    if found.kind == "tu":
        from vgib.data.tu import read_tu

        graphs = read_tu(path, features=features, target=target)
    else:
        from vgib.data.synthetic import read_ba2motifs

        graphs = read_ba2motifs(path)
    classes = None
    if graphs.y is not None and not graphs.y.is_floating_point():
        classes = int(graphs.y.max()) + 1
    count = max(len(graphs), 1)
    _compare(
        found,
        Statistics(len(graphs), graphs.num_nodes / count, graphs.num_edges / 2 / count, classes),
    )
    return graphs


def _checked_table(found: Entry, path: Path) -> "pd.DataFrame":
    from vgib.data.tables import read_table

    table = read_table(path, found)
    _compare(found, Statistics(rows=len(table)))
    return table


def _compare(found: Entry, came: Statistics) -> None:
    """Raises when a published number is known and what was read differs from it."""
    for what, expected in vars(found.statistics).items():
        value: Any = getattr(came, what)
        # Published means have two decimals.
        if None not in (expected, value) and abs(value - expected) > 0.0051 * isinstance(
            expected, float
        ):
            mean = "a mean of " if isinstance(expected, float) else ""
            raise FileFormatError(
                f"{found.name} should have {mean}{expected:,} {what}, but the file has "
                f"{value:,.6g}; it is another or a changed dataset"
            )
