"""``vgib explain --function``."""

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.support import Run, assert_explained

MODULE = """
def oxygens(smiles):
    return [text.count("O") for text in smiles]

def ethanol_only(smiles):
    return [1.0 if text == "CCO" else float("nan") for text in smiles]

def broken(smiles):
    raise RuntimeError("the service is down")
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of one's own and a table, from which the command is run."""
    (tmp_path / "my_model.py").write_text(MODULE)
    (tmp_path / "a.csv").write_text("name,smiles\nacid,CCC(=O)O\nbad,oops\nalcohol,CCO\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_function_of_ones_own_is_explained(run: Run, own: Path) -> None:
    done = run("explain", "a.csv", "--function", "my_model:oxygens", "--out", "out", "--json")
    assert done.code == 0, done.err
    assert "line 3 (oops)" in done.err
    assert json.loads(done.out) == {
        "folder": "out",
        "molecules": 2,
        "without_a_value": 0,
        "refused": 1,
    }
    parts = pd.read_csv(own / "out" / "effects.csv", keep_default_na=False)
    assert parts.columns.tolist()[:4] == ["row", "smiles", "value", "fragment"]
    assert parts[["row", "name", "effect"]].values.tolist() == [
        [1, "carboxyl", 2.0],
        [1, "", 0.0],
        [3, "", 1.0],
        [3, "", 0.0],
    ]
    atoms = pd.read_csv(own / "out" / "atoms.csv")
    assert atoms.groupby("row").effect.sum().tolist() == pytest.approx([2, 1], abs=1e-4)


def test_what_is_closed_and_how_effects_are_shared_can_be_chosen(run: Run, own: Path) -> None:
    given = ("explain", "a.csv", "--function", "my_model:oxygens", "--out", "out")
    assert run(*given, "--close", "atoms", "--effects", "closing").code == 0
    assert len(pd.read_csv(own / "out" / "effects.csv")) == 8


def test_molecules_without_a_value_are_counted(run: Run, own: Path) -> None:
    given = ("explain", "a.csv", "--function", "my_model:ethanol_only", "--out", "out", "--json")
    assert json.loads(run(*given).out)["without_a_value"] == 1


def test_files_are_read_as_for_a_model(run: Run, own: Path) -> None:
    (own / "a.csv").write_text("name,smiles\nsäure,CCC(=O)O\nalkohol,CCO\n", encoding="latin-1")
    given = ("explain", "a.csv", "--function", "my_model:oxygens", "--out", "out", "--json")
    plain = run(*given)
    assert json.loads(plain.out)["refused"] == 1 and "--encoding latin-1" in plain.err
    assert json.loads(run(*given, "--encoding", "latin-1").out)["refused"] == 0
    small = run(*given, "--encoding", "latin-1", "--max-atoms", "4")
    assert json.loads(small.out)["refused"] == 1 and "raise --max-atoms" in small.err
    narrow = run(*given, "--encoding", "latin-1", "--max-record", "13")
    assert json.loads(narrow.out)["refused"] == 1 and "--max-record" in narrow.err


def test_tables_of_the_catalog_are_explained_too(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pd.DataFrame({"smiles": ["CCO"], "qed": [0.5]})
    asked = {}

    def load_table(name: str, **places: object) -> pd.DataFrame:
        asked[name] = places
        return table

    monkeypatch.setattr("vgib.data.loading.catalog.load_table", load_table)
    given = ("--function", "my_model:oxygens", "--out", "out", "--mirror", own, "--cache", "kept")
    assert run("explain", "vgib/qed", *given).code == 0
    assert asked == {"vgib/qed": {"mirror": own, "cache": Path("kept"), "progress": True}}


def test_graphs_that_are_not_molecules_are_refused(run: Run) -> None:
    given = ("--function", "my_model:oxygens", "--out", "out")
    assert_explained(run("explain", "BA-2Motifs", *given), 1, "explains molecules alone")


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "qed"),
        ("--method", "ig"),
        ("--keep-ratio", "0.3"),
        ("--rule", "connected"),
        ("--by", "scores"),
        ("--fit-on", "a.csv"),
        ("--target", "name"),
        ("--pictures", "3"),
        ("--engine", "ray"),
        ("--address", "auto"),
        ("--workers", "2"),
        ("--resume",),
    ],
)
def test_an_option_that_means_nothing_for_a_function_is_refused(
    run: Run, own: Path, options: tuple[str, ...]
) -> None:
    done = run("explain", "a.csv", "--function", "my_model:oxygens", "--out", "out", *options)
    assert_explained(done, 2, f"{options[0]} has no use with --function; leave it out")
    assert not (own / "out").exists()


def test_an_option_may_be_given_as_it_is_by_default(run: Run, own: Path) -> None:
    given = ("explain", "a.csv", "--function", "my_model:oxygens", "--out", "out")
    assert run(*given, "--engine", "local", "--pictures", "60").code == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--function", "my_model:nothing"), 1, "has no 'nothing'"),
        (("--function", "my_model"), 1, "write package.module:name"),
        (("--function", "no_such_thing:f"), 1, "no module 'no_such_thing'"),
        (("--function", "my_model:broken"), 1, "the service is down"),
        (("--function", "my_model:oxygens", "--close", "group"), 2, "did you mean 'groups'"),
        ((), 2, "give a model by --model, or a function of yours by --function"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    run: Run, options: tuple[str, ...], code: int, message: str
) -> None:
    assert_explained(run("explain", "a.csv", "--out", "out", *options), code, message)
