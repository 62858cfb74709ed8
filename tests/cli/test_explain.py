"""``vgib explain``."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from rdkit import Chem
from tests.cli.support import DRUGS, Run, assert_explained

from vgib.data.synthetic import generate_ba2motifs
from vgib.data.tu import read_tu
from vgib.errors import UnwritableError
from vgib.explain import report as explaining
from vgib.explain.adapter import PosthocVGIB
from vgib.explain.explainer import explainers
from vgib.model.recognizer import SubgraphRecognizer


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = SubgraphRecognizer("gin", "none", epochs=1, hidden=8)
    trained.fit(generate_ba2motifs(30))
    return trained.save(tmp_path_factory.mktemp("models") / "motifs")


def test_molecules_are_explained_and_bad_lines_named(run: Run, model: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("smiles,qed\n" + "\n".join(f"{s},1" for s in [*DRUGS["smiles"][:6], "oops"]))
    done = run("explain", path, "--model", model, "--out", out, "--method", "ig")
    assert done.code == 0, done.err
    assert "line 8 (oops)" in done.err and "6 graphs explained" in done.err
    assert "change fidelity plus" in done.out and "control random" in done.out
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["refused"][0]["line"] == 8 and metrics["source"] == "a.csv"
    assert pd.read_csv(out / "subgraphs.csv")["subgraph"].notna().all()
    assert (out / "report.html").read_text().count("<svg") == 6


def test_graphs_of_the_catalog_are_explained_from_a_model_without_a_bottleneck(
    run: Run, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PosthocVGIB.__init__.__kwdefaults__, "steps", 20)
    common = ("explain", "BA-2Motifs", "--model", classifier, "--limit", "12", "--json")
    done = run(*common, "--out", tmp_path / "out", "--keep-ratio", "0.2", "--pictures", "3")
    found = json.loads(done.out)
    assert found["graphs"] == 12 and found["keep_ratio"] == 0.2 and found["method"] == "vgib"
    assert found["ground_truth"]["node_auc"]["n"] == 12
    assert (tmp_path / "out" / "report.html").read_text().count("<svg") == 3


FILES = {
    "a.smi": "CCO ethanol\nc1ccccc1O\n",
    "a.tsv": "name\tsmiles\nethanol\tCCO\nphenol\tc1ccccc1O\n",
    "a.sdf": "".join(
        Chem.MolToMolBlock(Chem.MolFromSmiles(smiles)) + "$$$$\n" for smiles in ("CCO", "c1ccccc1O")
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_is_explained_by_a_shipped_model(
    name: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(FILES[name])
    common = ("--model", "qed", "--method", "gradcam", "--json", "--out", tmp_path / "out")
    done = run("explain", tmp_path / name, *common)
    assert json.loads(done.out)["graphs"] == 2, done.err
    named = pd.read_csv(tmp_path / "out" / "subgraphs.csv")["name"].tolist()
    assert [Chem.CanonSmiles(smiles) for smiles in named] == ["CCO", "Oc1ccccc1"]


def test_a_tu_folder_and_a_folder_of_data_files_are_explained_alike(
    run: Run, tmp_path: Path
) -> None:
    tu, files = tmp_path / "TOY", tmp_path / "data"
    for folder in (tu, files):
        folder.mkdir()
    parts = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": "1\n1\n2\n2\n2\n",
        "graph_labels": "1\n0\n",
        "node_labels": "0\n1\n1\n0\n2\n",
    }
    for part, text in parts.items():
        (tu / f"TOY_{part}.txt").write_text(text)
    graphs = read_tu(tu)
    for number, data in enumerate(graphs):
        torch.save(data, files / f"{number}.pt")
    SubgraphRecognizer("gin", "none", epochs=1, hidden=8).fit(graphs).save(tmp_path / "m")
    for folder in (tu, files):
        out = tmp_path / f"{folder.name}-out"
        done = run("explain", folder, "--model", tmp_path / "m", "--method", "ig", "--out", out)
        assert done.code == 0, done.err
    tables = [(tmp_path / f"{f.name}-out" / "scores.csv").read_text() for f in (tu, files)]
    assert tables[0] == tables[1]


def test_learning_elsewhere_and_true_classes(run: Run, table: Path, tmp_path: Path) -> None:
    trained = tmp_path / "m"
    quick = ("--set", "epochs=1", "--set", "hidden=8", "--bottleneck", "none")
    run("train", table, "--target", "side", "--classes", "--out", trained, *quick)
    done = run(
        *("explain", table, "--model", trained, "--target", "side", "--fit-on", table),
        *("--limit", "5", "--method", "pgexplainer", "--out", tmp_path / "out", "--json"),
    )
    found = json.loads(done.out)
    assert found["graphs"] == 5
    assert found["subgraphs"][0]["definition"] == "accuracy"


def test_the_help_names_every_method(run: Run) -> None:
    text = " ".join(run("explain", "--help").out.replace("│", " ").split())
    assert [name for name in explainers.names() if name not in text] == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--method", "grad_cam"), 2, "did you mean 'gradcam'"),
        (("--keep-ratio", "0"), 1, "--keep-ratio is 0"),
        (("--rule", "conected"), 2, "did you mean 'connected'"),
        (("--smiles-column", "smile"), 1, "did you mean 'smiles'"),
        (("--target", "qedd"), 1, "did you mean 'qed'"),
        (("--fit-on", "nowhere.csv"), 1, "there is no file 'nowhere.csv'"),
        (("--limit", "0"), 2, "Invalid value for '--limit'"),
        (("--model", "no/where"), 1, "there is no model folder"),
        (("--close", "atoms"), 2, "--close has no use without --function; leave it out"),
        (("--effects", "closing"), 2, "--effects has no use without --function"),
        (("--workers", "2"), 2, "--workers has no use without --engine ray"),
        (("--address", "auto"), 2, "--address has no use without --engine ray"),
        (("--resume",), 2, "--resume has no use without --engine ray"),
        (("--engine", "ray", "--limit", "3"), 2, "--limit has no use with --engine ray"),
        (("--engine", "ray", "--target", "qed"), 2, "--target has no use with --engine ray"),
        (("--engine", "ray", "--pictures", "3"), 2, "--pictures has no use with --engine ray"),
        (("--engine", "ray", "--mirror", "."), 2, "--mirror has no use with --engine ray"),
        (("--engine", "ray", "--cache", "."), 2, "--cache has no use with --engine ray"),
    ],
)
def test_a_mistake_is_explained_and_nothing_written(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    run: Run,
    model: Path,
    table: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    done = run("explain", table, "--model", model, "--out", out, "--method", "ig", *arguments)
    assert_explained(done, code, message)
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "the file is empty"),
        ("bad.csv", "smiles\nxx\nyy\n", "none of the 2 molecules can be used"),
        ("none.csv", "name,mass\nethanol,46\n", "no column holds SMILES"),
        ("a.zip", "no zip", "a.zip"),
        ("a.pt", "no torch", "no file of torch"),
    ],
)
def test_data_that_cannot_be_used_are_explained(
    name: str, content: str, message: str, run: Run, model: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    done = run("explain", tmp_path / name, "--model", model, "--out", tmp_path / "out")
    assert_explained(done, 1, message)
    assert not (tmp_path / "out").exists()


def test_molecules_and_other_graphs_are_not_confused(
    run: Run, model: Path, classifier: Path, table: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "out", "--limit", "5")
    wrong = run("explain", table, "--model", classifier, *out)
    assert_explained(wrong, 1, "this model was trained on")
    other = run("explain", "BA-2Motifs", "--model", model, *out)
    assert_explained(other, 1, "this model was trained on")


def test_a_folder_of_someone_else_is_left_alone(
    run: Run, model: Path, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    done = run("explain", table, "--model", model, "--out", tmp_path)
    assert_explained(done, 1, "which is not of this command; choose an empty or a new folder")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert_explained(run("explain", table, "--model", model, "--out", table), 1, "is a file")


def test_a_failure_while_writing_leaves_the_old_folder(
    run: Run, model: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("explain", table, "--model", model, "--method", "random", "--limit", "4")
    assert run(*common, "--out", tmp_path / "out").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(*_: object) -> str:
        raise UnwritableError("no room")

    monkeypatch.setattr(explaining, "_report", full)
    assert_explained(run(*common, "--out", tmp_path / "out", "--seed", "1"), 1, "no room")
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
