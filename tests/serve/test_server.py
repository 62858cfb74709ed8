"""Runs the service until it is stopped."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from vgib.errors import InputError
from vgib.serve.server import listen


def test_a_port_that_is_taken_is_refused_with_a_remedy() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1:{port}.*--port"):
            listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot listen at 192\.0\.2\.1"):
        listen("192.0.2.1", 0)


def test_the_command_says_that_it_loads_and_serves_until_it_is_interrupted(
    folders: list[Path], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "vgib", "serve", "--no-shipped", "--port", "0"]
    options = ["--model", str(folders[0]), "--cache", str(tmp_path)]
    wide = os.environ | {"COLUMNS": "200"}
    with subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, text=True, env=wide
    ) as process:
        assert process.stderr is not None
        try:
            assert "Loading the models" in process.stderr.readline()
            said = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found, said
            answer = httpx.get(f"{found[0]}/api/v1/health", timeout=120)
            assert answer.json()["models"] == ["values"]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) in (0, -signal.SIGINT, 130)
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
