"""The hash of the code behind a job: what it sees, and what it does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vgib.experiments.engine import code, coverage, folders
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import FIELDS, Records


def test_a_job_reaches_what_it_runs_and_nothing_of_the_skin() -> None:
    found = code.reached(folders.work_module("table4"))
    wanted = {"table4.work", "table4.job"}
    assert {f"vgib.experiments.{name}" for name in wanted} <= found
    assert {"vgib.nn.net", "vgib.nn.gib", "vgib.train.loop", "vgib.data.splits"} <= found
    assert not [name for name in found if name.split(".")[1] in ("cli", "serve", "page")]
    assert "vgib.experiments.table4.table" not in found


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two modules in the place of ours."""
    (tmp_path / "a.py").write_text('"""A."""\ndef f():\n    from vgib import b\n    return b.x\n')
    (tmp_path / "b.py").write_text("import os\nx = 1\n")
    (tmp_path / "c.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "files", lambda _: tmp_path)
    yield tmp_path
    forget()


def forget() -> None:
    for cached in (code.code_hash, code._parsed, code._without_docstrings):
        cached.cache_clear()


def fresh_hash() -> str:
    forget()
    return code.code_hash("vgib.a")


def test_only_what_is_done_counts(source: Path) -> None:
    first = fresh_hash()
    (source / "a.py").write_text(
        '"""Other words."""\ndef f():  # why\n  from vgib import b\n  return b.x'
    )
    (source / "c.py").write_text("x = 2\n")
    assert fresh_hash() == first
    (source / "b.py").write_text("import os\nx = 2\n")
    assert fresh_hash() != first


@pytest.mark.parametrize("known", ["now", "before", None])
def test_a_record_says_whether_it_is_out_of_date(tmp_path: Path, known: str | None) -> None:
    made, records = recipe("table4"), Records(tmp_path)
    (job, *_) = made.jobs()
    record = dict.fromkeys(FIELDS) | {"key": job.key()}
    if known is not None:
        now = code.code_hash(folders.work_module("table4"))
        record |= {"code": now if known == "now" else "0" * 12}
    records.append(job.cell(), record)
    assert coverage.of_code(made, records) == {
        "out_of_date": int(known == "before"),
        "unknown": int(known is None),
    }
