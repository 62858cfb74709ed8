"""What a person at a terminal reads of a recognized molecule."""

import io
import os
import pty
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console
from tests.cli.support import Run

from vgib.cli.recognize_panel import panel_of
from vgib.model.shipped import cards

ROW: dict[str, Any] = {
    "id": "aspirin",
    "smiles": "CC(=O)Oc1ccccc1C(=O)O",
    "note": "kept the largest of 2 components",
    "prediction": 0.620194,
    "statement": "0.6202",
    "spread": 0.0499,
    "stability": 1.0,
    "scores": [0.5] * 13,
    "subgraphs": [
        {
            "smiles": "*Oc1ccccc1*",
            "atoms": [3, 4, 5],
            "score": 0.9992,
            "keep_ratio": 0.2308,
            "value": 0.6,
            "effect": -0.05,
        }
    ],
    "why_none": None,
}


def shown(row: dict[str, Any], model: str = "qed") -> str:
    screen = Console(width=100, record=True, file=io.StringIO())
    screen.print(panel_of(row, cards()[model]))
    return screen.export_text()


def test_a_panel_tells_prediction_part_and_stability() -> None:
    told = shown(ROW)
    for text in (
        "aspirin  CC(=O)Oc1ccccc1C(=O)O",
        "Drug-likeness (QED)",
        "0.6202 (± 0.05 over the members)",
        "*Oc1ccccc1*",
        "3 of 13 atoms, alone 0.6, effect -0.05, mean score 0.9992; atoms 3 4 5",
        "100 %: how far the members choose the same atoms",
        "kept the largest of 2 components",
    ):
        assert text in told


def test_one_member_has_no_spread_and_classes_have_a_probability() -> None:
    row = ROW | {"prediction": 1, "probability": 0.875, "statement": "active 88 %"}
    told = shown(row | {"spread": None, "stability": None}, "drd2")
    assert "active 88 %" in told and "alone active 60 %" in told
    assert "±" not in told and "stability" not in told
    assert "active 88 % (± 2.5 % over the members)" in shown(row | {"spread": 0.025}, "drd2")


@pytest.mark.parametrize(
    ("percentile", "told"),
    [(0.0, "none"), (0.2, "1 %"), (86.4, "86 %"), (99.7, "99 %"), (100.0, "all")],
)
def test_above_all_drugs_is_said_only_of_what_is(percentile: float, told: str) -> None:
    said = " ".join(shown(ROW | {"percentile": percentile}).replace("│", " ").split())
    assert f"a higher predicted value than {told} of 217 known drugs" in said


def test_a_part_that_is_not_enough_is_said_to_be_so() -> None:
    told = shown(ROW | {"why_none": "too few atoms"})
    assert "why this part" in told and "too few atoms" in told
    none = ROW | {"why_none": "too few atoms", "subgraphs": []}
    assert "no part found" in shown(none)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_gets_a_panel_and_a_pipe_gets_csv(run: Run) -> None:
    asked = ("recognize", "CCO", "--model", "qed")
    assert run(*asked).out.startswith("line,id,smiles,")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vgib", *asked]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=True)
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "Drug-likeness" in told and "line,id,smiles" not in told
    assert b"1 molecule recognized" in done.stderr
