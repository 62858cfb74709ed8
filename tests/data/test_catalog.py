"""The catalog: names, mirrors, a public side played by a local server, and what is remembered."""

import gzip
import hashlib
import http.server
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from vgib.data import catalog, entries, tables
from vgib.data.catalog import cache_folder, entry, fetch, load, load_table, names
from vgib.data.entries import Entry, Statistics
from vgib.errors import DownloadError, FileFormatError, InputError, UnknownNameError

TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "0\n1\n",
}


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part, text in (TU | files).items():
            # With a date of its own, else the same call gives other bytes two seconds later.
            archive.writestr(zipfile.ZipInfo(f"T/T_{part}.txt"), text)
    return buffer.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers from a dictionary of path to body."""

    bodies: dict[str, bytes]
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.bodies.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Public:
    """The public side: what it serves, what it was asked for, and entries that point to it."""

    def __init__(self, port: int, handler: type[Handler], patch: pytest.MonkeyPatch) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.bodies, self.asked, self._patch = handler.bodies, handler.asked, patch

    def add(self, name: str, **changes: object) -> None:
        fields: dict[str, object] = {
            "about": "For the test.",
            "kind": "tu",
            "file": f"tu/{name}.zip",
            "url": f"{self.address}/{name}.zip",
            "license": "none",
            "size": 0,
            "statistics": Statistics(graphs=2, nodes=2.0, edges=1.0, classes=2),
        }
        made = Entry(name, **(fields | changes))  # type: ignore[arg-type]
        self._patch.setitem(entries.ENTRIES, name, made)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VGIB_MIRROR", raising=False)
    monkeypatch.setenv("VGIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Public]:
    handler = type("Fresh", (Handler,), {"bodies": {"/T.zip": zipped()}, "asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        side = Public(server.server_port, handler, monkeypatch)
        side.add("T")
        yield side
        server.shutdown()
        thread.join()


def make_mirror(folder: Path, name: str, body: bytes, *, value: str | None = None) -> Path:
    target = folder / "mirror" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body)
    value = value or hashlib.sha256(body).hexdigest()
    with (folder / "mirror/SHA256SUMS").open("a") as sums:
        sums.write(f"{value}  {name}\n")
    return folder / "mirror"


# Names and entries


def test_every_entry_is_complete() -> None:
    for name in names():
        found = entry(name)
        assert found.name == name
        assert found.about.endswith(".")
        assert found.license
        assert found.size > 0 or found.kind == "generated"
        assert found.statistics != Statistics()
        assert found.url or found.public or found.kind == "generated"
        assert (found.kind == "table") == ("smiles" in dict(found.columns).values())


def test_names_are_found_in_any_case_and_unknown_ones_answered_with_a_suggestion() -> None:
    assert entry("imdb-binary") is entry("IMDB-BINARY") is entry("TU:IMDB-BINARY")
    with pytest.raises(UnknownNameError, match=r"no dataset named 'MUTGA'; did you mean 'MUTAG'\?"):
        entry("MUTGA")
    with pytest.raises(UnknownNameError, match=r"Known: .*TU:NAME"):
        entry("NCI1")


def test_any_tu_set_goes_by_its_prefix_but_not_by_a_path() -> None:
    found = entry("TU:NCI1")
    assert (found.file, found.url) == (
        "tu/NCI1.zip",
        "https://www.chrsmrrs.com/graphkerneldatasets/NCI1.zip",
    )
    for bad in ("TU:../secret", "TU:", "TU:a/b", "TU:vgib/qed"):
        with pytest.raises(UnknownNameError):
            entry(bad)


def test_listing_the_catalog_imports_neither_torch_nor_pandas() -> None:
    code = (
        "import sys; from vgib.data.catalog import names; assert names();"
        "sys.exit(any(m in sys.modules for m in ('torch', 'pandas', 'pyarrow', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_cache_folder_follows_option_then_environment_then_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder(tmp_path) == tmp_path
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("VGIB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "vgib"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache/vgib"


# The public side


def test_a_download_is_checked_kept_and_not_repeated(public: Public, tmp_path: Path) -> None:
    path = fetch("T")
    assert path == tmp_path / "cache/tu/T.zip"
    assert path.read_bytes() == zipped()
    assert fetch("T") == path
    assert public.asked == ["/T.zip"]
    assert [file.name for file in path.parent.iterdir()] == ["T.zip"]


def test_the_second_load_is_mapped_from_a_packed_file(
    public: Public, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = load("T")
    monkeypatch.setattr("vgib.data.tu.read_tu", None)
    again = load("T")
    assert torch.equal(graphs.x, again.x)
    assert torch.equal(graphs.col, again.col)
    assert graphs.cardinalities == again.cardinalities
    assert len(list((tmp_path / "cache/packed").iterdir())) == 1


def test_other_options_are_packed_apart(public: Public) -> None:
    public.bodies["/T.zip"] = zipped(node_attributes="0.5\n1\n2\n3\n", node_labels="1\n2\n1\n2\n")
    assert load("T").cardinalities == (2,)
    assert load("T", features="attributes").x.flatten().tolist() == [0.5, 1, 2, 3]
    assert load("T", features="degree").cardinalities == (2,)


def test_a_damaged_packed_file_is_made_again(
    public: Public, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load("T")
    (packed,) = (tmp_path / "cache/packed").iterdir()
    packed.write_bytes(packed.read_bytes()[:20])
    assert len(load("T")) == 2
    assert "written anew" in caplog.text
    assert len(load("T")) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>busy</html>", "no zip file"),
        (zipped()[:200], "no zip file"),
        (zipped(A="1, 9\n"), "no node 9"),
        (zipped(graph_labels="0\n0\n"), "should have 2 classes, but the file has 1"),
        (zipped(A="1, 2\n"), r"should have a mean of 1\.0 edges, but the file has 0\.5"),
    ],
)
def test_a_wrong_file_is_refused_and_not_kept(
    public: Public, tmp_path: Path, body: bytes, reason: str
) -> None:
    public.bodies["/T.zip"] = body
    with pytest.raises(
        DownloadError, match=rf"/T\.zip gave a file that is not T: .*{reason}.*mirror"
    ):
        fetch("T")
    assert not list((tmp_path / "cache/tu").iterdir())
    public.bodies["/T.zip"] = zipped()
    assert fetch("T").is_file()


def test_an_address_that_is_gone_is_named(public: Public) -> None:
    public.bodies.clear()
    with pytest.raises(DownloadError, match=r"/T\.zip answered 404"):
        fetch("T")


def test_a_cached_file_that_changed_is_refused_with_both_hashes(public: Public) -> None:
    first = hashlib.sha256(zipped()).hexdigest()
    public.add("T", public_sha256=first)
    path = fetch("T")
    path.write_bytes(b"rot")
    second = hashlib.sha256(b"rot").hexdigest()
    with pytest.raises(DownloadError, match=f"{second}.*{first}.*delete it"):
        load("T")
    path.unlink()
    assert fetch("T") == path


def test_a_public_file_with_another_checksum_than_the_catalog_has_is_refused(
    public: Public, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    public.add("T", public_sha256=hashlib.sha256(zipped()).hexdigest())
    public.bodies["/T.zip"] = zipped(readme="new")
    with pytest.raises(DownloadError, match=r"T\.zip could not be fetched"):
        fetch("T")
    assert not list((tmp_path / "cache/tu").iterdir())


def test_a_table_is_read_once(public: Public, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"smiles,q\nCCO,0.5\n"
    public.bodies["/t.csv"] = text
    columns = (("smiles", "smiles"), ("q", "qed"))
    known = hashlib.sha256(text).hexdigest()
    for name, pin in (("unpinned", ""), ("pinned", known)):
        more = {"url": f"{public.address}/t.csv", "statistics": Statistics(rows=1)}
        file = f"{name}.csv"
        public.add(name, kind="table", file=file, columns=columns, public_sha256=pin, **more)
    read = []
    reading = tables.read_table

    def counted(path: Path, found: Entry) -> object:
        read.append(path)
        return reading(path, found)

    monkeypatch.setattr(tables, "read_table", counted)
    for name in ("unpinned", "pinned"):
        for times in (1, 2):
            read.clear()
            assert load_table(name)["qed"].tolist() == [0.5]
            assert len(read) == 1, (name, times)


def test_a_cached_file_of_unknown_origin_is_read_before_it_is_trusted(
    public: Public, tmp_path: Path
) -> None:
    path = tmp_path / "cache/tu/T.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something")
    with pytest.raises(DownloadError, match=r"is not T: .*delete it"):
        fetch("T")
    path.write_bytes(zipped())
    assert fetch("T") == path
    assert not public.asked


def test_an_unwritable_cache_is_told(public: Public, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match=r"cannot write .*VGIB_CACHE"):
        fetch("T", cache=tmp_path / "file")
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(DownloadError, match="cannot write"):
            fetch("T", cache=tmp_path / "closed")


def test_files_published_apart_join_the_zip(public: Public) -> None:
    extra = (("T/T_edge_gt.txt", f"{public.address}/gt.txt"),)
    public.add("T", extra=extra)
    public.bodies["/gt.txt"] = b"1\n1\n0\n0\n"
    graphs = load("T")
    assert graphs.node_truth is not None
    assert graphs.node_truth.tolist() == [True, True, False, False]
    public.bodies["/U.zip"] = b"<html>"
    public.add("U", extra=extra)
    with pytest.raises(DownloadError, match=r"/U\.zip gave something that is no zip"):
        load("U")


def test_a_table_is_the_same_compressed_or_not(public: Public, tmp_path: Path) -> None:
    text = b'smiles,q,other\n"CCO\n",0.5,1\nc1ccccc1,,2\n'
    public.bodies["/t.csv"] = text
    public.add(
        "t",
        kind="table",
        file="x/t.csv.gz",
        url=f"{public.address}/t.csv",
        columns=(("smiles", "smiles"), ("q", "qed")),
        statistics=Statistics(rows=2),
    )
    table = load_table("t")
    assert fetch("t").name == "t.csv"
    assert table.columns.tolist() == ["smiles", "qed"]
    assert table["smiles"].tolist() == ["CCO", "c1ccccc1"]
    folder = make_mirror(tmp_path, "x/t.csv.gz", gzip.compress(text))
    assert load_table("t", mirror=folder).equals(table)


@pytest.mark.parametrize(
    ("file", "body", "reason"),
    [
        ("t.csv", b"smiles,q\nC,1\n", "should have 2 rows, but the file has 1"),
        ("t.csv", b"Smiles,q\nC,1\nN,2\n", "lacks the column 'smiles'; it has Smiles, q"),
        ("t.csv", b"smiles,q\nC,1\n,2\n", "no SMILES in its row 2"),
        ("t.csv", b"", "no .csv table"),
        ("t.csv", gzip.compress(b"smiles,q\nC,1\nN,2\n", mtime=0)[:-6], "cannot be unpacked"),
        ("t.csv", b"\xff\xfe\xff", "cannot be unpacked"),
        ("t.jsonl", b'{"smiles": "C", "q": 1}\n{"smi', "no .jsonl table"),
        ("t.txt", b"C 1\nN 2 3\n", "no .txt table"),
    ],
)
def test_bad_tables_are_refused(
    public: Public, tmp_path: Path, file: str, body: bytes, reason: str
) -> None:
    columns = (
        (("0", "smiles"), ("1", "q")) if file == "t.txt" else (("smiles", "smiles"), ("q", "q"))
    )
    public.add("t", kind="table", file=file, columns=columns, statistics=Statistics(rows=2))
    with pytest.raises(FileFormatError, match=reason):
        load_table("t", mirror=make_mirror(tmp_path, file, body))


# Mirrors


def test_a_mirror_serves_without_the_network(
    public: Public, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_mirror(tmp_path, "tu/T.zip", zipped())
    assert fetch("T", mirror=folder) == folder / "tu/T.zip"
    assert len(load("T", mirror=folder)) == 2
    monkeypatch.setenv("VGIB_MIRROR", str(folder))
    assert fetch("T") == folder / "tu/T.zip"
    assert not public.asked


def test_a_mirror_loads_even_when_nothing_can_be_cached(
    public: Public, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    folder = make_mirror(tmp_path, "tu/T.zip", zipped())
    assert len(load("T", mirror=folder, cache=tmp_path / "file")) == 2
    assert "reads the source again" in caplog.text


def test_what_a_mirror_lacks_is_downloaded(public: Public, tmp_path: Path) -> None:
    folder = make_mirror(tmp_path, "tu/other.zip", b"")
    assert fetch("T", mirror=folder) == tmp_path / "cache/tu/T.zip"


def test_a_mirror_with_another_checksum_is_refused(public: Public, tmp_path: Path) -> None:
    folder = make_mirror(tmp_path, "tu/T.zip", zipped(), value="0" * 64)
    with pytest.raises(DownloadError, match="0" * 64):
        load("T", mirror=folder)
    assert not public.asked


def test_a_mirror_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        fetch("MUTAG", mirror=tmp_path / "nowhere")


# Kinds


def test_each_kind_answers_to_its_own_function() -> None:
    assert len(load("BA-2Motifs", seed=1)) == 1000
    with pytest.raises(InputError, match="is generated, not fetched"):
        fetch("BA-2Motifs")
    with pytest.raises(InputError, match=r"use load_table\('vgib/qed'\)"):
        load("vgib/qed")
    with pytest.raises(InputError, match=r"use load\('MUTAG'\)"):
        load_table("MUTAG")
    with pytest.raises(InputError, match="fixed features"):
        load("BA-2Motifs", features="degree")


@pytest.mark.parametrize(
    "name", ["attribution/benzene", "BA-2Motifs-published", "drd2/oracle_scores"]
)
def test_what_has_no_public_address_asks_for_a_mirror(name: str) -> None:
    with pytest.raises(DownloadError, match=r"no public address.*VGIB_MIRROR"):
        fetch(name)


@pytest.mark.data
@pytest.mark.parametrize("name", [n for n in names() if n not in ("COLLAB", "BA-2Motifs")])
def test_every_dataset_of_the_mirror_has_its_statistics(mirror: Path, name: str) -> None:
    found = entry(name)
    if found.kind == "table":
        table = load_table(name, mirror=mirror)
        assert table.columns.tolist() == [column for _, column in found.columns]
        assert len(table) == found.statistics.rows
    else:
        assert len(load(name, mirror=mirror)) == found.statistics.graphs


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("adme/biogen", {"hlm": 3087, "rlm": 3054, "solubility": 2173, "mdr1": 2642}),
        ("adme/openadmet", {"hlm": 3759, "mlm": 4522}),
        ("adme/openadmet_raw", {"hlm": 3811, "mlm": 4540}),
    ],
)
def test_the_clearance_tables_have_their_values(
    mirror: Path, name: str, counts: dict[str, int]
) -> None:
    assert load_table(name, mirror=mirror).count()[list(counts)].to_dict() == counts


def test_the_public_names_are_those_that_are_listed() -> None:
    assert all(hasattr(catalog, name) for name in catalog.__all__)
