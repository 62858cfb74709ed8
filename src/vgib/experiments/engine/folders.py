"""The folders of the experiments: which there are, and what is in them."""

from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from typing import Any

from vgib.errors import unknown_name
from vgib.experiments.engine.finished import Finished
from vgib.experiments.engine.jobs import Job

PACKAGE = "vgib.experiments"

Run = Callable[..., Finished]


def names() -> list[str]:
    """The experiments that come with the package: every folder with a recipe."""
    folders = files(PACKAGE).iterdir()
    return sorted(item.name for item in folders if item.joinpath("recipe.toml").is_file())


def text(name: str, file: str) -> str | None:
    """The content of a file of an experiment's folder; ``None`` where it has no such file."""
    path = files(PACKAGE) / name / file
    return path.read_text(encoding="utf-8") if path.is_file() else None


def work_module(name: str) -> str:
    """The full name of the module that does an experiment's jobs."""
    if text(name, "job.py") is None:
        known = [each for each in names() if text(each, "job.py") is not None]
        raise unknown_name("experiment with jobs", name, known)
    return f"{PACKAGE}.{name}.work"


def run_of(name: str) -> Run:
    found: Run = import_module(work_module(name)).run
    return found


def job_type(name: str) -> type[Job]:
    """The settings of an experiment's jobs: the last kind of job that its ``job.py`` defines."""
    module = import_module(work_module(name).removesuffix("work") + "job")
    kinds = [each for each in vars(module).values() if isinstance(each, type)]
    own = [each for each in kinds if issubclass(each, Job) and each.__module__ == module.__name__]
    return own[-1]


def draw_of(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = import_module(f"{PACKAGE}.{name}.table").draw
    return found
