"""``vgib train``."""

import json
from pathlib import Path

import pytest
import torch
from tests.cli.support import DRUGS, QUICK, Run, assert_explained

from vgib.data.synthetic import generate_ba2motifs
from vgib.model.recognizer import SubgraphRecognizer


def test_training_on_a_table_saves_a_model_that_recognizes(
    run: Run, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "model"
    done = run("train", table, "--target", "qed", "--out", out, *QUICK)
    assert done.code == 0
    assert "mean absolute error" in done.out and "control" in done.out
    assert str(out) in done.err and "Traceback" not in done.err
    card = json.loads((out / "card.json").read_text())
    assert card["training"]["epochs"] == 1 and card["metrics"]["r_squared"]["n"] == 4
    assert card["summary"] == f"qed, learned from {table}" and card["license"] == "not stated"
    assert card["tolerance"] and (out / "known.safetensors").is_file()
    assert run("recognize", "CCO", "--model", out).code == 0


def test_training_prints_json(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = run("train", table, "--target", "side", "--classes", "--out", out, "--json", *QUICK)
    record = json.loads(done.out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert record["model"] == str(out) and "accuracy" in record["metrics"]


def test_members_of_other_seeds_answer_together(run: Run, table: Path, tmp_path: Path) -> None:
    asked = ("train", table, "--target", "qed", "--seed", "4", *QUICK)
    assert run(*asked, "--out", tmp_path / "usual").code == 0
    assert run(*asked, "--out", tmp_path / "alone", "--members", "1").code == 0
    usual, alone = (SubgraphRecognizer.load(tmp_path / name) for name in ("usual", "alone"))
    assert [one.card_.training["seed"] for one in usual.members()] == [4, 5, 6]
    assert len(alone.members()) == 1
    assert usual.members()[0].predict(["CCO"]) == alone.predict(["CCO"])
    assert run(*asked, "--out", tmp_path / "none", "--members", "0").code == 2


@pytest.mark.parametrize("split", ["random", "scaffold", "file-order"])
def test_every_split_trains(split: str, run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    assert run("train", table, "--target", "qed", "--out", out, "--split", split, *QUICK).code == 0


def test_settings_reach_the_model(run: Run, table: Path, tmp_path: Path) -> None:
    settings = ("--set", "readout=mean", "--set", "standardize=False", "--set", "clip=null")
    parts = ("--encoder", "gin", "--bottleneck", "gsat", "--preset", "paper", "--seed", "3")
    done = run(
        "train", table, "--target", "qed", "--out", tmp_path / "m", *parts, *settings, *QUICK
    )
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    assert done.code == 0
    assert (card["encoder"], card["bottleneck"], card["preset"]) == ("gin", "gsat", "paper")
    assert card["architecture"]["readout"] == "mean" and not card["architecture"]["standardize"]
    assert card["training"]["seed"] == 3 and card["training"]["clip"] is None


def test_an_interrupted_training_goes_on(run: Run, table: Path, tmp_path: Path) -> None:
    paper = (
        "--bottleneck",
        "vgib-paper",
        "--set",
        "cosine=false",
    )  # of one stage, which can be made longer afterwards
    common = ("train", table, "--target", "qed", *paper, "--checkpoint", tmp_path / "c", "--out")
    run(*common, tmp_path / "a", *QUICK)
    longer = run(*common, tmp_path / "b", *QUICK, "--set", "epochs=2")
    assert longer.code == 0
    other = run(*common, tmp_path / "b", *QUICK, "--set", "lr=0.5")
    assert_explained(other, 1, "made with other settings")


def test_lines_that_cannot_be_used_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    good = "".join(f"{s},{v}\n" for s, v in zip(DRUGS["smiles"], DRUGS["qed"], strict=True))
    path.write_text(f"smiles,y\noops,1\nCC(=O)[O-].[Na+],0.4\nCC,\n{good}")
    done = run("train", path, "--target", "y", "--out", tmp_path / "m", *QUICK)
    assert done.code == 0
    assert "line 2 (oops)" in done.err and "no label in column 'y'" in done.err
    assert "line 3 (CC(=O)[O-].[Na+]): Left out [Na+]; removed charges." in done.err


def test_words_are_classes_that_keep_their_names(run: Run, tmp_path: Path) -> None:
    side = ["Active" if n % 2 else "inactive" for n in range(len(DRUGS))]
    path, out = tmp_path / "a.xlsx", tmp_path / "m"
    DRUGS.rename(columns={"name": "Internal ID"}).assign(side=side).to_excel(path, index=False)
    done = run("train", path, "--target", "side", "--out", out, *QUICK)
    assert done.code == 0 and "column 'side' holds classes: inactive, Active" in done.err
    card = json.loads((out / "card.json").read_text())
    assert card["class_names"] == ["inactive", "Active"] and card["standard"] == "usual"
    told = run("recognize", "[Na+].CCCC(=O)[O-]", "Aspirin", "--model", out, "--json")
    salt, aspirin = (json.loads(line) for line in told.out.splitlines())
    assert salt["smiles"] == "CCCC(=O)O" and salt["note"] == "Left out [Na+]; removed charges."
    assert aspirin["id"] == "Aspirin" and aspirin["statement"].split()[0] in ("inactive", "Active")
    judged = run("evaluate", path, "--model", out, "--target", "side")
    assert judged.code == 0 and judged.out.count("accuracy") == 4  # of all, and of the new ones
    assert f"of these {len(DRUGS)} molecules were learned from" in judged.err
    other = tmp_path / "b.csv"
    DRUGS.assign(side=["red", "green"] * (len(DRUGS) // 2)).to_csv(other, index=False)
    wrong = run("evaluate", other, "--model", out, "--target", "side")
    assert_explained(wrong, 1, "the classes are called green, red; this model knows inactive")


def test_several_targets_with_gaps_and_decimal_commas_are_learned(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "m"
    table = DRUGS.assign(size=[len(text) for text in DRUGS["smiles"]])
    table.loc[::5, "size"] = float("nan")
    table.to_csv(path, index=False, sep=";", decimal=",")
    targets = ("--target", "qed", "--target", "size")
    done = run("train", path, *targets, "--standard", "none", "--out", out, *QUICK)
    assert done.code == 0, done.err
    card = json.loads((out / "card.json").read_text())
    assert (card["targets"], card["outputs"], card["standard"]) == (["qed", "size"], 2, "none")
    page = tmp_path / "a.html"
    told = run("recognize", path, "--model", out, "--json")
    row = json.loads(told.out.splitlines()[0])
    assert row["statement"].startswith("qed ") and ", size " in row["statement"]
    assert float(row["qed"]) == pytest.approx(DRUGS["qed"][0])
    assert run("recognize", path, "--model", out, "--out", page).code == 0
    words = table.assign(side="yes")
    words.to_csv(path, index=False)
    mixed = run("train", path, "--target", "qed", "--target", "side", "--out", out, *QUICK)
    assert_explained(mixed, 1, "column 'side' holds words, not numbers")


def test_graphs_without_an_explanation_or_of_the_catalog_are_trained_on(
    run: Run, tmp_path: Path
) -> None:
    done = run("train", "BA-2Motifs", "--out", tmp_path / "m", "--json", *QUICK)
    assert json.loads(done.out)["metrics"]["node_auc"]["n"] == 100
    assert_explained(
        run("recognize", "CCO", "--model", tmp_path / "m"), 2, "was not trained on molecules"
    )
    scaffold = run("train", "BA-2Motifs", "--out", tmp_path / "m", "--split", "scaffold", *QUICK)
    assert_explained(scaffold, 1, "only molecules have scaffolds")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--target", "qedd"), 1, "did you mean 'qed'"),
        ((), 1, "name the column to learn"),
        (("--target", "name"), 1, "none of the 36 molecules can be used"),
        (("--target", "qed", "--classes"), 1, "is not a whole number from 0"),
        (("--target", "qed", "--smiles-column", "smile"), 1, "did you mean 'smiles'"),
        (("--target", "qed", "--encoder", "gcm"), 2, "did you mean 'gcn'"),
        (("--target", "qed", "--bottleneck", "vgibb"), 2, "did you mean 'vgib'"),
        (("--target", "qed", "--preset", "papre"), 2, "did you mean 'paper'"),
        (("--target", "qed", "--features", "rick"), 2, "did you mean 'rich'"),
        (("--target", "qed", "--split", "scafold"), 2, "did you mean 'scaffold'"),
        (("--target", "qed", "--set", "epoch=3"), 2, "did you mean 'epochs'"),
        (("--target", "qed", "--set", "epochs=0"), 1, "epochs=0"),
        (("--target", "qed", "--set", "epochs=many"), 1, "epochs='many'"),
        (("--target", "qed", "--set", "beta=abc"), 1, "beta='abc'"),
        (("--target", "qed", "--set", "epochs"), 1, "expected key=value"),
        (("--target", "qed", "--device", "gpu"), 1, "cannot compute on device 'gpu'"),
        (("--target", "qed", "--seed", "-1"), 1, "seed=-1"),
        (("--target", "qed", "--seed", "one"), 2, "Invalid value for '--seed'"),
        (("--target", "qed", "--cheese"), 2, "No such option"),
    ],
)
def test_a_mistake_in_training_is_explained(
    arguments: tuple[str, ...], code: int, message: str, run: Run, table: Path, tmp_path: Path
) -> None:
    done = run("train", table, "--out", tmp_path / "model", *QUICK, *arguments)
    assert_explained(done, code, message)
    assert not (tmp_path / "model" / "card.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nowhere.csv", None, "there is no file"),
        ("empty.csv", "", "the file is empty"),
        ("bad.csv", "smiles,qed\nxx,1\nyy,2\n", "none of the 2 molecules can be used"),
        ("nan.csv", "smiles,qed\nCC,nan\nC,inf\n", "none of the 2 molecules can be used"),
        ("one.csv", "smiles,qed\nCC,1\nC,2\n", "too few"),
        ("a.zip", "no zip", "a.zip"),
        ("a.csv.gz", "no gzip", "none of the|no column|smiles"),
    ],
)
def test_data_that_cannot_be_used_are_explained(
    name: str, content: str | None, message: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    done = run("train", path, "--target", "qed", "--out", tmp_path / "model", *QUICK)
    assert done.code in (1, 2) and "Traceback" not in done.err
    assert any(part in done.err for part in message.split("|")), done.err


def test_a_folder_that_cannot_be_written_is_found_before_training(
    run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SubgraphRecognizer, "fit", lambda *a, **k: pytest.fail("too late"))
    done = run("train", table, "--target", "qed", "--out", table, *QUICK)
    assert_explained(done, 1, "cannot write")


def test_a_folder_of_data_files_is_trained_on_and_judged(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for number, data in enumerate(generate_ba2motifs(60)):
        torch.save(data, folder / f"{number}.pt")
    trained = run("train", folder, "--out", tmp_path / "m", "--json", *QUICK)
    assert json.loads(trained.out)["metrics"]["accuracy"]["n"] == 6
    judged = run("evaluate", folder, "--model", tmp_path / "m", "--json")
    assert json.loads(judged.out)["metrics"]["accuracy"]["n"] == 60
    folds = run("evaluate", folder, "--folds", "3", "--json", *QUICK)
    assert len(json.loads(folds.out)["folds"]) == 3
