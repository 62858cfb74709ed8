"""The command in this process, and something to give it."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.support import DRUGS, Done, Run

from vgib.cli.app import main
from vgib.model.recognizer import SubgraphRecognizer


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
