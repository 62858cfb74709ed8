"""``vgib oracles``: what is printed, and no traceback for a user's mistake."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vgib.cli.app import app
from vgib.errors import UnknownNameError
from vgib.oracles import registry


@pytest.fixture
def run() -> CliRunner:
    return CliRunner()


def test_the_list_names_every_oracle_with_its_quality(run: CliRunner) -> None:
    done = run.invoke(app, ["oracles", "list", "--json"])
    assert done.exit_code == 0
    cards = json.loads(done.stdout)
    assert [card["name"] for card in cards] == registry.names()
    shown = run.invoke(app, ["oracles", "list"]).stdout
    assert all(name in shown for name in registry.names())


def test_molecules_are_scored_in_order_and_the_bad_one_is_empty(run: CliRunner) -> None:
    done = run.invoke(app, ["oracles", "score", "qed", "CC(=O)Oc1ccccc1C(=O)O", "oops"])
    assert done.exit_code == 0
    header, first, second = done.stdout.splitlines()
    assert header == "smiles,qed" and first.startswith("CC(=O)Oc1ccccc1C(=O)O,0.55")
    assert second == "oops,"


def test_a_file_and_standard_input_are_read(run: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("id,smiles\n1,CCO\n2,oops\n")
    done = run.invoke(app, ["oracles", "score", "drd2", str(path), "--json"])
    rows = json.loads(done.stdout)
    assert rows[0]["smiles"] == "CCO" and 0 < rows[0]["drd2"] < 1
    assert rows[1] == {"smiles": "oops", "drd2": None}
    piped = run.invoke(app, ["oracles", "score", "drd2", "--json"], input="CCO\n")
    assert json.loads(piped.stdout) == rows[:1]


@pytest.mark.parametrize("verb", ["score", "train"])
def test_an_unknown_oracle_is_answered_with_the_nearest(verb: str, run: CliRunner) -> None:
    done = run.invoke(app, ["oracles", verb, "drd3"], input="CCO\n")
    assert isinstance(done.exception, UnknownNameError)
    assert "did you mean 'drd2'" in str(done.exception)
