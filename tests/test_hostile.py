"""Records, files and requests that ended the program once: each costs itself, within bounds.

The command line runs as it does for a user, in a process with a limit on its address space; the
service runs as ``vgib serve`` does, and is asked for its health all the while.
"""

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks import bad_records
from benchmarks.bad_records import NO_TEXT, RECORDS, hostile_requests
from benchmarks.hostile import family
from tests.stream.conftest import model

from vgib.chem.mol import parse, smiles_of_molblock
from vgib.chem.properties import qed
from vgib.data.molecules import read_molecules
from vgib.data.pyg_files import read_data_files
from vgib.data.tu import read_tu
from vgib.errors import FileFormatError, InputError, VgibError

__all__ = ["model"]  # a fixture of the stream
pytestmark = [pytest.mark.hostile, pytest.mark.xdist_group("hostile"), pytest.mark.timeout(900)]

ADDRESS_SPACE = 6 * 2**30
"""Bytes that a command may map; torch and Arrow take two of these before they do anything."""

FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "mixture": ("in.smi", lambda: f"CCO a\n{bad_records.mixture()}\nCCN b\n".encode()),
    "bipartite": ("in.smi", lambda: f"CCO a\n{bad_records.bipartite()}\nCCN b\n".encode()),
    "V3000": ("in.sdf", lambda: bad_records.v3000().encode()),
    "V3000 that lies": ("in.sdf", lambda: bad_records.v3000(3, 10**9).encode()),
    "endless line": ("in.smi.gz", lambda: bad_records.endless_line()),
    "blank lines": ("in.smi.gz", lambda: bad_records.blank_lines()),
    "long cell": ("in.parquet", bad_records.long_cell),
    "repeated cell": ("in.parquet", lambda: bad_records.repeated_cell(rows=2_000)),
    "a NUL": ("in.csv", lambda: b"smiles,id\nCCO,a\nCC\0N,b\nCCC,c\xe9\nCCN,d\n"),
}


@pytest.mark.parametrize("smiles", [*RECORDS.values(), NO_TEXT], ids=[*RECORDS, "no text"])
def test_a_record_is_refused_at_once_by_python(smiles: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError) as refused:
        parse(smiles)
    assert qed([smiles, "CCO"])[1] > 0
    assert time.process_time() - begun < 2 and len(str(refused.value)) < 500


@pytest.mark.parametrize("block", [bad_records.v3000(), bad_records.v3000(3, 10**9)])
def test_a_mol_block_is_refused_at_once(block: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError):
        smiles_of_molblock(block.split("$$$$")[0])
    assert time.process_time() - begun < 2


def limited(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line, within its address space."""
    return subprocess.run(
        [sys.executable, "-m", "vgib", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        timeout=600,
        **options,
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_costs_its_record_or_a_sentence(name: str, tmp_path: Path) -> None:
    file, content = FILES[name]
    (tmp_path / file).write_bytes(content())
    begun = time.process_time()
    try:
        found = read_molecules(tmp_path / file)
        assert len(found) == 2 and found.rejected
    except VgibError as error:
        assert len(str(error)) < 500
    assert time.process_time() - begun < 30


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_command_line_bears_it_within_its_memory(
    name: str, model: Path, tmp_path: Path
) -> None:
    file, content = FILES[name]
    (tmp_path / file).write_bytes(content())
    done = limited("recognize", tmp_path / file, "--model", model, "--out", tmp_path / "out.csv")
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr[-2000:]
    assert all(len(line) < 2000 for line in done.stderr.splitlines())
    if done.returncode == 0:
        assert (tmp_path / "out.rejected.csv").exists()


def test_the_command_line_refuses_the_record_and_keeps_the_rest(
    model: Path, tmp_path: Path
) -> None:
    lines = ["CCO a", *RECORDS.values(), "CCN b"]
    (tmp_path / "in.smi").write_text("\n".join(lines))
    done = limited("recognize", tmp_path / "in.smi", "--model", model, "--out", tmp_path / "o.csv")
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr[-2000:]
    assert f"2 molecules recognized, {len(RECORDS)} refused" in done.stderr


def test_graphs_that_would_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "BOMB.zip").write_bytes(bad_records.tu_zip())
    with pytest.raises(FileFormatError, match=r"unpacks to more than .*--max-unpacked"):
        read_tu(tmp_path / "BOMB.zip")
    (tmp_path / "graph.pt").write_bytes(bad_records.expanded_tensor())
    with pytest.raises(FileFormatError, match="repeats what is stored once"):
        read_data_files(tmp_path / "graph.pt")


def test_standard_output_that_is_full_or_closed_is_one_sentence(model: Path) -> None:
    command = [sys.executable, "-m", "vgib", "recognize", "CCO", "--model", str(model)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot write standard output: No space left" in done.stderr


def waited(process: int, thread: int) -> float:
    """Seconds for which a thread had work to do and no core: the doing of a busy machine.

    Waiting for the interpreter's lock, for a disk or for another thread is no part of it, so that
    whatever the service itself holds up is measured.
    """
    found = Path(f"/proc/{process}/task/{thread}/schedstat").read_text().split()
    return int(found[1]) / 1e9


class Service:
    """``vgib serve`` in a process, whose health is watched."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "vgib", "serve", "--port", "0", "--no-shipped"]
        self.process = subprocess.Popen(
            [*command, "--model", str(folder)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"COLUMNS": "200"},
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline() + self.process.stderr.readline()
        found = re.search(r"The page: http://\S+:(\d+)", said)
        assert found, said
        self.port = int(found[1])
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", timeout=300)
        assert self.client.get("/health").status_code == 200
        self.slowest, self.is_over = 0.0, False
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()

    def _watch(self) -> None:
        watched = [(self.process.pid, self.process.pid), (os.getpid(), threading.get_native_id())]

        def now() -> float:
            """The time, as if there had always been a core for the service and for who asks."""
            return time.monotonic() - sum(waited(*thread) for thread in watched)

        with httpx.Client(base_url=self.client.base_url, timeout=300) as client:
            while not self.is_over:
                begun = now()
                client.get("/health")
                self.slowest = max(self.slowest, now() - begun)
                time.sleep(0.2)

    def stop(self) -> str:
        self.is_over = True
        self.watcher.join()
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=240)
        return said


@pytest.fixture(scope="module")
def service(model: Path) -> Iterator[Service]:
    running = Service(model)
    yield running
    said = running.stop()
    assert "Traceback" not in said, said
    assert running.slowest < 1.0


BAD = list(hostile_requests())


@pytest.mark.parametrize(
    "asked", BAD, ids=[re.sub(r"\W+", "_", f"{name}{route}") for name, route, *_ in BAD]
)
def test_the_service_refuses_it_and_goes_on(service: Service, asked: Any) -> None:
    name, route, body, kind, headers = asked
    begun = time.monotonic()
    answer = service.client.post(route, content=body, headers={"content-type": kind, **headers})
    assert answer.status_code in (200, 400, 403, 413, 422), (name, answer.text[:500])
    assert "Traceback" not in answer.text and time.monotonic() - begun < 60
    if route == "/recognize" and answer.status_code == 200:
        told = answer.json()
        assert [row["line"] for row in told["results"]] == [1]
        assert [row["line"] for row in told["rejected"]] == [2]


def test_a_process_that_is_killed_costs_no_answer(service: Service) -> None:
    workers = family(service.process.pid)[1]
    assert len(workers) >= 2
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    for route, asked in (
        ("/recognize", {"molecules": ["CCO", "CCN"]}),
        ("/inspect", {"molecule": "CCO"}),
        ("/draw", {"molecule": "CCO"}),
    ):
        assert service.client.post(route, json=asked).status_code == 200


def raw(service: Service, sent: bytes, seconds: float) -> bytes:
    """What comes back until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=seconds) as connection:
        connection.sendall(sent)
        found = b""
        while data := connection.recv(65536):
            found += data
        return found


def test_a_length_that_is_too_large_is_refused_before_the_body(service: Service) -> None:
    head = b"POST /api/v1/table HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99999999999\r\n\r\n"
    assert raw(service, head, 60).startswith(b"HTTP/1.1 413")


def test_half_of_the_headers_are_not_waited_for(service: Service) -> None:
    with ThreadPoolExecutor(2) as both:
        halves = (b"GET /api/v1/health HTTP/1.1\r\nhost: 127", b"")
        assert list(both.map(lambda sent: raw(service, sent, 60), halves)) == [b"", b""]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 400),
        ({"host": "[::1]:80"}, 200),
        ({"host": "localhost:1"}, 200),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
    ids=str,
)
def test_only_the_own_page_and_programs_are_answered(
    service: Service, headers: dict[str, str], status: int
) -> None:
    answer = service.client.get("/health", headers=headers)
    assert answer.status_code == status
    if status != 200:
        assert json.loads(answer.text)["error"]["message"]
