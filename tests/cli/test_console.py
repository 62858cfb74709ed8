"""How things look in a terminal and in files."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from vgib.cli import console
from vgib.data.entries import entry, names
from vgib.data.molecules import from_smiles

MOLECULES = from_smiles(["CCO", "oops", "CC(=O)[O-].[Na+]"])


def shown(table: Any) -> str:
    page = Console(file=io.StringIO(), width=200)
    page.print(table)
    return page.file.getvalue()  # type: ignore[attr-defined]


def test_talk_goes_to_stderr_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("[bold]C[C@H](N)C(=O)O" + "C" * 200)
    out, err = capsys.readouterr()
    assert out == "" and err == "[bold]C[C@H](N)C(=O)O" + "C" * 200 + "\n"


def test_numbers_that_do_not_exist_are_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.show_json({"a": [1.5, float("nan")], "b": {"low": float("inf"), "n": 3}, "c": "x"})
    expected = {"a": [1.5, None], "b": {"low": None, "n": 3}, "c": "x"}
    assert json.loads(capsys.readouterr().out) == expected


def test_every_dataset_can_be_shown() -> None:
    entries = [entry(name) for name in names()]
    page = shown(console.entries_table(entries))
    for item in entries:
        assert item.name in page
        fields = console.entry_fields(item)
        assert json.loads(json.dumps(fields)) == fields
        assert item.name in shown(console.fields_table(fields))
    assert console.entry_fields(entry("MUTAG"))["statistics"]["graphs"] == 188


def test_estimates_stand_with_their_intervals() -> None:
    estimate = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 9}
    nothing = dict.fromkeys(("value", "low", "high"), float("nan")) | {"n": 0}
    page = shown(console.estimates_table({"accuracy": estimate, "control_x": nothing}))
    assert "0.250 to 0.750" in page and "nan" in page and "control x" in page


def test_refused_lines_and_used_parts_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    console.report_rejected(MOLECULES)
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("line 2 (oops): ")
    assert err[1].startswith("line 3 (CC(=O)[O-].[Na+]): kept the largest of 2 components")


def test_what_is_wrong_with_many_lines_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    console.report_rejected(from_smiles(["C"] + ["oops"] * 25))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("line 2 (oops) and 24 more lines: ")


def test_of_many_reasons_the_commonest_are_told_and_the_rest_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = [f"C[NH{'C' * n}](C" + ")" * (n + 2) for n in range(1, 26)]
    console.report_rejected(from_smiles(["C", "oops", "oops", *wrong]))
    err = capsys.readouterr().err.splitlines()
    assert len(err) == console.MOST_REPORTED + 1
    assert err[0].startswith("line 2 (oops) and 1 more line: ")
    assert err[-1] == "... and 16 more lines that cannot be used"


def test_the_bar_is_told_of_epochs_with_and_without_validation() -> None:
    with console.epochs_bar(2) as advance:
        advance({"epoch": 1, "loss": 0.5})
        advance({"epoch": 2, "loss": 0.25, "val_loss": 0.75})


def test_the_bar_is_told_of_stages_with_and_without_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(console, "talk", Console(file=shown, force_terminal=True, width=90))
    with console.stages_bar() as tell:
        tell("fitting", 0, None)
        tell("drawing", 3, 4)
        tell("drawing", 4, 4)
    assert "drawing" in shown.getvalue()
