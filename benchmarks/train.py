"""Training speed: vgib against a loop over graphs and against idiomatic PyG, one thread, one run.

    python -m benchmarks.train --json --mirror FOLDER

Times are CPU seconds of this process, so that other programs on the machine count little. The two
sides of each ratio are timed alternately, several rounds, and the median of the rounds' ratios is
reported. A ratio above one says how many times faster vgib is, except ``vgib_over_attention`` and
``gib_over_vgib``, which compare methods by the time of a step.
"""

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from statistics import median
from time import perf_counter, process_time

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from benchmarks.rivals import CHANNELS, GraphByGraph, WithPyG
from vgib.config import PRESETS, Architecture, Training
from vgib.data import catalog
from vgib.data.molecules import from_smiles
from vgib.data.packed import PackedGraphs
from vgib.nn.net import SubgraphNet, build
from vgib.train.loop import seeded, train, train_step
from vgib.train.optimizer import levels

Step = Callable[[], int]  # trains on one batch and says how many graphs it held
BATCH_SIZES = (32, 128, 512, 1024, 2048, 4096)


def our_net(
    graphs: PackedGraphs, layer: str = "gcn", bottleneck: str = "", preset: str = "paper"
) -> SubgraphNet:
    """The published network: two layers of 16 channels, with the bottleneck of the preset."""
    chosen = PRESETS[preset]
    assert graphs.y is not None
    is_value = graphs.y.is_floating_point()
    return build(
        encoder=layer,
        bottleneck=bottleneck or chosen.method,
        cardinalities=graphs.cardinalities,
        in_channels=graphs.x.shape[1],
        task="regression" if is_value else "classification",
        outputs=1 if is_value else int(graphs.y.max()) + 1,
        architecture=Architecture.of(
            **chosen.architecture | {"hidden": CHANNELS, "head_hidden": 4 if is_value else 16}
        ),
        bottleneck_options={} if bottleneck else chosen.bottleneck,
    )


def stepper(
    loss_of: Callable[[object], torch.Tensor],
    parameters: Iterable[torch.nn.Parameter],
    batches: Iterator[object],
    count: Callable[[object], int],
) -> Step:
    """One step of Adam at each call, with torch's defaults, as a user writes it."""
    adam = torch.optim.Adam(parameters, lr=1e-3)

    def step() -> int:
        batch = next(batches)
        loss = loss_of(batch)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return count(batch)

    return step


def endless(make: Callable[[], Iterable[object]]) -> Iterator[object]:
    """Epoch after epoch."""
    while True:
        yield from make()


def ours(graphs: PackedGraphs, batch_size: int, **options: str) -> Step:
    """A training step of vgib, batching included."""
    net = our_net(graphs, **options).train()
    outer, inner = levels(net, Training.of())
    generator = torch.Generator().manual_seed(0)
    batches = endless(lambda: graphs.batches(batch_size, generator=generator))

    def step() -> int:
        batch = next(batches)
        train_step(net, batch, outer, inner)
        return batch.num_graphs

    return step


def loop(graphs: list[Data], batch_size: int, codes: int) -> Step:
    """A training step of the loop over graphs."""
    net = GraphByGraph(codes, outputs=1, head_hidden=4)
    graphs = [graph.clone() for graph in graphs]
    for graph in graphs:
        graph.x = torch.nn.functional.one_hot(graph.x[:, 0], codes).float()
    chunks = cycle([graphs[i : i + batch_size] for i in range(0, len(graphs), batch_size)])
    return stepper(net.loss, net.parameters(), chunks, len)


def pyg(graphs: list[Data], batch_size: int, layer: str, codes: int) -> Step:
    """A training step of idiomatic PyG, batching included."""
    is_value = graphs[0].y.is_floating_point()
    outputs = 1 if is_value else max(int(graph.y) for graph in graphs) + 1
    net = WithPyG(layer, codes, outputs, head_hidden=4 if is_value else 16)
    loader = DataLoader(graphs, batch_size=batch_size, shuffle=True)
    return stepper(net.loss, net.parameters(), endless(lambda: loader), lambda b: b.num_graphs)


def rate(step: Step, seconds: float) -> float:
    """Graphs per second of CPU time, over at least ``seconds`` and two steps."""
    graphs, started, steps = 0, process_time(), 0
    while process_time() - started < seconds or steps < 2:
        graphs += step()
        steps += 1
    return graphs / (process_time() - started)


def times_faster(
    fast: Step, slow: Step, *, rounds: int, seconds: float
) -> tuple[float, float, float]:
    """The median over rounds of rate(fast) / rate(slow), and both median rates."""
    for step in (fast, slow):
        step()
    pairs = [(rate(fast, seconds), rate(slow, seconds)) for _ in range(rounds)]
    return (
        median(a / b for a, b in pairs),
        median(a for a, _ in pairs),
        median(b for _, b in pairs),
    )


def time_to_loss(graphs: PackedGraphs) -> dict[str, dict[str, float | None]]:
    """Seconds of training until the validation loss of batch 32 after two epochs is reached."""
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    val, index = graphs[order[:1750]], order[1750:]

    def run(
        batch_size: int, lr: float, epochs: int, goal: float | None
    ) -> tuple[float, float | None]:
        spent, reached, loss = 0.0, None, float("inf")
        with seeded(0):
            net = our_net(graphs)

        def watch(epoch: dict[str, float]) -> None:
            nonlocal spent, reached, loss
            spent += epoch["seconds"]
            loss = epoch["val_loss"]
            if goal is not None and reached is None and loss <= goal:
                reached = spent

        settings = Training.of(batch_size=batch_size, lr=lr, epochs=epochs, select="last")
        train(net, graphs, index=index, val=val, settings=settings, on_epoch=watch)
        return (spent, reached) if goal is not None else (spent, loss)

    seconds, goal = run(32, 1e-3, 2, None)
    assert goal is not None
    found: dict[str, dict[str, float | None]] = {
        "32": {"lr": 1e-3, "seconds": seconds, "goal": goal}
    }
    for size in BATCH_SIZES[1:]:
        lr = 1e-3 * (size / 32) ** 0.5
        found[str(size)] = {"lr": lr, "seconds": run(size, lr, 20, goal)[1]}
    return found


def measure_qed(
    graphs: PackedGraphs, rounds: int, seconds: float, say: Callable[..., None]
) -> dict:
    """The ratios on the QED list."""
    assert graphs.cardinalities is not None
    codes = graphs.cardinalities[0]
    data = graphs[:4096].to_data_list()
    for item in data:
        item.x = item.x.long()
    found: dict[str, object] = {}
    rates: dict[str, float] = {}

    def compare(key: str, fast: Step, slow: Step, names: tuple[str, str]) -> None:
        found[key], *pair = times_faster(fast, slow, rounds=rounds, seconds=seconds)
        rates.update(zip(names, pair, strict=True))
        say(
            f"{key:22s}{found[key]:8.2f}   {names[0]} {pair[0]:,.0f}/s, {names[1]} {pair[1]:,.0f}/s"
        )

    one_by_one = loop(data, 32, codes)
    compare("loop_32", ours(graphs, 32, preset="reference"), one_by_one, ("vgib_32", "loop_32"))
    tried = {size: rate(ours(graphs, size), seconds) for size in BATCH_SIZES}
    best = max(tried, key=lambda size: tried[size])
    compare(
        "loop_best", ours(graphs, best, preset="reference"), one_by_one, (f"vgib_{best}", "loop_32")
    )
    for size in (32, 1024):
        rival = pyg(data, size, "gcn", codes)
        compare(f"pyg_{size}", ours(graphs, size), rival, (f"vgib_{size}", f"pyg_{size}"))
    for key, size in (("vgib_over_attention", 32), ("vgib_over_attention_1024", 1024)):
        attention = ours(graphs, size, bottleneck="attention")
        names = (f"attention_{size}", f"vgib_{size}")
        compare(key, attention, ours(graphs, size), names)
    compare(
        "gib_over_vgib", ours(graphs, 32), ours(graphs, 32, bottleneck="gib"), ("vgib_32", "gib_32")
    )
    return found | {"best_batch_size": best, "graphs_per_second": rates, "by_batch_size": tried}


def measure_collab(mirror: str | None, rounds: int, say: Callable[..., None]) -> dict:
    """Loading COLLAB, and one epoch of it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as cache:
        catalog.load("COLLAB", mirror=mirror, cache=cache, progress=False)
        found["collab_peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        started = perf_counter()
        graphs = catalog.load("COLLAB", mirror=mirror, cache=cache, progress=False)
        found["collab_second_load_seconds"] = perf_counter() - started
        say(f"COLLAB: peak {found['collab_peak_gib']:.2f} GiB (before {before / 2**20:.2f})")
    assert graphs.cardinalities is not None
    codes = graphs.cardinalities[0]
    data = graphs.to_data_list()
    for item in data:
        item.x = item.x.long()
    steps = -(-len(graphs) // 128)
    for layer in ("gcn", "gat"):
        fast = ours(graphs, 128, layer=layer)
        slow = pyg(data, 128, layer, codes)
        ratios = []
        for _ in range(rounds):
            seconds = []
            for step in (fast, slow):
                started = process_time()
                for _ in range(steps):
                    step()
                seconds.append(process_time() - started)
            ratios.append(seconds[1] / seconds[0])
        found[f"collab_{layer}"] = median(ratios)
        say(f"collab_{layer:15s}{median(ratios):8.2f}   ({seconds[0]:.2f} s, {seconds[1]:.2f} s)")
    return found


def main() -> None:
    """Parses the arguments and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument(
        "--mirror", help="a folder that holds the public data; else they are fetched"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds of each comparison (default 5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="least time of a side (default 2)"
    )
    parser.add_argument("--skip-collab", action="store_true", help="leave COLLAB out")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    found: dict[str, object] = {}
    if not arguments.skip_collab:
        found |= measure_collab(arguments.mirror, max(2, arguments.rounds // 2), say)
    table = catalog.load_table("vgib/qed", mirror=arguments.mirror, progress=False)
    values = table["qed"].to_numpy()
    graphs = from_smiles(table["smiles"].tolist(), y=values, features="element").graphs
    found |= measure_qed(graphs, arguments.rounds, arguments.seconds, say)
    found["time_to_loss"] = time_to_loss(graphs)
    for size, row in found["time_to_loss"].items():
        say(f"batch {size:>5s}: {row}")
    print(json.dumps(found, indent=1) if arguments.json else "")


if __name__ == "__main__":
    main()
