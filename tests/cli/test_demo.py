"""``vgib demo``."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.support import Run

from vgib.experiments.demo import job as demo
from vgib.experiments.demo.job import Demo


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
