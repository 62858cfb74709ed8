"""The table of named datasets: what each is, where it comes from, and how to know it.

They stand in ``catalog.toml``, so that listing the catalog stays instant.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from vgib.errors import unknown_name

Kind: TypeAlias = Literal["tu", "ba2motifs", "opengraphxai", "generated", "table"]
Columns: TypeAlias = tuple[tuple[str, str], ...]

TU_PREFIX = "TU:"
TU_HOST = "https://www.chrsmrrs.com/graphkerneldatasets"
GITHUB = "https://raw.githubusercontent.com"
TU_LICENSE = "none stated by TU for each set; cite Morris et al. 2020 and the original source"


@dataclass(frozen=True)
class Statistics:
    """Published counts; ``None`` where nothing is published.

    ``nodes`` and ``edges`` are means for each graph, with two decimals; an edge counts once for
    its two directions, and neither repeated edges nor self-loops count.
    """

    graphs: int | None = None
    nodes: float | None = None
    edges: float | None = None
    classes: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog.

    Attributes:
        name: how users call it.
        about: one sentence.
        kind: graphs in the TU format, the published BA-2Motifs, graphs of OpenGraphXAI, graphs that
            are generated, or a table with a ``smiles`` column.
        file: its path in a mirror folder; empty when it is generated.
        url: its public address; ``None`` when no public file holds the same content.
        public: how the public file differs from the mirror's, or where the content comes from.
        license: as stated by the source.
        size: about how many bytes the download has.
        statistics: what is checked after reading.
        columns: for tables, pairs of the column in the file and its name here; files without a
            header are read by position.
        extra: further public files that belong into the zip, as pairs of member name and address.
        sha256: the checksum of the file, where only one version of it exists; else empty.
        public_sha256: the checksum of the public file, where it is known in advance; else empty.
        split_file: the path in a mirror folder of the official division into training, validation
            and test graphs; empty where there is none.
        split_sha256: the checksum of that file.
    """

    name: str
    about: str
    kind: Kind
    file: str
    url: str | None
    license: str
    size: int
    statistics: Statistics = field(default_factory=Statistics)
    public: str = ""
    columns: Columns = ()
    extra: Columns = ()
    sha256: str = ""
    public_sha256: str = ""
    split_file: str = ""
    split_sha256: str = ""

    @property
    def cached_file(self) -> str:
        """Its path in the cache folder: as in a mirror, but bare when the public file is."""
        is_packed = self.url is None or self.url.endswith(".gz")
        return self.file if is_packed else self.file.removesuffix(".gz")


def names() -> list[str]:
    """The names of the catalog, in its order; any other TU set goes by ``TU:NAME``."""
    return list(ENTRIES)


def entry(name: str) -> Entry:
    """The entry of a name, in any spelling of case; ``TU:NAME`` gives any dataset of the TU host.

    >>> entry("mutag").statistics.graphs
    188
    >>> entry("TU:NCI1").url
    'https://www.chrsmrrs.com/graphkerneldatasets/NCI1.zip'
    """
    is_tu = name[: len(TU_PREFIX)].upper() == TU_PREFIX
    plain = name[len(TU_PREFIX) :] if is_tu else name
    folded = {known.lower(): known for known in ENTRIES}
    found = ENTRIES.get(folded.get(plain.lower(), ""))
    if found is not None and (found.kind == "tu" or not is_tu):
        return found
    if is_tu and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", plain):
        told = {"about": "A dataset of the TU collection.", "kind": "tu"}
        return _entry(f"{TU_PREFIX}{plain}", told)
    raise unknown_name("dataset", name, [*ENTRIES, f"{TU_PREFIX}NAME"])


def _entry(name: str, told: dict[str, Any]) -> Entry:
    """The entry that a table of ``catalog.toml`` describes.

    ``source`` is the address on GitHub, ``owner/repository/commit/path``; a set of kind ``tu`` has
    the file, the address and the license of its collection.
    """
    plain = name.removeprefix(TU_PREFIX)
    fields = {"kind": "table", "file": "", "url": None, "size": 0} | told
    if fields["kind"] == "tu":
        address = f"{TU_HOST}/{plain}.zip"
        fields |= {"license": TU_LICENSE, "url": address, "file": f"tu/{plain}.zip"} | told
    if (source := fields.pop("source", None)) is not None:
        fields["url"] = f"{GITHUB}/{source}"
    fields["statistics"] = Statistics(**fields.get("statistics", {}))
    fields |= {each: tuple(fields.get(each, {}).items()) for each in ("columns", "extra")}
    return Entry(name=name, **fields)


ENTRIES: dict[str, Entry] = {
    name: _entry(name, told)
    for name, told in tomllib.loads(
        Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8")
    ).items()
}
