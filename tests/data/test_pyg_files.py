"""PyG Data objects as files, and what is refused to be read."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from vgib.data.pyg_files import read_data_files
from vgib.errors import FileFormatError, InputError, VgibError


def graph(nodes: int) -> Data:
    path = torch.arange(nodes - 1)
    edge_index = torch.stack([torch.cat([path, path + 1]), torch.cat([path + 1, path])])
    return Data(x=torch.rand(nodes, 3), edge_index=edge_index, y=torch.tensor([nodes % 2]))


GRAPHS = [graph(nodes) for nodes in (3, 4, 5)]


def test_a_folder_of_graphs_is_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number, name in ((1, "graph_2"), (2, "graph_10"), (0, "graph_1")):
        torch.save(GRAPHS[number], tmp_path / f"{name}.pt")
    (tmp_path / "notes.txt").write_text("not a graph")
    found = read_data_files(tmp_path)
    assert found.sizes.tolist() == [3, 4, 5] and found.y.tolist() == [1, 0, 1]
    assert found.ids == ("graph_1", "graph_2", "graph_10")
    assert torch.equal(found.x, torch.cat([g.x for g in GRAPHS]))
    assert torch.equal(found[2].edge_index.sort().values, GRAPHS[2].edge_index.sort().values)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(GRAPHS, id="list"),
        pytest.param(tuple(GRAPHS), id="tuple"),
        pytest.param([g.to_dict() for g in GRAPHS], id="dicts"),
    ],
)
def test_several_graphs_may_share_a_file(content: Any, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "all.pt")
    assert read_data_files(tmp_path / "all.pt").sizes.tolist() == [3, 4, 5]
    assert read_data_files(tmp_path).ids is None


def test_what_an_in_memory_dataset_saved_is_read(tmp_path: Path) -> None:
    InMemoryDataset.save(GRAPHS[:1], str(tmp_path / "data.pt"))
    assert read_data_files(tmp_path).sizes.tolist() == [3]
    InMemoryDataset.save(GRAPHS, str(tmp_path / "data.pt"))
    torch.save("None", tmp_path / "pre_transform.pt")
    found = read_data_files(tmp_path)
    assert found.sizes.tolist() == [3, 4, 5] and found.y.tolist() == [1, 0, 1]
    assert torch.equal(found.x, torch.cat([g.x for g in GRAPHS]))
    assert torch.equal(found[1].edge_index.sort().values, GRAPHS[1].edge_index.sort().values)


class Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("pwned",)


def test_nothing_in_a_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    evil = graph(3)
    evil.note = Attack()
    for content in (Attack(), [Attack()], evil):
        torch.save(content, tmp_path / "a.pt")
        with pytest.raises(FileFormatError, match=r"mkdir, which is not read; save each graph"):
            read_data_files(tmp_path)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.pt"),
        (b"no file of torch", "no file of torch"),
        ({"x": torch.eye(2)}, "holds dict, not a graph with an edge_index"),
        (torch.eye(2), "holds Tensor, not a graph"),
        (Data(edge_index=torch.tensor([[0], [1]])), "graph 0 has no node features"),
        ([graph(3), Data(x=torch.eye(2), edge_index=graph(2).edge_index)], "number of node feat"),
    ],
    ids=["empty", "text", "dict", "tensor", "featureless", "widths"],
)
def test_files_that_cannot_be_used_are_answered(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(VgibError, match=message):
        read_data_files(tmp_path)


def test_a_truncated_file_and_an_empty_folder_are_answered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no graphs were given"):
        read_data_files(tmp_path)
    torch.save(GRAPHS, tmp_path / "a.pt")
    raw = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "a.pt").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(FileFormatError, match="damaged or no file of torch"):
        read_data_files(tmp_path)
