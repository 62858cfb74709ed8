"""From a file of SMILES to Parquet: speed as a share of RDKit's own parsing, and memory.

    python -m benchmarks.recognize --json --mirror FOLDER
    python -m benchmarks.recognize --json --molecules molsets.csv.gz --memory 10000 1000000
    python -m benchmarks.recognize --json --mirror FOLDER --only-answers

One process and one thread, unless two are compared. Each round parses the same SMILES with RDKit
alone and then runs the whole pipeline on the file; what counts is the median of the rounds' ratios,
in processor time, which other programs disturb least. Two processes are compared with one by the
clock, start-up left out, so that this number wants a quiet machine.

The *full answer* is what a person gets who asks for nothing: a part that suffices, chosen by all
members, effects, interval, nearest training molecules, alerts and warnings. For the page, one
molecule after another is inspected as ``vgib serve`` does it; the way to the browser is left out.

``molsets`` on PyPI carries 1.6 million molecules: `pip download molsets --no-deps` and take
``moses/dataset/data/train.csv.gz`` out of the archive.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import torch
from rdkit import Chem, rdBase

from vgib.data import catalog
from vgib.data.headers import structure_column
from vgib.data.processes import LocalProcesses
from vgib.data.records import open_table
from vgib.select.policy import Selection
from vgib.serve.schemas import InspectRequest
from vgib.serve.tasks import Desk, inspected
from vgib.stream.chunks import SourceReading
from vgib.stream.engine import Tally
from vgib.stream.run import Writing, recognize_source
from vgib.stream.work import Recognize

MODEL = "qed"
BY_SCORES = Selection(0.5, "ring_intact")
WORK = {
    "scores": Recognize(MODEL, scores_only=True, single=True),
    "part": Recognize(MODEL, BY_SCORES, single=True),
    "ensemble": Recognize(MODEL, BY_SCORES),
}
FULL = Recognize("hlm", details=True)
BY_PREDICTION = Recognize(MODEL, Selection(0.5, by="prediction"), single=True)


def molecules(source: Path | None, mirror: str | None, count: int) -> list[str]:
    """SMILES of a file, or of ZINC250K."""
    if source is None:
        table = catalog.load_table("ZINC250K", mirror=mirror, progress=False)
        return [text.strip() for text in table["smiles"].tolist()[:count]]
    with open_table(source) as table:
        column, records = structure_column(table, None)
        return [record.fields[column] for record in islice(records, count)]


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    started = process_time()
    call()
    return process_time() - started


def parse(smiles: list[str]) -> None:
    """What everybody does first."""
    with rdBase.BlockLogs():
        for text in smiles:
            Chem.MolFromSmiles(text)


def run(path: Path, work: Recognize) -> None:
    """The whole pipeline."""
    recognize_source(path, work, Writing((path.with_suffix(".parquet"),)))


def shares(smiles: list[str], folder: Path, rounds: int) -> dict[str, float]:
    """Molecules a second, and the share of RDKit's own rate."""
    path = folder / "molecules.smi"
    path.write_text("\n".join(smiles) + "\n")
    for work in WORK.values():
        work.check()
    run(path, WORK["part"])  # loads, allocates, warms up
    parsing: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in WORK}
    for _ in range(rounds):
        parsing.append(seconds(lambda: parse(smiles)))
        for name, work in WORK.items():
            taken[name].append(seconds(lambda work=work: run(path, work)))  # type: ignore[misc]
    found = {"rdkit_parsing_per_second": len(smiles) / median(parsing)}
    for name, times in taken.items():
        found[f"{name}_per_second"] = len(smiles) / median(times)
        ratios = [alone / own for alone, own in zip(parsing, times, strict=True)]
        found[f"{name}_share"] = median(ratios)
    return found


def by_prediction(smiles: list[str], folder: Path) -> dict[str, float]:
    """The search that the predictor guides, molecules a second."""
    path = folder / "prediction.smi"
    path.write_text("\n".join(smiles) + "\n")
    BY_PREDICTION.check()
    return {"prediction_per_second": len(smiles) / seconds(lambda: run(path, BY_PREDICTION))}


def full_answers(smiles: list[str], folder: Path, rounds: int) -> dict[str, float]:
    """The answer with all that stands beside it, molecules a second."""
    path = folder / "full.smi"
    path.write_text("\n".join(smiles) + "\n")
    FULL.check()
    run(path, FULL)
    taken = [seconds(lambda: run(path, FULL)) for _ in range(rounds)]
    return {"full_per_second": len(smiles) / median(taken)}


def page(smiles: list[str]) -> dict[str, float]:
    """What the page shows of a molecule, in milliseconds: of the first, and of those after it."""
    desk = Desk({str(FULL.name): FULL.model})  # type: ignore[dict-item]
    desk(None)
    clock, processor = [], []
    for text in smiles:
        asked = InspectRequest(molecule=text, model=FULL.name)
        started = perf_counter(), process_time()
        inspected(str(FULL.name), asked, 500, desk)
        clock.append(1000 * (perf_counter() - started[0]))
        processor.append(1000 * (process_time() - started[1]))
    return {
        "page_first_milliseconds": processor[0],
        "page_milliseconds": median(processor[1:]),
        "page_most_milliseconds": max(processor[1:]),
        "page_milliseconds_by_the_clock": median(clock[1:]),
    }


def processes(smiles: list[str], folder: Path) -> dict[str, float]:
    """Two processes against one, by the clock, once each has had its first chunks."""
    path = folder / "processes.smi"
    path.write_text("\n".join(smiles) + "\n")
    rates = {}
    for workers in (1, 2, 1, 2):
        seen: list[tuple[float, int]] = []

        def on_chunk(tally: Tally, seen: list[tuple[float, int]] = seen) -> None:
            seen.append((perf_counter(), tally.recognized))

        recognize_source(
            path,
            WORK["part"],
            Writing((path.with_suffix(".parquet"),)),
            SourceReading(size=512),
            engine=LocalProcesses(workers),
            on_chunk=on_chunk,
        )
        (start, before), (end, after) = seen[4], seen[-3]
        rates.setdefault(workers, []).append((after - before) / (end - start))
    one, two = (max(rates[workers]) for workers in (1, 2))
    load = os.getloadavg()[0]
    return {"two_processes_times_faster": two / one, "load_average": load}


def memory(source: Path, counts: list[int], folder: Path, workers: int) -> dict[str, Any]:
    """Peak memory of the command for so many molecules, in megabytes."""
    found = {}
    for count in counts:
        path = folder / "memory.smi"
        path.write_text("\n".join(molecules(source, None, count)) + "\n")
        command = [sys.executable, "-m", "vgib", "recognize", str(path), "--model", MODEL]
        command += ["--single", "--keep-ratio", "0.5", "--rule", "ring_intact"]
        command += ["--workers", str(workers)]
        command += ["--out", str(folder / "a.parquet"), "--out", str(folder / "a.html")]
        started = perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"the command failed on {count} molecules")
        found[str(count)] = {
            "peak_megabytes": round(usage.ru_maxrss / 1024),
            "seconds": round(perf_counter() - started),
        }
    return found


def main() -> None:
    """Parses the arguments and prints the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--mirror", help="a folder that holds ZINC250K")
    parser.add_argument("--molecules", type=Path, help="a file of SMILES in place of ZINC250K")
    parser.add_argument("--count", type=int, default=8192, help="molecules (default 8192)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--processes", type=int, default=30_000, help="molecules; 0 to leave out")
    parser.add_argument("--memory", type=int, nargs="*", default=[], help="counts of molecules")
    parser.add_argument("--only-memory", action="store_true", help="leave the speed out")
    parser.add_argument("--only-answers", action="store_true", help="full answers and the page")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        if not arguments.only_memory:
            few = molecules(arguments.molecules, arguments.mirror, 512)
            found |= full_answers(few, folder, min(3, arguments.rounds)) | page(few[:101])
        if not (arguments.only_memory or arguments.only_answers):
            smiles = molecules(arguments.molecules, arguments.mirror, arguments.count)
            found |= {"molecules": len(smiles)} | shares(smiles, folder, arguments.rounds)
            found |= by_prediction(smiles[:1024], folder)
            if arguments.processes:
                many = molecules(arguments.molecules, arguments.mirror, arguments.processes)
                found |= processes(many, folder)
        if arguments.memory:
            found["memory"] = memory(arguments.molecules, arguments.memory, folder, 1)
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        for key, value in found.items():
            print(f"{key}: {value}")


if __name__ == "__main__":
    main()
