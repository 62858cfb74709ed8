"""Named datasets: fetched, checked against the published statistics, and read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from vgib.data.download import sha256
from vgib.data.entries import Entry, Statistics, entry, names
from vgib.data.sources import (
    Places,
    Source,
    cache_folder,
    check_places,
    find_source,
    mirror_folder,
)
from vgib.errors import DownloadError, FileFormatError, InputError

if TYPE_CHECKING:  # torch and pandas are slow to import, and listing the catalog needs neither
    import pandas as pd

    from vgib.data.packed import PackedGraphs
    from vgib.data.splits import Split
    from vgib.data.tu import Features, Target

__all__ = [
    "Entry",
    "Statistics",
    "cache_folder",
    "entry",
    "fetch",
    "load",
    "load_split",
    "load_table",
    "names",
]

READER_VERSION = 1
"""Part of the name of packed files: to be raised when the same source would give other graphs."""


def fetch(name: str, *, progress: bool = True, **places: Unpack[Places]) -> Path:
    """The file of a dataset, from the mirror, else from the cache, else from its public address.

    Args:
        name: a name of the catalog, or ``TU:NAME``.
        progress: whether a download shows a progress bar on a terminal.
        **places: ``mirror`` and ``cache``; see :class:`vgib.data.sources.Places`.

    Raises:
        UnknownNameError: no such dataset.
        InputError: the dataset is generated, or the mirror is no folder.
        DownloadError: the file cannot be had, or is not what it should be.
    """
    return _fetch(entry(name), progress, places).path


def load(
    name: str,
    *,
    features: "Features" = "auto",
    target: "Target" = "auto",
    seed: int = 0,
    progress: bool = True,
    **places: Unpack[Places],
) -> "PackedGraphs":
    """The graphs of a dataset; from the second time on they are mapped from a packed file.

    ``features`` and ``target`` are those of :func:`vgib.data.tu.read_tu`, ``seed`` is that of
    generated graphs; the rest as for :func:`fetch`.
    """
    check_places(places)
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
        return _generated(found, seed)
    source = _fetch(found, progress, places)
    return _packed(found, source, cache_folder(places.get("cache")), features, target)


def load_split(name: str, *, progress: bool = True, **places: Unpack[Places]) -> "Split":
    """The official division of a dataset into training, validation and test graphs.

    The arguments are those of :func:`fetch`.

    Raises:
        InputError: the dataset has no official division.
        FileFormatError: the file that holds it is damaged.
    """
    from vgib.data.opengraphxai import read_split

    found = entry(name)
    if not found.split_file:
        raise InputError(f"{found.name} has no official split; use random_split")
    source = _fetch(found, progress, places)
    path = source.path.with_name(Path(found.split_file).name)
    _check_sha256(path, sha256(path), found.split_sha256)
    return read_split(path, found.statistics.graphs or 0)


def load_table(name: str, *, progress: bool = True, **places: Unpack[Places]) -> "pd.DataFrame":
    """The molecules of a dataset: a ``smiles`` column and the columns of values.

    The arguments are those of :func:`fetch`.
    """
    found = entry(name)
    if found.kind != "table":
        raise InputError(f"{found.name} holds graphs, not a table; use load({found.name!r})")
    source = _fetch(found, progress, places)
    return _checked_table(found, source.path) if source.content is None else source.content


def _fetch(found: Entry, progress: bool, places: Places) -> Source:
    check_places(places)
    folder = cache_folder(places.get("cache"))

    def verify(source: Source) -> "pd.DataFrame | PackedGraphs":
        """Reads the file and compares it with the published statistics."""
        if found.kind == "table":
            return _checked_table(found, source.path)
        # Kept packed: it is most likely loaded next, and reading the largest takes a while.
        return _packed(found, source, folder, "auto", "auto")

    mirrored = mirror_folder(places.get("mirror"))
    source = find_source(found, verify, cache=folder, mirror=mirrored, progress=progress)
    _check_sha256(source.path, source.sha256, found.sha256)
    return source


def _check_sha256(path: Path, came: str, expected: str) -> None:
    """Raises when the one right checksum of a file is known and the file has another."""
    if expected and came != expected:
        raise DownloadError(
            f"{path} has SHA-256 {came}; expected {expected}: it is damaged or of another version"
        )


def _generated(found: Entry, seed: int) -> "PackedGraphs":
    from vgib.data.spmotif import generate_spmotif
    from vgib.data.synthetic import generate_ba2motifs

    kind, _, bias = found.name.partition("-")
    return (
        generate_spmotif(float(bias), seed=seed)
        if kind == "SPMotif"
        else generate_ba2motifs(seed=seed)
    )


def _packed(
    found: Entry, source: Source, cache: Path, features: "Features", target: "Target"
) -> "PackedGraphs":
    """The graphs of a file, from a packed copy of what the same file gave before."""
    from vgib.data.packed import PackedGraphs
    from vgib.data.packed_files import FORMAT_VERSION

    stem = Path(found.file).stem
    version = f"{features}-{target}-v{FORMAT_VERSION}.{READER_VERSION}"
    packed = cache / "packed" / f"{stem}-{source.sha256[:16]}-{version}.safetensors"

    def read() -> PackedGraphs:
        return _read_graphs(found, source.path, features, target)

    return PackedGraphs.load_or_make(packed, read, "the next load reads the source again")


def _read_graphs(
    found: Entry, path: Path, features: "Features", target: "Target"
) -> "PackedGraphs":
    if found.kind == "tu":
        from vgib.data.tu import read_tu

        graphs = read_tu(path, features=features, target=target)
    elif found.kind == "opengraphxai":
        from vgib.data.opengraphxai import read_opengraphxai

        graphs = read_opengraphxai(path)
    else:
        from vgib.data.synthetic import read_ba2motifs

        graphs = read_ba2motifs(path)
    classes = None
    if graphs.y is not None and not graphs.y.is_floating_point():
        classes = len(set(graphs.y.tolist()))
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
        tolerance = 0.0051 if isinstance(expected, float) else 0  # means have two decimals
        if expected is not None and value is not None and abs(value - expected) > tolerance:
            mean = "a mean of " if isinstance(expected, float) else ""
            raise FileFormatError(
                f"{found.name} should have {mean}{expected:,} {what}, but the file has "
                f"{value:,.6g}; it is another or a changed dataset"
            )
