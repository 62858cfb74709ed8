"""``vgib recognize`` with a model of graphs that are not molecules."""

import json
from pathlib import Path

import pytest
import torch
from tests.cli.support import Run, assert_explained, rows

from vgib.data.synthetic import generate_ba2motifs
from vgib.model.recognizer import SubgraphRecognizer


@pytest.fixture(scope="module")
def motifs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = SubgraphRecognizer("gin", "vgib", epochs=1, hidden=8).fit(generate_ba2motifs(30))
    return trained.save(tmp_path_factory.mktemp("models") / "motifs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "graphs"
    path.mkdir()
    for number, data in enumerate(generate_ba2motifs(6)):
        torch.save(data, path / f"{number}.pt")
    return path


def test_graphs_are_recognized_as_in_python(run: Run, motifs: Path, folder: Path) -> None:
    done = run("recognize", folder, "--model", motifs, "--keep-ratio", "0.2")
    assert done.code == 0 and "6 graphs recognized" in done.err, done.err
    expected = SubgraphRecognizer.load(motifs).recognize(generate_ba2motifs(6), keep_ratio=0.2)
    found = rows(done.out)
    assert [row["nodes"] for row in found] == [
        " ".join(map(str, one.subgraphs[0].nodes)) for one in expected
    ]
    assert [row["name"] for row in found] == list("012345")
    assert [int(row["prediction"]) for row in found] == [one.prediction for one in expected]
    lines = run("recognize", folder, "--model", motifs, "--json").out.splitlines()
    assert [len(json.loads(line)["scores"]) for line in lines] == [25] * 6


def test_a_page_and_a_table_are_written_at_once(
    run: Run, motifs: Path, folder: Path, tmp_path: Path
) -> None:
    page, table = tmp_path / "a.html", tmp_path / "a.parquet"
    done = run("recognize", folder, "--model", motifs, "--out", page, "--out", table)
    assert done.code == 0 and done.out == "" and str(page) in done.err
    assert page.read_text().count("<svg") == 6 and table.stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give one TU zip"),
        (("CCO", "CCN"), 2, "was not trained on molecules"),
        (("BA-2Motif",), 2, "did you mean 'BA-2Motifs'"),
        (("BA-2Motifs", "--rule", "conected"), 2, "did you mean 'connected'"),
        (("BA-2Motifs", "--out", "a.sdf"), 1, "are written to .csv"),
        (("BA-2Motifs", "--keep-ratio", "2"), 1, "--keep-ratio is 2"),
    ],
)
def test_a_mistake_is_explained(
    arguments: tuple[str, ...], code: int, message: str, run: Run, motifs: Path
) -> None:
    assert_explained(run("recognize", *arguments, "--model", motifs), code, message)


@pytest.mark.parametrize(
    "options",
    [
        ("--single",),
        ("--fast",),
        ("--resume",),
        ("--engine", "ray"),
        ("--address", "auto"),
        ("--workers", "2"),
        ("--format", "csv"),
        ("--smiles-column", "smiles"),
        ("--id-column", "id"),
        ("--carry", "name"),
        ("--encoding", "latin-1"),
        ("--max-atoms", "9"),
        ("--max-record", "9"),
        ("--ledger", "l.csv"),
        ("--property", "dose"),
        ("--pictures", "drawn"),
        ("--picture-format", "png"),
        ("--plain-cells",),
    ],
)
def test_what_is_for_molecules_alone_is_refused(
    options: tuple[str, ...], run: Run, motifs: Path
) -> None:
    told = f"{options[0]} has no use with a model of graphs"
    assert_explained(run("recognize", "BA-2Motifs", "--model", motifs, *options), 2, told)


def test_how_much_a_file_may_unpack_to_can_be_said(run: Run, motifs: Path, folder: Path) -> None:
    done = run("recognize", folder, "--model", motifs, "--max-unpacked", "9")
    assert_explained(done, 1, "unpacks to more than 9 bytes")


def test_molecules_are_not_given_to_it(run: Run, motifs: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles\nCCO\n")
    done = run("recognize", tmp_path / "a.csv", "--model", motifs)
    assert_explained(done, 1, "was trained on other graphs")
