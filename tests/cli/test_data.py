"""``vgib data``."""

import json
from pathlib import Path

import pytest
from tests.cli.support import Run, assert_explained


def test_datasets_are_listed_and_described(run: Run) -> None:
    assert "MUTAG" in run("data", "list").out
    listed = json.loads(run("data", "list", "--json").out)
    assert {"MUTAG", "BA-2Motifs", "vgib/qed"} <= {item["name"] for item in listed}
    assert "188" in run("data", "info", "mutag").out
    described = json.loads(run("data", "info", "mutag", "--json").out)
    assert described["statistics"]["graphs"] == 188


def test_a_dataset_is_fetched_from_the_mirror(run: Run, mirror: Path, tmp_path: Path) -> None:
    done = run("data", "fetch", "MUTAG", "--mirror", mirror, "--cache", tmp_path)
    assert done.code == 0 and Path(done.out.strip()).is_file()
    as_json = run("data", "fetch", "MUTAG", "--mirror", mirror, "--cache", tmp_path, "--json")
    assert json.loads(as_json.out) == {"MUTAG": done.out.strip()}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("data", "info", "MUTAGG"), 2, "did you mean 'MUTAG'"),
        (("data", "fetch", "MUTAGG"), 2, "did you mean 'MUTAG'"),
        (("data", "fetch", "MUTAG", "--mirror", "nowhere"), 1, "is no folder"),
        (("data", "fetch"), 2, "Missing argument"),
        (("data", "lst"), 2, "No such command 'lst'"),
        (("trian",), 2, "No such command 'trian'"),
    ],
)
def test_a_wrong_dataset_or_command_is_explained(
    arguments: tuple[str, ...], code: int, message: str, run: Run
) -> None:
    assert_explained(run(*arguments), code, message)
