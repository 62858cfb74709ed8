"""The TU reader: tiny datasets written here, and the published statistics of the real ones."""

import logging
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from vgib.data.packed import PackedGraphs
from vgib.data.tu import read_tu
from vgib.errors import FileFormatError, InputError

# A triangle and a path of two nodes, both directions listed.
FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "7\n3\n7\n3\n9\n",
}


def write(
    folder: Path, *, top: str = "T/", compression: int = zipfile.ZIP_DEFLATED, **files: str | None
) -> Path:
    path = folder / "T.zip"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for part, text in (FILES | files).items():
            if text is not None:
                archive.writestr(f"{top}T_{part}.txt", text)
    return path


def edges_of(graphs: PackedGraphs, number: int) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in graphs.to_data(number).edge_index.T}


@pytest.mark.parametrize("top", ["T/", "", "raw/T/"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_LZMA])
def test_labels_become_codes_in_the_order_of_their_values(
    tmp_path: Path, top: str, compression: int
) -> None:
    graphs = read_tu(write(tmp_path, top=top, compression=compression))
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.y is not None
    assert graphs.y.tolist() == [1, 0]
    assert graphs.x.flatten().tolist() == [1, 0, 1, 0, 2]
    assert graphs.cardinalities == (3,)
    assert edges_of(graphs, 0) == {(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)}
    assert edges_of(graphs, 1) == {(0, 1), (1, 0)}


def test_an_unpacked_folder_reads_as_its_zip(tmp_path: Path) -> None:
    path = write(tmp_path)
    zipfile.ZipFile(path).extractall(tmp_path / "open")
    one, other = read_tu(path), read_tu(tmp_path / "open")
    assert torch.equal(one.col, other.col)
    assert torch.equal(one.x, other.x)


def test_packing_agrees_with_the_general_constructor(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sizes = random.integers(1, 9, size=30)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    graph = random.integers(30, size=400)
    ends = ptr[graph] + random.integers(1 << 30, size=(2, 400)) % sizes[graph]
    labels = random.integers(5, size=400)
    path = write(
        tmp_path,
        A="".join(f"{a + 1}, {b + 1}\n" for a, b in ends.T),
        graph_indicator="".join(f"{g + 1}\n" * n for g, n in enumerate(sizes)),
        graph_labels="0\n" * 30,
        node_labels=None,
        edge_labels="".join(f"{label}\n" for label in labels),
    )
    both = torch.from_numpy(np.concatenate([ends, ends[::-1]], axis=1))
    expected = PackedGraphs.from_edges(
        torch.zeros(int(ptr[-1]), 1),
        both,
        torch.from_numpy(ptr),
        edge_attr=torch.from_numpy(np.concatenate([labels, labels])),
    )
    graphs = read_tu(path)
    assert graphs.is_undirected
    for name in ("node_ptr", "indptr", "col", "edge_attr"):
        assert torch.equal(getattr(graphs, name), getattr(expected, name)), name


def test_duplicates_and_self_loops_go_and_do_not_count_for_the_degree(tmp_path: Path) -> None:
    path = write(tmp_path, A=FILES["A"] * 2 + "1, 1\n4, 4\n", node_labels=None)
    graphs = read_tu(path)
    assert graphs.num_edges == 8
    assert graphs.x.flatten().tolist() == [2, 2, 2, 1, 1]
    assert graphs.cardinalities == (3,)


def test_missing_reverse_edges_are_added_with_what_their_edge_carries(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, A="1, 2\n4, 5\n2, 1\n", edge_labels="5\n8\n6\n")
    with caplog.at_level(logging.INFO, "vgib"):
        graphs = read_tu(path)
    assert "missing reverse of 1 edges" in caplog.text
    assert edges_of(graphs, 0) == {(0, 1), (1, 0)}
    assert edges_of(graphs, 1) == {(0, 1), (1, 0)}
    data = graphs.to_data(0)
    assert dict(
        zip(map(tuple, data.edge_index.T.tolist()), data.edge_attr.tolist(), strict=True)
    ) == {
        (0, 1): 0,
        (1, 0): 1,
    }
    assert graphs.to_data(1).edge_attr.tolist() == [2, 2]


def test_nodes_out_of_order_are_sorted_by_graph(tmp_path: Path) -> None:
    path = write(
        tmp_path, A="1, 3\n3, 1\n2, 4\n4, 2\n4, 5\n5, 4\n", graph_indicator="2\n1\n2\n1\n1\n"
    )
    graphs = read_tu(path)
    assert graphs.sizes.tolist() == [3, 2]
    assert graphs.x.flatten().tolist() == [0, 0, 2, 1, 1]  # labels 3, 3, 9 and 7, 7
    assert edges_of(graphs, 0) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert edges_of(graphs, 1) == {(0, 1), (1, 0)}


def test_marked_edges_are_the_truth_and_their_ends_the_nodes(tmp_path: Path) -> None:
    graphs = read_tu(write(tmp_path, edge_gt="1\n1\n0\n0\n0\n0\n0\n0\n"))
    assert graphs.node_truth is not None
    assert graphs.node_truth.tolist() == [True, True, False, False, False]
    data = graphs.to_data(0)
    assert {tuple(edge) for edge in data.edge_index.T[data.edge_truth].tolist()} == {(0, 1), (1, 0)}


def test_attributes_and_all_features(tmp_path: Path) -> None:
    path = write(tmp_path, node_attributes="1.5, 2\n 0.5, 1\n1, 1\n2, 2\n3, 1e-3\n")
    graphs = read_tu(path, features="attributes")
    assert graphs.cardinalities is None
    assert graphs.x[0].tolist() == [1.5, 2.0]
    both = read_tu(path, features="all").x
    assert both.shape == (5, 5)
    assert both[4, 2:].tolist() == [0.0, 0.0, 1.0]
    assert read_tu(path, features="degree").x.flatten().tolist() == [2, 2, 2, 1, 1]


def test_large_degrees_become_one_standardized_column(tmp_path: Path) -> None:
    leaves = 1001
    path = write(
        tmp_path,
        A="".join(f"1, {leaf}\n{leaf}, 1\n" for leaf in range(2, leaves + 2)),
        graph_indicator="1\n" * (leaves + 1),
        graph_labels="0\n",
        node_labels=None,
    )
    graphs = read_tu(path)
    assert graphs.cardinalities is None
    assert graphs.x.shape == (leaves + 1, 1)
    assert graphs.x.mean().item() == pytest.approx(0, abs=1e-4)
    assert graphs.x.std().item() == pytest.approx(1, abs=1e-4)


def test_graph_attributes_are_values_to_regress(tmp_path: Path) -> None:
    one = read_tu(write(tmp_path, graph_attributes="0.5\n-1.25\n"))
    assert one.y is not None
    assert one.y.tolist() == [0.5, -1.25]
    path = write(tmp_path, graph_attributes="0.5, 1\n-1.25, 2\n")
    several, classes = read_tu(path).y, read_tu(path, target="labels").y
    assert several is not None
    assert several.shape == (2, 2)
    assert classes is not None
    assert classes.tolist() == [1, 0]


def test_edgeless_and_empty_graphs_are_kept_and_the_empty_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, A="", graph_indicator="1\n1\n1\n3\n3\n", graph_labels="0\n1\n0\n")
    graphs = read_tu(path)
    assert graphs.sizes.tolist() == [3, 0, 2]
    assert graphs.num_edges == 0
    assert "1 graphs have no node (graph 2)" in caplog.text


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"A": "1, 2\n1, 2, 3\n"}, r"T_A\.txt, line 2: expected 2 numbers .* got '1, 2, 3'"),
        ({"A": "1, 2\n\n2, x\n"}, r"T_A\.txt, line 3"),
        ({"A": "1, 2\n2\n"}, r"T_A\.txt, line 2"),
        ({"A": "1 2\n"}, r"T_A\.txt, line 1"),
        ({"A": "1, 99999999999\n"}, r"T_A\.txt"),
        ({"A": "1, 2\n6, 1\n"}, r"T_A\.txt, line 2: there is no node 6; .* 1 to 5"),
        ({"A": "0, 1\n"}, r"line 1: there is no node 0"),
        ({"A": "1, 2\n3, 4\n"}, r"line 2: nodes 3 and 4 belong to different graphs \(1 and 2\)"),
        ({"graph_indicator": "1\n1\n1\n2\n3\n"}, r"graph_indicator\.txt, line 5: .* no graph 3"),
        ({"graph_indicator": "1\n1\n1\n2\n2.5\n"}, r"graph_indicator\.txt, line 5: .* '2\.5'"),
        ({"graph_indicator": None}, r"lacks T_graph_indicator\.txt"),
        ({"graph_labels": None}, r"lacks T_graph_labels\.txt"),
        ({"A": None}, r"expected exactly one file NAME_A\.txt"),
        ({"node_labels": "1\n2\n"}, r"node_labels has 2 lines for 5 nodes"),
        ({"edge_labels": "1\n2\n"}, r"edge_attr has 2 lines for 8 edges"),
        ({"edge_gt": "0\n1\n2\n0\n0\n0\n0\n0\n"}, r"edge_gt\.txt, line 3: expected 0 or 1, got 2"),
    ],
)
def test_bad_files_are_refused_with_file_and_line(
    tmp_path: Path, files: dict[str, str | None], expected: str
) -> None:
    with pytest.raises(FileFormatError, match=expected):
        read_tu(write(tmp_path, **files))


def test_a_truncated_or_corrupt_zip_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path, compression=zipfile.ZIP_STORED).read_bytes()
    path = tmp_path / "bad.zip"
    for data in (whole[: len(whole) // 2], b"", b"<html>not found</html>"):
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match=r"bad\.zip.*fetch it again"):
            read_tu(path)
    path.write_bytes(whole.replace(b"2, 3\n", b"2, 4\n"))  # the checksum inside the zip notices
    with pytest.raises(FileFormatError, match=r"T_A\.txt cannot be unpacked"):
        read_tu(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_damage_inside_a_compressed_member_is_refused(tmp_path: Path, compression: int) -> None:
    path = write(tmp_path, A=FILES["A"] * 5000, compression=compression)
    data = bytearray(path.read_bytes())
    for position in range(60, 90):
        data[position] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(FileFormatError):
        read_tu(path)


def test_what_the_dataset_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(InputError, match=r"features='attributes'.*it has labels, degree"):
        read_tu(path, features="attributes")
    with pytest.raises(InputError, match=r"use target='labels'"):
        read_tu(path, target="attributes")
    with pytest.raises(InputError, match="no file or folder"):
        read_tu(tmp_path / "nothing.zip")


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "graphs", "nodes", "edges", "classes", "codes"),
    [
        ("tu/MUTAG.zip", 188, 17.93, 19.79, [63, 125], (7,)),
        ("tu/PROTEINS.zip", 1113, 39.06, 72.82, [663, 450], (3,)),
        ("tu/IMDB-BINARY.zip", 1000, 19.77, 96.53, [500, 500], (136,)),
        ("tu/REDDIT-BINARY.zip", 2000, 429.63, 497.75, [1000, 1000], None),
        ("tu/DD.zip", 1178, 284.32, 715.66, [691, 487], (82,)),
        ("extra/Mutagenicity.zip", 4337, 30.32, 30.77, [2401, 1936], (14,)),
    ],
)
def test_the_published_statistics_hold(
    mirror: Path,
    file: str,
    graphs: int,
    nodes: float,
    edges: float,
    classes: list[int],
    codes: tuple[int, ...] | None,
) -> None:
    packed = read_tu(mirror / file)
    assert len(packed) == graphs
    assert round(packed.num_nodes / graphs, 2) == nodes
    assert round(packed.num_edges / 2 / graphs, 2) == edges
    assert packed.y is not None
    assert torch.bincount(packed.y).tolist() == classes
    assert packed.cardinalities == codes
    assert packed.is_undirected


@pytest.mark.data
def test_mutagenicity_has_the_marks_of_pgexplainer(mirror: Path) -> None:
    graphs = read_tu(mirror / "extra/Mutagenicity.zip")
    assert graphs.edge_truth is not None
    assert int(graphs.edge_truth.sum()) == 7352
    graph_of_edge = torch.repeat_interleave(torch.arange(len(graphs)), graphs.edge_ptr.diff())
    marked = graph_of_edge[graphs.edge_truth].unique()
    assert len(marked) == 1356
    assert graphs.y is not None
    assert int((graphs.y[marked] == 0).sum()) == 1015


COLLAB = """
import resource, sys, time
from pathlib import Path
from vgib.data.packed import PackedGraphs
from vgib.data.tu import read_tu
graphs = read_tu(Path(sys.argv[1]))
graphs.save(sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
began = time.perf_counter()
again = PackedGraphs.load(sys.argv[2])
seconds = time.perf_counter() - began
classes = again.y.bincount().tolist()
print(len(again), again.num_nodes, again.num_edges, classes, peak, seconds, sep=";")
"""


@pytest.mark.data
def test_collab_loads_within_three_gib_and_again_within_five_seconds(
    mirror: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLAB, mirror / "tu/COLLAB.zip", tmp_path / "collab.safetensors"],
        capture_output=True,
        text=True,
        check=True,
    )
    graphs, nodes, edges, classes, peak, seconds = done.stdout.strip().split(";")
    assert (graphs, classes) == ("5000", "[2600, 775, 1625]")
    assert round(int(nodes) / 5000, 2) == 74.49
    assert round(int(edges) / 2 / 5000, 2) == 2457.22
    assert int(peak) < 3 * 2**30
    assert float(seconds) < 5


def test_as_many_labels_as_there_may_be_columns_are_taken_and_one_more_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, node_attributes="1\n" * 5)
    several = read_tu(path, features="labels").cardinalities[0]
    monkeypatch.setattr("vgib.data.tu.MAX_LABELS", several)
    assert read_tu(path, features="all").x.shape == (5, 1 + several)
    monkeypatch.setattr("vgib.data.tu.MAX_LABELS", several - 1)
    with pytest.raises(InputError, match=f"has {several} different node labels"):
        read_tu(path, features="all")
