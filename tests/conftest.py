"""What every test shares: one torch thread, hypothesis settings, the folder of public data."""

import logging
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from tests.cluster import cluster

from vgib.data import processes
from vgib.serve.worker import SERVER

__all__ = ["cluster"]  # a fixture of its own module, because it is long

ROOT = Path(__file__).resolve().parents[1]
MIRROR = Path(os.environ.get("VGIB_MIRROR") or ROOT.parent / "shared" / "data")

ONCE = {
    "cluster": "ray",
    "folders": "serve",
    "browser": "serve",
    "finished": "runner",
    "killed": "killed",
    "pair": "team",
    "wheel": "wheel",
}
"""Fixtures that take seconds to make: one process runs all tests that ask for one, as a group."""

# A second thread slows models of this size down, and makes sums depend on the machine.
torch.set_num_threads(1)

# A busy machine is slow now and then, which is no failure; CI must judge a change, not draw lots.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_report_header() -> str:
    threads = torch.get_num_threads()
    mirror = "found" if MIRROR.is_dir() else "absent, tests that need it are skipped"
    return f"vgib: torch {torch.__version__}, {threads} thread(s), mirror of public data {mirror}"


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of the same name
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as ``data`` and ``ray`` what asks for the mirror or the cluster: they cannot drift."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "mirror" in fixtures:
            item.add_marker(pytest.mark.data)
        if "cluster" in fixtures:
            item.add_marker(pytest.mark.ray)
            item.add_marker(pytest.mark.timeout(1800))  # a dozen processes are started for some
        for name in ONCE.keys() & set(fixtures):
            item.add_marker(pytest.mark.xdist_group(ONCE[name]))


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder that mirrors the public datasets; without one the test is skipped."""
    if not MIRROR.is_dir():
        pytest.skip(f"no mirror of public datasets at {MIRROR}; name one with VGIB_MIRROR=folder")
    return MIRROR


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from a process that has imported torch, as those of the service are.

    A fresh process imports torch for seconds: too long where one dies after the other.
    """
    start = partial(processes.WorkerProcess, server=SERVER)
    monkeypatch.setattr(processes, "WorkerProcess", start)


@pytest.fixture(autouse=True)
def _same_draws_every_time() -> None:
    """A test that draws weights or data without a seed of its own draws the same ones each time."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def quiet_afterwards() -> Iterator[None]:
    """The commands set up logging for their process, which here is everybody's."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
