"""The service under load: 50 clients at once on ``/recognize``, over loopback.

    python -m benchmarks.serve --json > results/benchmarks/serve.json

Two services run side by side, each in its own process with one thread, with the same shipped model:
one computes what waits together in batches, the other is held to one request at a time. Both get
the same requests, one molecule each, from the same clients in turns of some seconds, so that what
else the machine does falls on both. Then the batching one bears
the load for a minute without a pause. Throughput is told per second of the clock and, since a
machine may be shared, per second of the service's own processor time.
"""

import argparse
import asyncio
import json
import os
import sys
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from vgib.data.molecules import load_drugs

HOST = "127.0.0.1"
CLIENTS = 50
SECONDS = 60.0
TURNS = 6
WARM_UP = 2.0


def serve(model: str, batch: int, telling: Connection) -> None:
    """A service in a process of its own, which tells its port and then, when asked, its time."""
    from threading import Thread
    from time import process_time

    import torch
    import uvicorn

    from vgib.serve.api import make_app
    from vgib.serve.limits import Limits
    from vgib.serve.server import listen
    from vgib.serve.shelf import ModelShelf

    torch.set_num_threads(1)
    folders = [model] if Path(model).is_dir() else []
    app = make_app(ModelShelf(folders, shipped=not folders), Limits(batch=batch))
    listener = listen(HOST, 0)
    telling.send(listener.getsockname()[1])

    def tell_time() -> None:
        while telling.recv():
            telling.send(process_time())

    Thread(target=tell_time, daemon=True).start()
    config = uvicorn.Config(app, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


@dataclass
class Service:
    """One of the services, and what was measured of it."""

    model: str
    batch: int
    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0
    processor: float = 0.0

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.telling, other = context.Pipe()
        self.process = context.Process(
            target=serve, args=(self.model, self.batch, other), daemon=True
        )
        self.process.start()
        self.port: int = self.telling.recv()

    def time(self) -> float:
        """The processor time that it has used."""
        self.telling.send(True)
        found: float = self.telling.recv()
        return found

    def load(self, bodies: list[bytes], clients: int, seconds: float) -> None:
        """Lets the clients ask for some seconds, and adds up what they saw."""
        start, used = perf_counter(), self.time()
        latencies, errors = asyncio.run(_load(self.port, bodies, clients, seconds))
        self.seconds += perf_counter() - start
        self.processor += self.time() - used
        self.latencies += latencies
        self.errors += errors

    def forget(self) -> None:
        """Forgets what was measured while warming up."""
        self.latencies, self.errors, self.seconds, self.processor = [], 0, 0.0, 0.0

    def summary(self) -> dict[str, Any]:
        """Throughput and latency."""
        times = np.array(self.latencies) * 1000
        return {
            "requests": len(times),
            "errors": self.errors,
            "seconds": round(self.seconds, 2),
            "requests_per_second": round(len(times) / self.seconds, 1),
            "requests_per_processor_second": round(len(times) / self.processor, 1),
            "median_ms": round(float(np.median(times)), 2),
            "p99_ms": round(float(np.quantile(times, 0.99)), 2),
            "slowest_ms": round(float(times.max()), 2),
        }


async def _load(
    port: int, bodies: list[bytes], clients: int, seconds: float
) -> tuple[list[float], int]:
    latencies: list[float] = []
    errors = 0
    end = perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(HOST, port)
        asked = cycle(bodies[number % len(bodies) :] + bodies[: number % len(bodies)])
        while perf_counter() < end:
            begun = perf_counter()
            writer.write(next(asked))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            answer = await reader.readexactly(length)
            latencies.append(perf_counter() - begun)
            errors += not (head.startswith(b"HTTP/1.1 200") and b'"subgraphs":[{' in answer)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return latencies, errors


def requests(model: str) -> list[bytes]:
    """One request for each of the drugs that come with the package."""
    found = []
    for smiles in load_drugs()["smiles"]:
        asked = {"molecules": [smiles], "model": Path(model).name, "keep_ratio": [0.5]}
        body = json.dumps(asked).encode()
        head = (
            f"POST /api/v1/recognize HTTP/1.1\r\nhost: {HOST}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


def measure(model: str, clients: int, seconds: float) -> dict[str, Any]:
    """Both services in turns, then the batching one without a pause, then one client alone."""
    together, single = Service(model, 512), Service(model, 1)
    bodies = requests(model)
    sleep(1)
    for service in (together, single):
        service.load(bodies, clients, WARM_UP)
        service.forget()
    for turn in range(TURNS):
        print(f"turn {turn + 1} of {TURNS}", file=sys.stderr)
        for service in (together, single):
            service.load(bodies, clients, seconds / TURNS / 2)
    found: dict[str, Any] = {"model": Path(model).name, "clients": clients}
    found |= {"cores": os.cpu_count(), "load_average": round(os.getloadavg()[0], 1)}
    found |= {"batches": together.summary(), "one_at_a_time": single.summary()}
    for per in ("second", "processor_second"):
        key = f"requests_per_{per}"
        found[f"gain_per_{per}"] = round(found["batches"][key] / found["one_at_a_time"][key], 2)
    for name, number, time in (("load", clients, seconds), ("one_client", 1, seconds / TURNS)):
        print(f"{number} clients, {time:g} s", file=sys.stderr)
        together.forget()
        together.load(bodies, number, time)
        found[name] = together.summary()
    for service in (together, single):
        service.telling.send(False)
        service.process.terminate()
    return found


def main() -> None:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="qed", help="A shipped model, or a folder.")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--json", action="store_true", help="Print JSON alone.")
    chosen = parser.parse_args()
    found = measure(chosen.model, chosen.clients, chosen.seconds)
    if chosen.json:
        print(json.dumps(found, indent=1))
        return
    for name in ("batches", "one_at_a_time", "load", "one_client"):
        print(name, *(f"{key} {value}" for key, value in found[name].items()), sep="\n  ")
    print(f"gain by batches: {found['gain_per_second']} (clock)")
    print(f"gain by batches: {found['gain_per_processor_second']} (processor time)")


if __name__ == "__main__":
    main()
