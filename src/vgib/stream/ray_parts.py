"""Bulk work on a cluster: files of molecules in, Parquet parts out, by Ray Data.

Three stages stream behind each other and slow each other down when they have to: tasks that read
files and cut them into parts, actors that hold the model and write what came of a part, and the
driver, which sees nothing but counts. A part has one name, is renamed into its place when it is
whole, and carries its counts in its footer: whoever comes to compute it again, after a crash or in
a later run, finds it and takes the counts from there.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from vgib.data.files import locked
from vgib.stream.careful import ChunkWork, carefully
from vgib.stream.chunks import AS_IT_COMES, SourceReading
from vgib.stream.manifest import InputFile, Manifest, begin
from vgib.stream.parts import PartStore, part_name
from vgib.stream.ray_reading import Reader, Row, input_files, row_of, unpacked
from vgib.stream.schema import Recognized
from vgib.train.cluster import connected

ATTEMPTS = 4
"""How often a part is begun before it is given up. From the second time on each of its records may
die alone, so that this is for machines that go down with it."""

IN_FLIGHT = 2
"""Parts that an actor has at once: one under way and the next, so that the last ones are shared."""


def run_parts(
    source: Path,
    work: ChunkWork,
    out: Path,
    settings: str,
    reading: SourceReading = AS_IT_COMES,
    *,
    address: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    on_part: Callable[[Manifest, float], None] = lambda manifest, share: None,
) -> Manifest:
    """Does the work on every record of a file or folder, on a cluster.

    Results go to ``out/results``, refusals to ``out/rejected``, the account to
    ``out/manifest.json``. All machines must see ``source``, ``out`` and the model under the same
    paths.

    Args:
        source: A file, or a folder of files; each of them may be large.
        work: The unit of work.
        out: A new folder, or with ``resume`` that of the same run.
        settings: Everything that decides what comes of a record, as text.
        reading: How files are read.
        address: The cluster's; see :func:`~vgib.train.cluster.connected`.
        workers: Actors, a core each; by default one for each core.
        resume: Go on with a run that was stopped.
        on_part: Called after each part with the account so far and the share of the input.

    Raises:
        InputError: the source holds nothing, or the folder holds something else.
        CountError: the numbers do not add up.
    """
    started = perf_counter()
    paths = [path.resolve() for path in input_files(source)]
    out = out.resolve()
    files = [InputFile(str(path), path.stat().st_size) for path in paths]
    account = _Account(Manifest(f"{settings} {reading}", files))
    with locked(out.with_name(f".{out.name}.lock"), repr(str(out))):
        begin(out, account.manifest, resume=resume)
        PartStore(out).forget_begun()
        with connected(address, cores=workers) as ray, _quiet(ray):
            cores = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            for row in _dataset(ray, paths, work, out, reading, cores).iter_rows():
                account.add(row)
                on_part(account.manifest, account.share())
        PartStore(out).forget_begun()
        manifest = account.closed(perf_counter() - started)
        manifest.write(out)
    return manifest


def _dataset(
    ray: Any, paths: list[Path], work: ChunkWork, out: Path, reading: SourceReading, cores: int
) -> Any:
    data = ray.data
    rows = [{"file": number, "path": str(path)} for number, path in enumerate(paths)]
    parts = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        Reader(out, reading),
        batch_size=1,
        num_cpus=0,  # reading is light; the cores are the actors'
        compute=data.TaskPoolStrategy(size=min(len(rows), max(2, cores // 8))),
    )
    return parts.map_batches(
        _Writer,
        fn_constructor_args=(work, out),
        batch_size=1,
        num_cpus=1,
        # As many from start to end: an actor that Ray ends for having nothing to do while files are
        # still being opened takes seconds of two cores to come back.
        compute=data.ActorPoolStrategy(size=cores, max_tasks_in_flight_per_actor=IN_FLIGHT),
    )


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Ray Data without its own bars and logs, and with one row in each block: a row is a part."""
    import ray.data as data

    context = data.DataContext.get_current()
    before = context.target_max_block_size
    context.target_max_block_size = 1
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    for name in ("ray.data", "ray._private.ray_logging"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.target_max_block_size = before


class _Writer:
    """An actor: does the work on a part, and writes what came of it."""

    def __init__(self, work: ChunkWork, out: Path) -> None:
        import torch

        torch.set_num_threads(1)
        self.work, self.parts = work, PartStore(out)

    def __call__(self, batch: Row) -> Row:
        (number,), (part,) = batch["file"].tolist(), batch["part"].tolist()
        (chunks,), (share,), (told,) = (batch[k].tolist() for k in ("chunks", "share", "told"))
        if part < 0:
            return row_of(number, part, b"", share, json.loads(told))
        name = part_name(number, part)
        counts = self.parts.counts(name)
        if counts is not None:
            return row_of(number, part, b"", share, {**counts, "reused": True})
        begun, tables = self.parts.begin(name), unpacked(chunks)
        if begun > ATTEMPTS:
            return row_of(number, part, b"", share)
        done = (
            [self.work(table) for table in tables] if begun == 1 else carefully(self.work, tables)
        )
        found = Recognized(*map(pa.concat_tables, zip(*done, strict=True)))
        counts = self.parts.put(name, found, json.loads(told)["content"])
        return row_of(number, part, b"", share, {**counts, "reused": False})


class _Account:
    """The manifest as it grows, and which parts are in it."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.seen: list[set[int]] = [set() for _ in manifest.files]
        self.read = [0.0 for _ in manifest.files]
        self.reasons: Counter[str] = Counter()

    def add(self, row: Row) -> None:
        """Counts a part, once; or what its reader says of a file."""
        number, part, told = row["file"], row["part"], json.loads(row["told"])
        file = self.manifest.files[number]
        self.read[number] = max(self.read[number], row["share"])
        if part < 0:
            file.parts, file.records, file.error = told["parts"], told["records"], told["error"]
        elif told and part not in self.seen[number]:
            self.seen[number].add(part)
            file.recognized += told["recognized"]
            file.rejected += told["rejected"]
            self.reasons.update(told["reasons"])
            self.manifest.reused += told["reused"]

    def share(self) -> float:
        """How much of all bytes has been dealt with."""
        sizes = [file.bytes for file in self.manifest.files]
        done = sum(share * size for share, size in zip(self.read, sizes, strict=True))
        return done / max(1, sum(sizes))

    def closed(self, seconds: float) -> Manifest:
        """The account at the end, checked."""
        files = self.manifest.files
        lost = [
            part_name(number, part)
            for number, (file, seen) in enumerate(zip(files, self.seen, strict=True))
            for part in sorted(set(range(file.parts)) - seen)
        ]
        done = replace(
            self.manifest,
            reasons=dict(self.reasons.most_common()),
            lost=lost,
            complete=not lost and not any(file.error for file in files),
            seconds=seconds,
        )
        done.check()
        return done
