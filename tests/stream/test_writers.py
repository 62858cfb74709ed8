"""Results as files of every kind."""

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdkit import Chem
from tests.stream.test_work import chunk_of

from vgib.errors import InputError, UnknownNameError, UnwritableError
from vgib.select.policy import Selection
from vgib.stream.chunks import iter_chunks
from vgib.stream.work import Recognize
from vgib.stream.writers import (
    check_outputs,
    csv_of,
    json_of,
    open_output,
    picture_writer,
    rejected_output,
    standard_output,
)

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "CC.[Na+]"]


@pytest.fixture(scope="module")
def results(model: Path) -> pa.Table:
    work = Recognize(model, Selection((0.3, 0.6), n=2))
    found = work(chunk_of(SMILES, id=["aspirin", 'ala, "L"', None], dose=["1", "2", None]))
    return found.results


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_row_for_each_part(results: pa.Table) -> None:
    found, expected = rows(csv_of(results)), results.to_pylist()
    assert len(found) == sum(len(row["subgraphs"]) for row in expected)
    place = 0
    for row in expected:
        for rank, part in enumerate(row["subgraphs"], 1):
            cells = found[place]
            assert (cells["line"], cells["rank"]) == (str(row["line"]), str(rank))
            assert cells["id"] == (row["id"] or "") and cells["dose"] == (row["dose"] or "")
            assert cells["subgraph"] == part["smiles"]
            assert cells["atoms"].split() == [str(atom) for atom in part["atoms"]]
            assert float(cells["score"]) == pytest.approx(part["score"], abs=6e-5)
            scores = [float(score) for score in cells["scores"].split()]
            assert scores == pytest.approx(row["scores"], abs=6e-5)
            assert float(cells["prediction"]) == pytest.approx(row["prediction"], rel=1e-4)
            place += 1
    assert found[-1]["note"].startswith("kept the largest")


def test_csv_of_slices_is_the_csv_of_the_whole(results: pa.Table) -> None:
    parts = [csv_of(results.slice(0, 1)), csv_of(results.slice(1), with_header=False)]
    assert "".join(parts) == csv_of(results)
    assert csv_of(results.slice(0, 0)) == ""


def test_csv_without_parts_has_a_row_for_each_molecule(model: Path) -> None:
    found = rows(csv_of(Recognize(model, scores_only=True)(chunk_of(SMILES)).results))
    assert [row["line"] for row in found] == ["1", "2", "3"]
    assert {row["subgraph"] for row in found} == {""} and found[0]["scores"]


def test_json_has_an_object_for_each_molecule(results: pa.Table) -> None:
    found = [json.loads(line) for line in json_of(results).splitlines()]
    assert [row["line"] for row in found] == [1, 2, 3]
    assert found[0]["subgraphs"][0]["atoms"] == results["subgraphs"][0].as_py()[0]["atoms"]
    assert all(len(str(score)) <= 6 for score in found[0]["scores"])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sdf"])
def test_a_file_is_whole_or_not_there(suffix: str, results: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text("old")
    with pytest.raises(KeyError), open_output(path, results.schema) as write:
        write(results.slice(0, 1))
        raise KeyError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with open_output(path, results.schema) as write:
        write(results.slice(0, 1))
        write(results.slice(1))
    assert list(tmp_path.iterdir()) == [path]
    if suffix == ".csv":
        assert path.read_text() == csv_of(results)
    elif suffix == ".jsonl":
        assert path.read_text() == json_of(results)
    elif suffix == ".parquet":
        assert pq.read_table(path).equals(results)
        assert b"from 1" in pq.read_schema(path).field("line").metadata[b"about"]


def test_sd_records_carry_atom_scores_and_tags(results: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "a.sdf"
    with open_output(path, results.schema) as write:
        write(results)
    for mol, row in zip(Chem.SDMolSupplier(str(path)), results.to_pylist(), strict=True):
        assert mol.GetProp("_Name") == (row["id"] or "")
        scores = [atom.GetDoubleProp("score") for atom in mol.GetAtoms()]
        assert scores == pytest.approx(row["scores"], abs=6e-5)
        assert float(mol.GetProp("prediction")) == pytest.approx(row["prediction"])
        assert mol.GetProp("subgraph_1") == row["subgraphs"][0]["smiles"]
        atoms = [int(atom) for atom in mol.GetProp("subgraph_1_atoms").split()]
        symbols = [mol.GetAtomWithIdx(atom).GetSymbol() for atom in atoms]
        part = Chem.MolFromSmiles(row["subgraphs"][0]["smiles"])
        told = [atom.GetSymbol() for atom in part.GetAtoms() if atom.GetAtomicNum()]
        assert sorted(symbols) == sorted(told)
        assert mol.HasProp("spread") == 0  # one model has none


def test_standard_output_is_csv_or_json(
    results: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    for as_json, form in ((False, csv_of), (True, json_of)):
        with standard_output(as_json) as write:
            write(results.slice(0, 2))
            write(results.slice(2))
        assert capsys.readouterr().out == form(results)


def test_refused_records_get_a_file_of_their_own(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.rejected.csv"
    work = Recognize(model)
    with rejected_output(path) as write:
        for smiles in (["CC"], ["oops", "CC"], ["C1"]):
            write(work(chunk_of(smiles)))
    found = rows(path.read_text())
    assert [row["text"] for row in found] == ["oops", "C1"] and all(r["reason"] for r in found)
    with rejected_output(path) as write:
        write(work(chunk_of(["CC"])))
    assert not path.exists()  # nor is there one of an earlier run


@pytest.mark.parametrize(("format", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_pictures_are_named_by_line_and_name(
    format: str, start: bytes, results: pa.Table, tmp_path: Path
) -> None:
    picture_writer(tmp_path / "new", format)(results)
    found = sorted((tmp_path / "new").iterdir())
    names = ("000001_aspirin", "000002_ala_L", "000003")
    assert [path.name for path in found] == [f"{name}.{format}" for name in names]
    assert all(path.read_bytes().startswith(start) for path in found)
    with pytest.raises(UnknownNameError, match="no picture format named 'gif'"):
        picture_writer(tmp_path, "gif")


def test_pictures_tell_signed_effects_in_their_unit(model: Path, tmp_path: Path) -> None:
    found = Recognize(model, details=True)(chunk_of(SMILES[:1])).results
    picture_writer(tmp_path, "svg", "log units")(found)
    largest = max(map(abs, found["effects"][0].as_py()))
    text = (tmp_path / "000001.svg").read_text()
    assert "log units" in text and f"+{largest:.2g}" in text


def test_outputs_are_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.csv, \.jsonl"):
        check_outputs([tmp_path / "a.xlsx"])
    with pytest.raises(InputError, match="asked for twice"):
        check_outputs([tmp_path / "a.csv"] * 2)
    (tmp_path / "file").touch()
    with pytest.raises(UnwritableError, match="cannot write"):
        check_outputs([tmp_path / "file" / "a.csv"])


@pytest.mark.hostile
def test_no_cell_of_the_input_is_a_formula_of_a_spreadsheet(model: Path) -> None:
    names = ["=1+1", "+x", "@cmd", "-2.5", "-x", "plain"]
    lines = [f"CCO {name}" for name in names]
    chunk = next(iter_chunks(lines)).records
    results = Recognize(model)(chunk).results
    shown = [row["id"] for row in rows(csv_of(results))]
    assert shown == ["'=1+1", "'+x", "'@cmd", "-2.5", "'-x", "plain"]
    assert [row["id"] for row in rows(csv_of(results, plain=True))] == names
