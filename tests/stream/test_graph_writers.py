"""Results of graphs that are not molecules, as files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import InputError
from vgib.model.results import Recognition, Recognitions, recognitions
from vgib.model.subgraphs import find_subgraphs
from vgib.stream.graph_writers import (
    COLUMNS,
    PICTURES,
    check_outputs,
    json_lines,
    report,
    subgraph_table,
    write_recognitions,
)

GRAPHS = generate_ba2motifs(4)
SCORES = np.linspace(0, 1, GRAPHS.num_nodes)
PARTS = find_subgraphs(GRAPHS, SCORES, 2, keep_ratio=0.2)
FOUND = recognitions(GRAPHS, [0, 1, 1, 1], SCORES, PARTS)


def test_the_table_has_a_row_for_each_subgraph() -> None:
    table = subgraph_table(FOUND)
    assert list(table.columns) == list(COLUMNS)
    assert table["graph"].tolist() == [n for n, parts in enumerate(PARTS) for _ in parts]
    assert table["rank"].tolist() == [r + 1 for parts in PARTS for r in range(len(parts))]
    assert table["nodes"][0] == " ".join(map(str, PARTS[0][0].nodes))
    assert list(subgraph_table(Recognitions()).columns) == list(COLUMNS)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "a.html"])
def test_every_kind_of_file_holds_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / name
    write_recognitions(FOUND, path, title="<Motifs>", about="a model")
    assert [p.name for p in path.parent.iterdir()] == [name]
    if name.endswith(("csv", "parquet")):
        read = pd.read_csv(path) if name.endswith("csv") else pd.read_parquet(path)
        assert read["nodes"].tolist() == subgraph_table(FOUND)["nodes"].tolist()
    elif name.endswith("jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["prediction"] for line in lines] == [0, 1, 1, 1]
        assert [len(line["scores"]) for line in lines] == GRAPHS.sizes.tolist()
    else:
        text = path.read_text()
        assert text.count("<svg") == 4 and "&lt;Motifs&gt;" in text and "a model" in text
        assert "<script" not in text


def test_the_page_counts_classes_and_shows_the_first_graphs() -> None:
    text = report(FOUND, "t", "")
    assert "<td>1</td><td>3</td><td>20%</td>" in text
    many = Recognitions([*FOUND] * 20)
    assert report(many, "t", "").count("<svg") == PICTURES
    assert f"the first {PICTURES} of 80 graphs" in report(many, "t", "")


def test_graphs_without_a_node_and_values_are_written_too(tmp_path: Path) -> None:
    empty = Recognition("none", 0.5, (), (), np.zeros((0, 2), dtype=int))
    assert "predicted class" not in report(Recognitions([empty]), "t", "")
    assert json.loads(json_lines(Recognitions([empty])))["subgraphs"] == []
    write_recognitions(Recognitions([empty]), tmp_path / "a.csv")


def test_other_endings_are_refused() -> None:
    with pytest.raises(InputError, match=r"written to \.csv, \.html, \.jsonl, \.parquet"):
        check_outputs([Path("a.csv"), Path("a.sdf")])


def test_an_ending_may_be_in_capitals(tmp_path: Path) -> None:
    write_recognitions(Recognitions(FOUND), tmp_path / "A.CSV")
    assert (tmp_path / "A.CSV").read_text().startswith("graph,name,prediction")
