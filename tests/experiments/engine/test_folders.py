"""Every experiment is a folder that keeps the contract of `vgib.experiments`."""

import ast
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from vgib import experiments
from vgib.data.sources import Places
from vgib.errors import UnknownNameError
from vgib.experiments import engine
from vgib.experiments.engine import folders
from vgib.experiments.engine.finished import Finished
from vgib.experiments.engine.jobs import Job
from vgib.experiments.engine.recipe import recipe

WITH_JOBS = [name for name in folders.names() if folders.text(name, "job.py") is not None]


def test_the_experiments_of_the_paper_are_found() -> None:
    wanted = {f"table{number}" for number in (1, 2, 3, 4)} | {"figure1", "figure2b", "figure3"}
    assert wanted <= set(folders.names())


@pytest.mark.parametrize("name", folders.names())
def test_a_folder_holds_a_recipe_and_what_draws_it(name: str) -> None:
    made = recipe(name)
    assert made.name == name and made.summary
    assert list(signature(folders.draw_of(made.drawn_by)).parameters) == ["made", "records"]


def test_every_folder_says_in_its_own_words_what_it_is() -> None:
    packages = Path(experiments.__path__[0]).glob("*/__init__.py")
    told = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in packages]
    assert None not in told and len(set(told)) == len(told) > 10


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_job_is_known_by_what_runs_it(name: str) -> None:
    kind = folders.job_type(name)
    assert issubclass(kind, Job) and len(kind.axes) >= 2 and kind.headline
    called = signature(folders.run_of(name))
    assert list(called.parameters) == ["job", "places"]
    assert set(Places.__annotations__) == {"mirror", "cache"}
    assert called.return_annotation is Finished


def test_no_two_experiments_have_one_class_of_jobs() -> None:
    kinds = [folders.job_type(name).__name__ for name in WITH_JOBS]
    assert len(set(kinds)) == len(kinds)


def test_neither_tables_nor_settings_import_torch() -> None:
    code = (
        "import sys; from vgib.experiments.engine import drawing, folders; "
        "from vgib.experiments.engine.recipe import recipe; "
        "made = [recipe(name) for name in folders.names()]; "
        "[(one.job_type, folders.draw_of(one.drawn_by)) for one in made]; "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_engine_knows_no_experiment() -> None:
    for module in Path(engine.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(folders.PACKAGE):
                assert (node.module or "").startswith(f"{folders.PACKAGE}.engine"), module.name


def test_an_experiment_without_jobs_cannot_be_run() -> None:
    with pytest.raises(UnknownNameError, match="no experiment with jobs named 'tabel4'"):
        folders.run_of("tabel4")
