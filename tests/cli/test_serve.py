"""The service from the command line; what it answers is tested in tests/serve."""

from pathlib import Path

import pytest
from tests.cli.support import Run, assert_explained

from vgib.serve.server import listen


def test_without_a_model_there_is_nothing_to_serve(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--no-shipped", "--port", 0, "--cache", tmp_path)
    assert_explained(done, 1, "there is no model to serve; name one with --model folder")


def test_a_folder_that_is_no_model_is_refused(run: Run, tmp_path: Path) -> None:
    done = run("serve", "--no-shipped", "--model", tmp_path / "nothing", "--cache", tmp_path)
    assert_explained(done, 1, "there is no model folder")


def test_a_port_that_is_taken_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        options = ("--no-shipped", "--model", model, "--port", port, "--cache", tmp_path)
        assert_explained(run("serve", *options), 1, f"cannot listen at 127.0.0.1:{port}")


def test_without_npm_the_service_goes_on_without_the_editor(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("serve", "--no-shipped", "--fetch-editor", "--cache", tmp_path)
    assert_explained(done, 1, "there is no model to serve")
    assert "no drawing editor" in done.err
    assert "takes pasted SMILES without it" in done.err.replace("\n", " ")
