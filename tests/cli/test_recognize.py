"""``vgib recognize``."""

import gzip
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rdkit import Chem
from tests.cli.support import DRUGS, Run, assert_explained, rows
from tests.model.passes import Passes

from vgib.model.recognizer import SubgraphRecognizer
from vgib.serve.recognition import Question, reply
from vgib.serve.shelf import ModelShelf


def test_smiles_are_recognized(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "c1ccccc1C(=O)O", "--model", model, "--keep-ratio", "0.5")
    assert done.code == 0
    found = rows(done.out)
    assert [row["smiles"] for row in found] == ["CCO", "c1ccccc1C(=O)O"]
    assert all(Chem.MolFromSmiles(row["subgraph"]) is not None for row in found)
    assert "2 molecules recognized, 0 refused" in done.err


def test_without_a_share_one_size_is_given(run: Run, model: Path) -> None:
    assert len(rows(run("recognize", DRUGS["smiles"][0], "--model", model).out)) == 1


def test_several_sizes_ranks_and_rules_can_be_asked_for(run: Run, model: Path) -> None:
    smiles = DRUGS["smiles"][2]
    shares = ("--keep-ratio", "0.3", "--keep-ratio", "0.7")
    done = run("recognize", smiles, "--model", model, *shares, "-n", "2")
    found = rows(done.out)
    assert [row["rank"] for row in found] == [str(n) for n in range(1, len(found) + 1)]
    assert len({row["atoms"] for row in found}) == len(found) >= 3
    for rule in ("ring_intact", "connected", "largest_part", "nodes"):
        assert run("recognize", smiles, "--model", model, "--rule", rule).code == 0


def sd_file(*smiles: str) -> str:
    return "".join(Chem.MolToMolBlock(Chem.MolFromSmiles(s)) + "$$$$\n" for s in smiles)


FILES: dict[str, str] = {
    "a.smi": "CCO ethanol\nCCN amine\n",
    "a.txt": "CCO\nCCN\n",
    "a.csv": "name,smiles\nethanol,CCO\namine,CCN\n",
    "a.tsv": "name\tsmiles\nethanol\tCCO\namine\tCCN\n",
    "a.sdf": sd_file("CCO", "CCN"),
    "a.smi.gz": "CCO\nCCN\n",
    "a.csv.gz": "smiles\nCCO\nCCN\n",
    "a.sdf.gz": sd_file("CCO", "CCN"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_answers(
    name: str, run: Run, model: Path, tmp_path: Path
) -> None:
    path, raw = tmp_path / name, FILES[name].encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    done = run("recognize", path, "--model", model)
    assert done.code == 0, done.err
    plain = rows(run("recognize", "CCO", "CCN", "--model", model).out)
    alike = [{**row, "line": "", "id": ""} for row in rows(done.out)]
    assert alike == [{**row, "line": "", "id": ""} for row in plain]


def test_standard_input_is_read(run: Run, model: Path) -> None:
    done = run("recognize", "--model", model, stdin=b"CCO\r\n\nCCN amine\n")
    assert [row["smiles"] for row in rows(done.out)] == ["CCO", "CCN"]


def test_a_column_can_be_named(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("first,second\nCCO,CCN\n")
    done = run("recognize", path, "--model", model, "--smiles-column", "second")
    assert rows(done.out)[0]["smiles"] == "CCN"
    wrong = run("recognize", path, "--model", model, "--smiles-column", "secnd")
    assert_explained(wrong, 1, "did you mean 'second'")
    assert wrong.out == ""  # not even a header


def test_json_is_one_object_a_line(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "oops", "CC", "--model", model, "--json")
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["line"] for record in records] == [1, 3]
    assert [len(record["scores"]) for record in records] == [3, 2]


def test_bad_and_mixed_molecules_are_reported_by_line(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "oops", "CC(=O)[O-].[Na+]", "[13CH4]", "--model", model)
    assert done.code == 0
    assert "line 2 (oops)" in done.err and "3 molecules recognized, 1 refused" in done.err
    assert "line 3: kept the largest of 2 components, CC(=O)[O-]" in done.err
    none = run("recognize", "oops", "C1CC", "--model", model)
    assert none.out == ""
    assert_explained(none, 1, "none of the 2 molecules can be used")


def test_one_atom_and_500_atoms_are_molecules(run: Run, model: Path) -> None:
    done = run("recognize", "C", "C" * 500, "--model", model)
    assert done.code == 0 and len(rows(done.out)) == 2


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_results_go_to_a_file(name: str, run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / name
    done = run("recognize", "CCO", "--model", model, "--out", out)
    assert done.code == 0 and done.out == ""
    as_json = ("--json",) if name.endswith("jsonl") else ()
    assert out.read_text() == run("recognize", "CCO", "--model", model, *as_json).out


def test_when_nothing_can_be_used_no_file_is_left(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("recognize", "oops", "--model", model, "--out", tmp_path / "a.csv")
    assert done.code == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("CCO", "--rule", "ring-intact"), 2, "did you mean 'ring_intact'"),
        (("CCO", "--keep-ratio", "0"), 1, "--keep-ratio is 0"),
        (("CCO", "--keep-ratio", "2"), 1, "--keep-ratio is 2"),
        (("CCO", "-n", "-1"), 2, "Invalid value for '-n'"),
        (("CCO", "--device", "cuda:99"), 1, "cannot compute on device 'cuda:99'"),
        (("CCO", "--out", "a.xlsx"), 1, "must end in .csv, .jsonl, .parquet, .sdf, .html"),
        (("CCO", "--property", "dose"), 1, "has no header, so there is no column 'dose'"),
        (("nowhere.csv",), 1, "there is no file 'nowhere.csv'"),
        (("nowhere.ism.gz",), 1, "there is no file"),
        (("CCO", __file__), 2, "give one file, or SMILES, not both"),
        ((str(Path(__file__).parent),), 1, "has no known ending"),
        ((), 1, "the file is empty"),
    ],
)
def test_a_mistake_in_recognizing_is_explained(
    arguments: tuple[str, ...], code: int, message: str, run: Run, model: Path
) -> None:
    assert_explained(run("recognize", *arguments, "--model", model), code, message)


@pytest.mark.parametrize(
    "options",
    [
        ("--ledger", "l.csv"),
        ("--property", "dose"),
        ("--pictures", "drawn"),
        ("--picture-format", "png"),
        ("--plain-cells",),
    ],
)
def test_what_a_cluster_does_not_write_into_a_folder_is_refused(
    options: tuple[str, ...], run: Run, model: Path, tmp_path: Path
) -> None:
    given = ("recognize", "CCO", "--model", model, "--engine", "ray", "--out", tmp_path / "found")
    told = f"{options[0]} is for files, and --out names a folder"
    assert_explained(run(*given, *options), 2, told)


def test_standard_input_may_be_gzipped_and_of_any_kind(run: Run, model: Path) -> None:
    done = run("recognize", "--model", model, stdin=gzip.compress(b"CCO\n", mtime=0))
    assert [row["smiles"] for row in rows(done.out)] == ["CCO"]
    raw = sd_file("CCO").encode()
    done = run("recognize", "--model", model, "--format", "sdf", stdin=raw)
    assert [row["smiles"] for row in rows(done.out)] == ["CCO"]


def test_standard_input_that_is_no_text_is_explained(run: Run, model: Path) -> None:
    done = run("recognize", "--model", model, stdin=b"\xff\xfeC\x00")
    assert_explained(done, 1, "standard input is UTF-16")
    done = run("recognize", "--model", model, stdin=b"C\xff")
    assert_explained(done, 1, "standard input, line 1: not utf-8 text")


def test_a_terminal_is_not_waited_for(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(io, "TextIOWrapper", Terminal)
    assert_explained(run("recognize", "--model", model), 2, "give SMILES or a file")


def test_a_place_that_cannot_be_written_is_explained(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "--model", model, "--out", model / "card.json" / "a.csv")
    assert_explained(done, 1, "cannot write")


def test_a_wrong_model_is_explained(run: Run, tmp_path: Path) -> None:
    missing = run("recognize", "CCO", "--model", "modl")
    assert_explained(missing, 2, "no model folder or shipped model named 'modl'")
    nowhere = run("recognize", "CCO", "--model", "no/where")
    assert_explained(nowhere, 1, "there is no model folder 'no/where'")
    assert_explained(run("recognize", "CCO", "--model", tmp_path), 1, "not a model folder")
    (tmp_path / "card.json").write_text('{"card_version": 99}')
    assert_explained(run("recognize", "CCO", "--model", tmp_path), 1, "upgrade vgib")


def test_files_a_ledger_and_pictures_are_written_at_once(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    outs = [tmp_path / "out" / f"a{suffix}" for suffix in (".parquet", ".sdf", ".html")]
    wanted = [part for out in outs for part in ("--out", out)]
    extra = ("--ledger", tmp_path / "out" / "l.csv", "--pictures", tmp_path / "p", "--carry", "qed")
    done = run("recognize", table, "--model", model, *wanted, *extra, "--property", "side")
    assert done.code == 0, done.err
    assert f"{len(DRUGS)} molecules recognized, 0 refused" in done.err and str(outs[2]) in done.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "a.html",
        "a.parquet",
        "a.sdf",
        "l.csv",
    ]
    found = pq.read_table(outs[0])
    assert found["id"].to_pylist() == DRUGS["name"].tolist()
    assert [float(v) for v in found["qed"].to_pylist()] == pytest.approx(DRUGS["qed"].tolist())
    assert len(list((tmp_path / "p").iterdir())) == len(DRUGS)


def test_a_shipped_model_answers_by_its_name_with_a_confidence(run: Run) -> None:
    (row,) = rows(run("recognize", "CC(=O)Oc1ccccc1C(=O)O").out)
    assert 0 <= float(row["stability"]) <= 1 and float(row["spread"]) > 0
    (alone,) = rows(run("recognize", "CC(=O)Oc1ccccc1C(=O)O", "--single").out)
    assert alone["stability"] == alone["spread"] == ""


@pytest.mark.slow
def test_processes_and_one_process_write_the_same_file(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    for workers in (1, 2):
        out = tmp_path / f"{workers}.csv"
        assert run("recognize", table, "--model", model, "--out", out, "--workers", workers)
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()


def test_only_bad_structures_leave_no_file_and_say_why(
    run: Run, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.smi"
    path.write_text("oops\nC1CC\n")
    done = run("recognize", path, "--model", model, "--out", tmp_path / "b.csv")
    assert_explained(done, 1, "none of the 2 molecules can be used; line 1 (oops)")
    assert list(tmp_path.iterdir()) == [path]


# ---- one molecule --------------------------------------------------------------------------------

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def test_one_molecule_is_counted_as_one(run: Run, model: Path) -> None:
    assert "1 molecule recognized, 0 refused" in run("recognize", "CCO", "--model", model).err


def test_one_molecule_makes_no_forward_pass_twice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = Passes(monkeypatch)
    assert run("recognize", ASPIRIN, "--model", "qed", "--fast").code == 0
    assert 3 < passes.calls <= 18 and passes.are_distinct()


def test_a_shipped_drug_goes_by_its_name(run: Run) -> None:
    told = json.loads(run("recognize", "Aspirin", "--model", "qed", "--json", "--fast").out)
    assert told["smiles"] == "CC(=O)Oc1ccccc1C(=O)O"
    assert run("recognize", "notadrug", "--model", "qed", "--fast").code == 1


def test_the_command_line_python_and_the_service_show_the_same_numbers(run: Run) -> None:
    told = json.loads(run("recognize", ASPIRIN, "--model", "mutagenicity", "--json").out)
    loaded = SubgraphRecognizer.load("mutagenicity")
    (python,) = loaded.recognize([ASPIRIN], effects=True)
    assert told["prediction"] == python.prediction
    assert told["statement"] == python.statement
    for name in ("scores", "effects", "subgraphs"):
        ours, theirs = told[name], python.to_json()[name]
        if name == "subgraphs":
            theirs = [{**part, "atoms": list(part["nodes"])} for part in theirs]
            theirs = [{key: part[key] for key in ours[0]} for part in theirs]
        assert ours == theirs
    question = Question("mutagenicity", (ASPIRIN,), details=True)
    (served,) = reply(ModelShelf(), [question])
    assert isinstance(served, dict) and served["results"] == [told]
    (row,) = rows(run("recognize", ASPIRIN, "--model", "mutagenicity").out)
    (part,) = told["subgraphs"]
    assert (row["score"], row["keep_ratio"]) == (str(part["score"]), str(part["keep_ratio"]))
    assert row["prediction"] == f"{told['prediction']:.5g}"
    assert [float(score) for score in row["scores"].split()] == told["scores"]
