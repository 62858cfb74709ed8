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
