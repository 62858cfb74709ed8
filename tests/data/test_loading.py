"""Graphs from whatever a user names."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from vgib.chem.mol import scaffold
from vgib.data import loading
from vgib.data.loading import SPLITS, load_graphs, split_graphs
from vgib.data.molecules import Molecules, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.synthetic import generate_ba2motifs
from vgib.errors import FileFormatError, InputError, UnknownNameError, VgibError

DRUGS = load_drugs().head(40).assign(weight=lambda table: table["smiles"].str.len().astype(float))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "drugs.csv"
    DRUGS.assign(is_long=(DRUGS["weight"] > 30).astype(int)).to_csv(path, index=False)
    return path


@pytest.fixture
def offline_table(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a data frame in the place of a table of the catalog."""

    def put(frame: pd.DataFrame) -> str:
        monkeypatch.setattr(loading.catalog, "load_table", lambda *args, **options: frame)
        return "vgib/qed" if "qed" in frame else "ZINC250K"

    return put


# ---- the catalog ---------------------------------------------------------------------------------


def test_a_name_of_the_catalog_gives_its_graphs() -> None:
    graphs = load_graphs("ba-2motifs")
    assert isinstance(graphs, PackedGraphs)
    assert graphs.fingerprint() == generate_ba2motifs().fingerprint()


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'MUTAG'"):
        load_graphs("MUTAGG")


def test_mutag_comes_from_the_mirror(mirror: Path, tmp_path: Path) -> None:
    graphs = load_graphs("MUTAG", mirror=mirror, cache=tmp_path)
    assert isinstance(graphs, PackedGraphs) and len(graphs) == 188


def test_a_property_list_comes_from_the_mirror_with_its_only_column(
    mirror: Path, tmp_path: Path
) -> None:
    found = load_graphs("vgib/drd2", mirror=mirror, cache=tmp_path, features="element")
    assert isinstance(found, Molecules) and len(found) == 3000
    assert found.graphs.y.min() >= 0.5 and found.graphs.x.shape[1] == 1


def test_a_mirror_that_is_not_there_is_answered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder; give an existing one"):
        load_graphs("MUTAG", mirror=tmp_path / "nowhere", cache=tmp_path)


def test_a_column_of_a_table_is_asked_for_and_suggested(offline_table: Any) -> None:
    name = offline_table(
        pd.DataFrame({"smiles": ["CC", "CCO"], "logp": [0.5, 1.5], "sas": [1.0, 2.0]})
    )
    with pytest.raises(InputError, match=r"several columns; name one of logp, sas"):
        load_graphs(name)
    with pytest.raises(UnknownNameError, match="did you mean 'logp'"):
        load_graphs(name, target="logb")
    found = load_graphs(name, target="sas")
    assert isinstance(found, Molecules) and found.graphs.y.tolist() == [1.0, 2.0]


def test_rows_of_a_table_without_the_label_are_left_out(offline_table: Any) -> None:
    name = offline_table(pd.DataFrame({"smiles": ["CC", "CCO", "C"], "qed": [0.5, np.nan, 0.7]}))
    assert load_graphs(name).graphs.ids == ("CC", "C")


@pytest.mark.parametrize("labeled", [True, False])
def test_molecules_of_a_table_may_be_limited_in_size(offline_table: Any, labeled: bool) -> None:
    name = offline_table(pd.DataFrame({"smiles": ["CC", "CCCCCC"], "qed": [0.5, 0.7]}))
    found = load_graphs(name, labeled=labeled, max_atoms=4)
    assert found.graphs.ids == ("CC",) and "max_atoms" in found.rejected[0].reason


def test_classes_of_a_table_are_whole_numbers(offline_table: Any) -> None:
    whole = offline_table(pd.DataFrame({"smiles": ["CC", "CCO"], "qed": [0.0, 1.0]}))
    found = load_graphs(whole, target_kind="class")
    assert found.graphs.y.dtype == torch.int64 and found.graphs.y.tolist() == [0, 1]
    values = offline_table(pd.DataFrame({"smiles": ["CC", "CCO"], "qed": [0.2, 1.7]}))
    with pytest.raises(InputError, match="holds values, not classes"):
        load_graphs(values, target_kind="class")


def test_a_column_of_text_cannot_be_learned(offline_table: Any) -> None:
    name = offline_table(pd.DataFrame({"smiles": ["CC", "CCO"], "qed": ["high", "low"]}))
    with pytest.raises(InputError, match="holds no numbers: 'high'"):
        load_graphs(name)


# ---- files ---------------------------------------------------------------------------------------


def test_a_csv_gives_molecules_with_the_named_column(table: Path) -> None:
    found = load_graphs(table, target="weight")
    assert isinstance(found, Molecules)
    assert found.graphs.y.tolist() == DRUGS["weight"].tolist()
    classes = load_graphs(str(table), target="is_long", target_kind="class")
    assert classes.graphs.y.dtype == torch.int64
    named = load_graphs(table, target="weight", smiles_column="smiles", features="element")
    assert named.graphs.x.shape[1] == 1


def test_the_second_field_of_a_smi_file_is_the_label(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO 0.5 7\nCC 0.25 8\n")
    assert load_graphs(path).graphs.y.tolist() == [0.5, 0.25]
    assert load_graphs(path, target="2").graphs.y.tolist() == [7.0, 8.0]


def test_a_packed_file_comes_back(tmp_path: Path) -> None:
    graphs = generate_ba2motifs(5)
    graphs.save(tmp_path / "a.safetensors")
    assert load_graphs(tmp_path / "a.safetensors").fingerprint() == graphs.fingerprint()


TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n1\n0\n",
}


def test_a_tu_folder_and_its_zip_give_the_same_graphs(tmp_path: Path) -> None:
    folder = tmp_path / "TOY"
    folder.mkdir()
    for part, text in TU.items():
        (folder / f"TOY_{part}.txt").write_text(text)
    packed = shutil.make_archive(str(tmp_path / "TOY"), "zip", tmp_path, "TOY")
    one, other = load_graphs(folder), load_graphs(packed)
    assert len(one) == 2 and one.fingerprint() == other.fingerprint()


def test_a_folder_of_data_files_is_told_from_a_tu_folder(tmp_path: Path) -> None:
    graphs = generate_ba2motifs(4)
    for number, data in enumerate(graphs):
        torch.save(data, tmp_path / f"{number}.pt")
    found = load_graphs(tmp_path)
    assert found.fingerprint() == graphs.fingerprint()
    assert load_graphs(tmp_path / "2.pt").fingerprint() == graphs[[2]].fingerprint()
    assert len(load_graphs(tmp_path, limit=3)) == 3


def test_labels_may_be_left_out_and_lines_be_limited(table: Path, tmp_path: Path) -> None:
    found = load_graphs(table, labeled=False, limit=7)
    assert len(found) == 7 and found.graphs.y is None
    (tmp_path / "a.smi").write_text("CCO\nCC\n")
    assert load_graphs(tmp_path / "a.smi", labeled=False).graphs.y is None
    assert load_graphs(table, target="weight", labeled=False).graphs.y is not None


def test_a_truncated_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(FileFormatError):
        load_graphs(path)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("none.csv", None, {}, "there is no file"),
        ("a/b/none", None, {}, "there is no file"),
        ("none.zip", None, {}, "there is no file"),
        ("empty.csv", "", {"target": "y"}, "empty"),
        ("header.csv", "smiles,y\n", {"target": "y"}, "none of the 0 molecules"),
        ("a.csv", "smiles,y\nCCO,1\n", {}, "with target. Columns: smiles, y"),
        ("a.csv", "smiles,weight\nCCO,1\n", {"target": "wieght"}, "did you mean 'weight'"),
        ("a.csv", "name,y\nethanol,1\n", {"target": "y"}, "smiles"),
        ("bad.csv", "smiles,y\nxx,1\nyy,2\n", {"target": "y"}, "none of the 2 molecules"),
        ("a.csv", "smiles,y\nCCO,\n", {"target": "y"}, "no label in column 'y'"),
        ("a.doc", "CCO", {"target": "y"}, "has no known ending"),
        ("a.safetensors", "text", {}, "not a file of packed graphs"),
    ],
)
def test_a_file_that_cannot_be_used_is_answered(
    name: str, content: str | None, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(VgibError, match=rf"(?i){message}"):
        load_graphs(path, **options)  # type: ignore[arg-type]


# ---- splits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", SPLITS)
def test_every_split_gives_each_graph_one_part(how: str, table: Path) -> None:
    found = load_graphs(table, target="weight")
    split = split_graphs(found.graphs, how)
    everything = np.concatenate([split.train, split.val, split.test])
    assert sorted(everything) == list(range(40))
    assert len(split.train) >= 30 and len(split.val) >= 1 and len(split.test) >= 2
    of_molecules = split_graphs(found, how)
    assert np.array_equal(of_molecules.test, split.test)


def test_the_seed_changes_the_random_splits_only(table: Path) -> None:
    graphs = load_graphs(table, target="weight").graphs
    for how, moves in (("random", True), ("scaffold", True), ("file-order", False)):
        one, other = split_graphs(graphs, how), split_graphs(graphs, how, seed=1)
        assert np.array_equal(one.test, other.test) is not moves
    assert split_graphs(graphs, "file-order").test.tolist() == [36, 37, 38, 39]


def test_molecules_of_one_scaffold_stay_together(table: Path) -> None:
    graphs = load_graphs(table, target="weight").graphs
    split = split_graphs(graphs, "scaffold")
    names = [scaffold(smiles) for smiles in graphs.ids]
    of_parts = [
        {names[i] for i in part if names[i]} for part in (split.train, split.val, split.test)
    ]
    assert not of_parts[0] & of_parts[1] | of_parts[0] & of_parts[2] | of_parts[1] & of_parts[2]


def test_only_molecules_have_scaffolds() -> None:
    with pytest.raises(InputError, match="use the random split"):
        split_graphs(generate_ba2motifs(20), "scaffold")


def test_an_unknown_split_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'scaffold'"):
        split_graphs(generate_ba2motifs(20), "scafold")


@pytest.mark.parametrize("source", ["drugs.csv", "BA-2Motifs", "ESOL", "TU:MUTAG"])
def test_an_argument_of_an_unknown_name_is_refused(table: Path, source: str) -> None:
    named = str(table) if source == table.name else source
    with pytest.raises(TypeError, match="unexpected keyword argument 'mirorr'"):
        load_graphs(named, target="weight", mirorr=table.parent)  # type: ignore[call-arg]
