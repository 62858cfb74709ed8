"""The command line: exit codes, what goes where, and no traceback for a user's mistake."""

import csv
import gzip
import io
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pytest
import typer
from rdkit import Chem

from vgib import __version__, demo
from vgib.chem.properties import qed
from vgib.cli import app, main
from vgib.data.molecules import load_drugs
from vgib.demo import Demo
from vgib.estimator import SubgraphRecognizer

DRUGS = load_drugs().head(36).assign(qed=lambda table: qed(table["smiles"]))
QUICK = ("--set", "epochs=1", "--set", "hidden=8", "--set", "head_hidden=8")


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def quiet_afterwards() -> Iterator[None]:
    """The commands set up logging for their process, which here is everybody's."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process, like the installed one."""

    def call(*arguments: object, stdin: bytes | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["vgib", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained = SubgraphRecognizer(epochs=1, hidden=8, depth=1)
    trained.fit(DRUGS["smiles"].tolist(), DRUGS["qed"].to_numpy())
    return trained.save(tmp_path_factory.mktemp("models") / "qed")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "drugs.csv"
    classes = np.arange(len(DRUGS)) % 2
    DRUGS.assign(side=classes).to_csv(path, index=False)
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def assert_explained(done: Done, code: int, message: str) -> None:
    """An error that is one sentence on stderr and nothing else."""
    assert done.code == code, done
    assert message in done.err.replace("\n", " "), done.err
    assert "Traceback" not in done.err


# ---- help and version ----------------------------------------------------------------------------


def commands() -> list[tuple[str, ...]]:
    """Every command and group, as typed."""

    def walk(command: Any, typed: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield typed
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*typed, name))

    return list(walk(typer.main.get_command(app), ()))


def test_the_verbs_are_those_that_are_promised() -> None:
    assert {("data",), ("data", "list"), ("data", "info"), ("data", "fetch")} < set(commands())
    assert {("train",), ("recognize",), ("demo",)} < set(commands())


def test_help_is_given_everywhere_without_torch() -> None:
    code = (
        "import sys\n"
        "from vgib.cli import main\n"
        f"for typed in {commands()!r}:\n"
        "    sys.argv = ['vgib', *typed, '--help']\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        assert not end.code, typed\n"
        "heavy = {'torch', 'rdkit', 'numpy', 'pandas', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage:") == len(commands())


def test_help_takes_less_than_half_a_second_of_computing() -> None:
    def cost() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "vgib", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cost() for _ in range(3)) < 0.5


@pytest.mark.parametrize("typed", commands(), ids=" ".join)
def test_every_option_says_what_it_is_and_no_two_say_the_same(typed: tuple[str, ...]) -> None:
    command: Any = typer.main.get_command(app)
    for name in typed:
        command = command.commands[name]
    assert command.help
    told = [p.help for p in command.params if not isinstance(p, click.Argument) or p.help]  # type: ignore[attr-defined]
    assert all(told) and len(set(told)) == len(told)


def test_the_version_is_printed_by_the_module_too(run: Run) -> None:
    assert run("--version") == Done(0, f"vgib {__version__}\n", "")
    done = subprocess.run(
        [sys.executable, "-m", "vgib", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"vgib {__version__}\n")


# ---- data ----------------------------------------------------------------------------------------


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


# ---- train ---------------------------------------------------------------------------------------


def test_training_on_a_table_saves_a_model_that_recognises(
    run: Run, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "model"
    done = run("train", table, "--target", "qed", "--out", out, *QUICK)
    assert done.code == 0
    assert "mean absolute error" in done.out and "control" in done.out
    assert str(out) in done.err and "Traceback" not in done.err
    card = json.loads((out / "card.json").read_text())
    assert card["training"]["epochs"] == 1 and card["metrics"]["r_squared"]["n"] == 4
    assert run("recognize", "CCO", "--model", out).code == 0


def test_training_prints_json(run: Run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = run("train", table, "--target", "side", "--classes", "--out", out, "--json", *QUICK)
    record = json.loads(done.out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert record["model"] == str(out) and "accuracy" in record["metrics"]


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
    common = ("train", table, "--target", "qed", "--checkpoint", tmp_path / "c", "--out")
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
    assert "line 3 (CC(=O)[O-].[Na+]): kept the largest of 2 components" in done.err


def test_graphs_without_an_explanation_or_of_the_catalog_are_trained_on(
    run: Run, tmp_path: Path
) -> None:
    done = run("train", "BA-2Motifs", "--out", tmp_path / "m", "--json", *QUICK)
    assert json.loads(done.out)["metrics"]["node_auc"]["n"] == 100
    assert_explained(
        run("recognize", "CCO", "--model", tmp_path / "m"), 1, "was not trained on molecules"
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
        (("--target", "qed", "--set", "epochs"), 2, "--set wants KEY=VALUE"),
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


# ---- recognize -----------------------------------------------------------------------------------


def test_smiles_are_recognised(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "c1ccccc1C(=O)O", "--model", model, "--keep-ratio", "0.5")
    assert done.code == 0
    found = rows(done.out)
    assert [row["smiles"] for row in found] == ["CCO", "c1ccccc1C(=O)O"]
    assert all(Chem.MolFromSmiles(row["subgraph"]) is not None for row in found)
    assert "2 molecules recognised, 0 refused" in done.err


def test_without_a_share_one_size_is_given(run: Run, model: Path) -> None:
    assert len(rows(run("recognize", DRUGS["smiles"][0], "--model", model).out)) == 1


def test_several_sizes_ranks_and_rules_can_be_asked_for(run: Run, model: Path) -> None:
    smiles = DRUGS["smiles"][2]
    shares = ("--keep-ratio", "0.3", "--keep-ratio", "0.7")
    done = run("recognize", smiles, "--model", model, *shares, "-n", "2")
    found = rows(done.out)
    assert [row["rank"] for row in found] == [str(n) for n in range(1, len(found) + 1)]
    assert len({row["atoms"] for row in found}) == len(found) >= 3
    for rule in ("ring_intact", "connected", "largest_part", "nodes"):
        assert run("recognize", smiles, "--model", model, "--rule", rule).code == 0


def sd_file(*smiles: str) -> str:
    return "".join(Chem.MolToMolBlock(Chem.MolFromSmiles(s)) + "$$$$\n" for s in smiles)


FILES: dict[str, str] = {
    "a.smi": "CCO ethanol\nCCN amine\n",
    "a.txt": "CCO\nCCN\n",
    "a.csv": "name,smiles\nethanol,CCO\namine,CCN\n",
    "a.tsv": "name\tsmiles\nethanol\tCCO\namine\tCCN\n",
    "a.sdf": sd_file("CCO", "CCN"),
    "a.smi.gz": "CCO\nCCN\n",
    "a.csv.gz": "smiles\nCCO\nCCN\n",
    "a.sdf.gz": sd_file("CCO", "CCN"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_answers(
    name: str, run: Run, model: Path, tmp_path: Path
) -> None:
    path, raw = tmp_path / name, FILES[name].encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    done = run("recognize", path, "--model", model)
    assert done.code == 0, done.err
    assert done.out == run("recognize", "CCO", "CCN", "--model", model).out


def test_standard_input_is_read(run: Run, model: Path) -> None:
    done = run("recognize", "--model", model, stdin=b"CCO\r\n\nCCN amine\n")
    assert [row["smiles"] for row in rows(done.out)] == ["CCO", "CCN"]


def test_a_column_can_be_named(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("first,second\nCCO,CCN\n")
    done = run("recognize", path, "--model", model, "--smiles-column", "second")
    assert rows(done.out)[0]["smiles"] == "CCN"
    wrong = run("recognize", path, "--model", model, "--smiles-column", "secnd")
    assert_explained(wrong, 1, "did you mean 'second'")
    assert wrong.out == ""  # not even a header


def test_json_is_one_object_a_line(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "oops", "CC", "--model", model, "--json")
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["row"] for record in records] == [0, 2]
    assert [len(record["scores"]) for record in records] == [3, 2]


def test_bad_and_mixed_molecules_are_reported_by_line(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "oops", "CC(=O)[O-].[Na+]", "[13CH4]", "--model", model)
    assert done.code == 0
    assert "line 2 (oops)" in done.err and "3 molecules recognised, 1 refused" in done.err
    assert "line 3 (CC(=O)[O-].[Na+]): kept the largest of 2 components" in done.err
    none = run("recognize", "oops", "C1CC", "--model", model)
    assert none.out == ""
    assert_explained(none, 1, "none of the 2 molecules can be used")


def test_one_atom_and_500_atoms_are_molecules(run: Run, model: Path) -> None:
    done = run("recognize", "C", "C" * 500, "--model", model)
    assert done.code == 0 and len(rows(done.out)) == 2


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_results_go_to_a_file(name: str, run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / name
    done = run("recognize", "CCO", "--model", model, "--out", out)
    assert done.code == 0 and done.out == ""
    as_json = ("--json",) if name.endswith("jsonl") else ()
    assert out.read_text() == run("recognize", "CCO", "--model", model, *as_json).out


def test_when_nothing_can_be_used_no_file_is_left(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("recognize", "oops", "--model", model, "--out", tmp_path / "a.csv")
    assert done.code == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("CCO", "--rule", "ring-intact"), 2, "did you mean 'ring_intact'"),
        (("CCO", "--keep-ratio", "0"), 1, "keep_ratio is 0"),
        (("CCO", "--keep-ratio", "2"), 1, "keep_ratio is 2"),
        (("CCO", "-n", "0"), 2, "Invalid value for '-n'"),
        (("CCO", "--device", "cuda:99"), 1, "cannot compute on device 'cuda:99'"),
        (("CCO", "--out", "a.xlsx"), 1, "must end in .csv or .jsonl"),
        (("nowhere.csv",), 1, "there is no file 'nowhere.csv'"),
        (("nowhere.ism.gz",), 1, "there is no file"),
        (("CCO", __file__), 2, "give one file, or SMILES, not both"),
        ((str(Path(__file__).parent),), 1, "has no known ending"),
        ((), 1, "the file is empty"),
    ],
)
def test_a_mistake_in_recognising_is_explained(
    arguments: tuple[str, ...], code: int, message: str, run: Run, model: Path
) -> None:
    assert_explained(run("recognize", *arguments, "--model", model), code, message)


@pytest.mark.parametrize("raw", [gzip.compress(b"CCO\n", mtime=0), b"\xff\xfeC\x00"])
def test_standard_input_that_is_no_text_is_explained(raw: bytes, run: Run, model: Path) -> None:
    assert_explained(run("recognize", "--model", model, stdin=raw), 1, "not UTF-8 text")


def test_a_terminal_is_not_waited_for(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(io, "TextIOWrapper", Terminal)
    assert_explained(run("recognize", "--model", model), 2, "give SMILES or a file")


def test_a_place_that_cannot_be_written_is_explained(run: Run, model: Path) -> None:
    done = run("recognize", "CCO", "--model", model, "--out", model / "card.json" / "a.csv")
    assert_explained(done, 1, "cannot write")


def test_a_wrong_model_is_explained(run: Run, tmp_path: Path) -> None:
    assert_explained(run("recognize", "CCO"), 1, "there is no model folder 'model'")
    assert_explained(run("recognize", "CCO", "--model", tmp_path), 1, "not a model folder")
    (tmp_path / "card.json").write_text('{"card_version": 99}')
    assert_explained(run("recognize", "CCO", "--model", tmp_path), 1, "upgrade vgib")


# ---- demo ----------------------------------------------------------------------------------------


def test_the_demo_says_where_its_page_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def quick(out: Path, *, bar: Any, say: Any, seed: int) -> Demo:
        say("measured")
        return Demo({"roc_auc": {"value": float("nan")}}, {}, out / "report.html")

    monkeypatch.setattr(demo, "run_demo", quick)
    done = run("demo", "--out", tmp_path)
    assert done.out.strip() == f"Open {tmp_path / 'report.html'}" and done.err == "measured\n"
    record = json.loads(run("demo", "--out", tmp_path, "--json").out)
    assert record["motifs"] == {"roc_auc": {"value": None}}


# ---- as a process of its own ---------------------------------------------------------------------


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "vgib", *map(str, arguments)]


def test_the_exit_code_and_the_streams_of_a_process(model: Path) -> None:
    def process(*arguments: object) -> Done:
        done = subprocess.run(command(*arguments), capture_output=True, text=True)
        return Done(done.returncode, done.stdout, done.stderr)

    good = process("recognize", "CCO", "oops", "--model", model)
    assert good.code == 0 and len(rows(good.out)) == 1 and "line 2 (oops)" in good.err
    failed = process("data", "fetch", "MUTAG", "--mirror", model / "nowhere")
    assert failed.out == "" and failed.err.startswith("error: the mirror")
    assert failed.code == 1
    misused = process("data", "info", "MUTAGG")
    assert misused.code == 2 and "did you mean 'MUTAG'" in misused.err


def test_a_killed_process_leaves_no_half_file(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    process = subprocess.Popen(
        command("recognize", "--model", model, "--out", out),
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(b"CCO\n" * 5000)
        process.stdin.flush()
        end = time.monotonic() + 60
        while not any(path.stat().st_size > 10_000 for path in tmp_path.iterdir()):
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
    assert not out.exists()
