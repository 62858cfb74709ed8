"""An hour of load on the service, with requests in it that ended it once.

    python -m benchmarks.hostile --minutes 60 > results/benchmarks/hostile.json

Fifty clients on loopback ask for what a page and scripts ask for, each at its own pace; one request
in a hundred is hostile (see ``bad_records``). Two of the processes that compute are killed on the
way, at random. The record says how many requests were answered with what, how long ``/health`` took
at worst, which answers were wrong or missing, and how much memory the service had at each time.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

import numpy as np

from benchmarks.bad_records import hostile_requests
from vgib.data.molecules import load_drugs

HOST, API = "127.0.0.1", "/api/v1"
CLIENTS = 50
HOSTILE = 0.01
KILLS = 2
TIMEOUT = 300.0
DRUGS: list[str] = load_drugs()["smiles"].tolist()
REFUSALS = (400, 403, 408, 413, 422, 503)


@dataclass
class Account:
    """What the clients saw."""

    bad: list[Any]
    statuses: Counter[str] = field(default_factory=Counter)
    hostile: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    late: list[dict[str, float]] = field(default_factory=list)
    memory: list[dict[str, float]] = field(default_factory=list)
    kills: list[dict[str, Any]] = field(default_factory=list)


async def ask(
    port: int, method: str, route: str, body: bytes = b"", kind: str = "", **headers: str
) -> tuple[int, bytes]:
    """One request over a connection of its own: the status and the whole answer."""
    reader, writer = await asyncio.open_connection(HOST, port)
    told = {"host": HOST, "connection": "close", "content-length": str(len(body)), **headers}
    if kind:
        told["content-type"] = kind
    lines = [f"{method} {API}{route} HTTP/1.1", *(f"{k}: {v}" for k, v in told.items()), "", ""]
    try:
        writer.write("\r\n".join(lines).encode() + body)
        with suppress(ConnectionError):
            await writer.drain()
        answer = await asyncio.wait_for(reader.read(), TIMEOUT)
    except ConnectionError:
        answer = b""  # cut off: status 0, which is wrong
    finally:
        writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, content


def ordinary(draw: random.Random, drugs: list[str]) -> tuple[str, dict[str, Any] | bytes, int]:
    """A request of a page or of a script, and how many molecules its answer must tell of."""
    one = draw.choice(drugs)
    route = draw.choices(
        ("/recognize", "/inspect", "/draw", "/whatif", "/table"), (75, 10, 5, 5, 5)
    )[0]
    if route == "/recognize":
        some = draw.sample(drugs, draw.randint(1, 4))
        return route, {"molecules": some, "keep_ratio": [0.5]}, len(some)
    if route == "/table":
        some = draw.sample(drugs, 20)
        return route, "\n".join(["smiles", *some, ""]).encode(), len(some)
    asked: dict[str, Any] = {"molecule": one}
    return route, asked | ({"atoms": [0, 1]} if route == "/whatif" else {}), 1


def told_of(route: str, content: bytes) -> int:
    """How many molecules an answer tells of."""
    if route == "/recognize":
        return len(json.loads(content)["results"])
    if route == "/table":  # the lines come in chunks of the transfer
        return sum(map(int, re.findall(rb'"done":(\d+)', content)[-1:]))
    return int(b"svg" in content if route == "/draw" else b"smiles" in content)


async def client(port: int, number: int, until: float, pace: float, account: Account) -> None:
    """Asks at its own pace until the time is over."""
    draw, drugs = random.Random(number), DRUGS
    await asyncio.sleep(draw.uniform(0, pace))
    while monotonic() < until:
        begun = monotonic()
        if draw.random() < HOSTILE:
            name, route, body, kind, headers = draw.choice(account.bad)
            status, _ = await ask(port, "POST", route, body, kind, **headers)
            account.hostile[f"{status} {name}"] += 1
            if status not in (200, *REFUSALS):
                account.wrong.append(f"{name} at {route}: {status}")
        else:
            route, asked, count = ordinary(draw, drugs)
            is_table = isinstance(asked, bytes)
            content = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
            kind = "text/csv" if is_table else "application/json"
            status, answer = await ask(port, "POST", route, content, kind)
            account.statuses[f"{status} {route}"] += 1
            account.seconds.append(monotonic() - begun)
            if status not in (200, 503):
                account.wrong.append(f"{route}: {status} {answer[:200]!r}")
            elif status == 200 and (told := told_of(route, answer)) != count:
                account.wrong.append(f"{route}: asked {count}, told {told}: {answer[-300:]!r}")
        await asyncio.sleep(max(0.0, begun + draw.uniform(0.5, 1.5) * pace - monotonic()))


def parent_of(process: int) -> int:
    """The number of a process's parent; 0 when it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def family(server: int) -> tuple[list[int], list[int]]:
    """All processes of the service, and those of them that compute."""
    parents = {int(p.name): parent_of(int(p.name)) for p in Path("/proc").glob("[0-9]*")}
    children = [pid for pid, parent in parents.items() if parent == server]
    workers = [pid for pid, parent in parents.items() if parent in children]
    return [server, *children, *workers], workers


def megabytes(processes: list[int]) -> float:
    """The memory of processes, what they share counted once."""
    total = 0
    for process in processes:
        with suppress(OSError):
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
    return round(total / 1024, 1)


def watch(port: int, server: int, until: float, account: Account) -> None:
    """Asks for health every second, and writes the memory down every minute.

    It runs in a thread of its own, so that it does not wait for the other clients.
    """
    begun = monotonic()
    while monotonic() < until:
        asked = monotonic()
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT)
        connection.request("GET", f"{API}/health")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        took = monotonic() - asked
        account.health.append(took)
        if took > 1:
            account.late.append({"second": round(asked - begun, 1), "seconds": round(took, 2)})
        if answer.status != 200:
            account.wrong.append(f"/health: {answer.status}")
        minute = (monotonic() - begun) / 60
        if not account.memory or minute >= account.memory[-1]["minute"] + 1:
            used = megabytes(family(server)[0])
            account.memory.append({"minute": round(minute, 1), "megabytes": used})
        sleep(1)


async def kill(server: int, begun: float, times: list[float], account: Account) -> None:
    """Kills a process that computes, at each of some times."""
    for moment in times:
        await asyncio.sleep(max(0.0, begun + moment - monotonic()))
        victim = random.choice(family(server)[1])
        os.kill(victim, signal.SIGKILL)
        account.kills.append({"second": round(moment), "process": victim})


async def load(port: int, server: int, minutes: float, rate: float) -> Account:
    """The whole load."""
    account = Account(list(hostile_requests()))
    begun = monotonic()
    until, pace = begun + 60 * minutes, CLIENTS / rate
    times = sorted(random.uniform(0.1, 0.9) * 60 * minutes for _ in range(KILLS))
    clients = [client(port, number, until, pace, account) for number in range(CLIENTS)]
    watcher = asyncio.to_thread(watch, port, server, until, account)
    others = (watcher, kill(server, begun, times, account))
    await asyncio.gather(*clients, *others)
    return account


def summary(account: Account, minutes: float, rate: float) -> dict[str, Any]:
    """The record."""
    seconds, health = np.array(account.seconds), np.array(account.health)
    memory = [one["megabytes"] for one in account.memory]
    quarter = max(1, len(memory) // 4)
    return {
        "date": int(time()),
        "minutes": minutes,
        "clients": CLIENTS,
        "asked_per_second": rate,
        "requests": len(seconds),
        "statuses": dict(sorted(account.statuses.items())),
        "hostile_requests": sum(account.hostile.values()),
        "hostile": dict(sorted(account.hostile.items())),
        "kills": account.kills,
        "wrong": len(account.wrong),
        "first_wrong": account.wrong[:20],
        "median_seconds": round(float(np.median(seconds)), 3),
        "p99_seconds": round(float(np.quantile(seconds, 0.99)), 3),
        "health_asked": len(health),
        "health_slowest_seconds": round(float(health.max()), 3),
        "health_late": account.late,
        "health_p99_seconds": round(float(np.quantile(health, 0.99)), 3),
        "megabytes_second_quarter": round(
            float(np.mean(memory[quarter : 2 * quarter] or memory)), 1
        ),
        "megabytes_last_quarter": round(float(np.mean(memory[-quarter:])), 1),
        "memory": account.memory,
        "load_average": [round(one, 1) for one in os.getloadavg()],
    }


def main() -> None:
    """Starts a service, bears down on it, and prints the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=5.0, help="Requests in a second, in all.")
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "vgib", "serve", "--port", "0"]
    service = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"}
    )
    assert service.stderr is not None
    try:
        service.stderr.readline()  # it says first that it loads the models
        port = int(service.stderr.readline().rsplit(":", 1)[1])
        account = asyncio.run(load(port, service.pid, chosen.minutes, chosen.rate))
    finally:
        service.terminate()
    _, said = service.communicate(timeout=60)
    found = summary(account, chosen.minutes, chosen.rate)
    print(json.dumps(found | {"tracebacks": said.count("Traceback")}, indent=1))


if __name__ == "__main__":
    main()
