"""Bulk recognition by Ray against one local process: molecules a second, and the driver's memory.

    pip download molsets --no-deps -d /tmp/molsets
    python -m benchmarks.ray --source /tmp/molsets/*.whl --json > results/benchmarks/ray.json

Every measurement is a process of its own, end to end: start, reading, recognition by the shipped
model alone (no ensemble) with one part for each molecule, writing. Ray runs on this machine, with
one worker and with two. The two sizes of the last measurement tell whether the driver's memory
grows with its input. ``load`` is how many processes wanted a core of this machine meanwhile: with
more than there are cores, seconds say little, and the seconds of processor time (``cpu``, of Ray's
own processes too) are the fairer measure of what Ray costs.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import pandas as pd
import psutil
import pyarrow.parquet as pq

from vgib.select.policy import Selection
from vgib.stream.run import Writing, recognize_source, settings_of
from vgib.stream.work import Recognize

MODEL = "qed"
TABLE = "moses/dataset/data/train.csv.gz"


def molecules(archive: Path, count: int) -> list[str]:
    """The first molecules of MOSES, which come in the package ``molsets``."""
    with zipfile.ZipFile(archive) as files, files.open(TABLE) as table:
        return pd.read_csv(table, compression="gzip", nrows=count)["SMILES"].tolist()


class Spent:
    """The processor time of all processes that this one has started, as far as it has looked."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def look(self, *_: Any) -> None:
        """Notes what each process has used up to now."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                times = process.cpu_times()
                self.seconds[process.pid] = times.user + times.system

    def total(self) -> float:
        """Of all of them together."""
        return sum(self.seconds.values())


def one(engine: str, workers: int, source: Path, folder: Path) -> dict[str, Any]:
    """A run in this process: its seconds, its memory, and a hash of all rows."""
    work = Recognize(MODEL, Selection(0.5, "ring_intact"), single=True)
    started, spent = perf_counter(), Spent()
    if engine == "local":
        recognize_source(source, work, Writing((folder / "out.parquet",)))
        files = [folder / "out.parquet"]
    else:
        from vgib.stream.ray_parts import run_parts

        run_parts(
            source, work, folder / "out", settings_of(work), workers=workers, on_part=spent.look
        )
        files = sorted((folder / "out" / "results").glob("*.parquet"))
    seconds = perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cpu = process_time() + spent.total()
    digest, rows = hashlib.sha256(), 0
    for path in files:
        table = pq.read_table(path)
        rows += len(table)
        for row in table.to_pylist():
            digest.update(json.dumps(row, sort_keys=True).encode())
    return {
        "engine": engine,
        "workers": workers,
        "rows": rows,
        "seconds": seconds,
        "rate": rows / seconds,
        "cpu": cpu,
        "driver_mb": memory,
        "sha256": digest.hexdigest(),
    }


def apart(engine: str, workers: int, texts: list[str]) -> dict[str, Any]:
    """The same in a process of its own, with the machine's load and its peak memory."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "in.smi"
        source.write_text("\n".join(texts) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.ray", "--one", engine, str(workers)]
        done = subprocess.run(
            [*command, "--source", str(source)], check=True, stdout=subprocess.PIPE, text=True
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["load"] = os.getloadavg()[0]
    print(found, file=sys.stderr)
    return found


def start_seconds(small: dict[str, Any], large: dict[str, Any]) -> float:
    """What a run takes before its first molecule: the line through two sizes, at zero."""
    each = (large["seconds"] - small["seconds"]) / (large["rows"] - small["rows"])
    return float(small["seconds"] - each * small["rows"])


def measure(source: Path, count: int) -> dict[str, Any]:
    """All runs, and the ratios."""
    texts = molecules(source, count)
    local = apart("local", 1, texts)
    single = apart("ray", 1, texts)
    double = apart("ray", 2, texts)
    small = apart("ray", 1, texts[: count // 8])
    start = start_seconds(small, single)
    return {
        "molecules": len(texts),
        "model": MODEL,
        "runs": {"local": local, "ray_1": single, "ray_2": double, "ray_1_small": small},
        "ray_over_local": single["rate"] / local["rate"],
        "ray_over_local_by_cpu": local["cpu"] / single["cpu"],
        "two_over_one": double["rate"] / single["rate"],
        "start_seconds": start,
        "two_over_one_after_start": (single["seconds"] - start) / (double["seconds"] - start),
        "same_rows": local["sha256"] == single["sha256"] == double["sha256"],
        "driver_mb": {"small": small["driver_mb"], "large": single["driver_mb"]},
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="the archive of molsets")
    parser.add_argument("--molecules", type=int, default=200_000)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "WORKERS"), help="a single run")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    asked = parser.parse_args()
    if asked.one:
        with TemporaryDirectory() as folder:
            engine, workers = asked.one
            found = one(engine, int(workers), asked.source, Path(folder))
        print(json.dumps(found))
        return
    found = measure(asked.source, asked.molecules)
    print(json.dumps(found, indent=1) if asked.json else found)


if __name__ == "__main__":
    main()
