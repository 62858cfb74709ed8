"""How things look in a terminal and in files."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from vgib import console
from vgib.data.entries import entry, names
from vgib.data.molecules import from_smiles
from vgib.errors import InputError, UnwritableError
from vgib.recognition import Recognition, Subgraph

MOLECULES = from_smiles(["CCO", "oops", "CC(=O)[O-].[Na+]"])
FOUND = [
    Recognition("CCO", 0.123456, (0.5, 0.25, 1.0), (Subgraph((0, 1), 0.375, 2 / 3, "*CC"),)),
    Recognition("CC(=O)[O-]", 2, (0.5,) * 4, (Subgraph((0,), 0.5, 0.25, "*C"),) * 2),
]


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


def test_of_many_refused_lines_the_first_are_named_and_the_rest_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.report_rejected(from_smiles(["C"] + ["oops"] * 25))
    err = capsys.readouterr().err.splitlines()
    assert len(err) == console.MOST_REPORTED + 1
    assert err[-1] == "... and 15 more lines that cannot be used"


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


# ---- recognitions --------------------------------------------------------------------------------


def written(path: Path | None, as_json: bool = False) -> None:
    with console.recognition_output(path, as_json) as write:
        write(MOLECULES, FOUND)


def check_csv(text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["row"] for row in rows] == ["0", "2", "2"]  # the row of the source, from 0
    assert [row["rank"] for row in rows] == ["1", "1", "2"]
    assert rows[0] == {
        "row": "0",
        "smiles": "CCO",
        "prediction": "0.12346",
        "rank": "1",
        "subgraph": "*CC",
        "atoms": "0 1",
        "score": "0.3750",
        "keep_ratio": "0.6667",
    }
    assert rows[1]["prediction"] == "2"


def check_json(text: str) -> None:
    records = [json.loads(line) for line in text.splitlines()]
    assert [record["row"] for record in records] == [0, 2]
    assert records[0]["subgraphs"] == [
        {"nodes": [0, 1], "score": 0.375, "keep_ratio": 2 / 3, "smiles": "*CC"}
    ]


def test_recognitions_go_to_stdout_as_csv_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    written(None)
    check_csv(capsys.readouterr().out)
    written(None, as_json=True)
    check_json(capsys.readouterr().out)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_name_of_a_file_says_what_goes_into_it(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "a.csv", as_json)
    check_csv((tmp_path / "a.csv").read_text())
    written(tmp_path / "new folder" / "a.jsonl", as_json)
    check_json((tmp_path / "new folder" / "a.jsonl").read_text())
    assert capsys.readouterr().out == ""


def test_several_predictions_share_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    several = Recognition("C", [0.5, 1.25], (1.0,), (Subgraph((0,), 1.0, 1.0, "C"),))
    with console.recognition_output(None, False) as write:
        write(from_smiles(["C"]), [several])
    assert "0,C,0.5 1.25,1,C,0,1.0000,1.0000" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a.txt", "a", "a.CSV.gz"])
def test_another_ending_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in .csv or .jsonl"):
        written(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_leaves_no_file_and_an_old_one_as_it_was(tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    old.write_text("precious")
    for path in (old, tmp_path / "new.csv"):
        with (
            pytest.raises(KeyboardInterrupt),
            console.recognition_output(path, False) as write,
        ):
            write(MOLECULES, FOUND)
            raise KeyboardInterrupt
    assert old.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [old]


def test_a_place_that_cannot_be_written_is_answered(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableError, match="cannot write"):
        written(tmp_path / "file" / "a.csv")


def test_the_header_comes_once_and_with_the_first_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with console.recognition_output(None, False) as write:
        assert capsys.readouterr().out == ""
        write(MOLECULES, FOUND)
        write(MOLECULES, FOUND)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ",".join(console.COLUMNS) and lines.count(lines[0]) == 1
    assert len(lines) == 7
