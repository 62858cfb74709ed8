"""The tables of the README and of the docs, drawn from the committed results alone.

python -m benchmarks.tables            # writes them between their marks

A mark ``<!-- table4 summary -->`` stands for the table of that name of an experiment, as
``vgib report table4`` draws it; a mark of one word that is no experiment for a benchmark.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.claims import benchmark, claims, drawn
from vgib.errors import unknown_name
from vgib.model import shipped

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "benchmarks"
PAGES = (
    "README.md",
    *(f"docs/{name}.md" for name in ("interpretation", "faithfulness", "classification")),
    *(f"docs/{name}.md" for name in ("known_answers", "models", "ray", "speed")),
)
MARK = re.compile(r"<!-- (?P<name>(?!end)[^>]+) -->\n.*?<!-- end -->", re.DOTALL)

SPEED = {
    "loop_32": "against a loop over graphs as published, batch 32",
    "loop_best": "against a loop over graphs as published, our best batch size",
    "pyg_32": "against idiomatic PyG, batch 32",
    "pyg_1024": "against idiomatic PyG, batch 1,024",
    "collab_gcn": "against PyG, an epoch of COLLAB, GCN",
    "collab_gat": "against PyG, an epoch of COLLAB, GAT",
    "vgib_over_attention": "VGIB over attention, batch 32 (the paper: 1.03)",
    "gib_over_vgib": "GIB with 150 inner steps over VGIB, batch 32 (the paper: 11.7)",
}

RAY_SIZES = [(10**6, 2), (10**6, 16), (10**8, 64), (10**8, 256), (10**9, 256), (10**9, 1024)]
RAY_EFFICIENCY = 0.9
RAY_PRICE = 0.04
RAY_UNKNOWN = "Not measured yet: `python -m benchmarks.ray` wants a machine with two free cores."
RAY_RUNS = {
    "local": "one local process",
    "ray_1": "Ray, one worker",
    "ray_2": "Ray, two workers",
    "ray_1_small": "Ray, one worker, an eighth of the input",
}
EXPLAIN = {
    "gnnexplainer_batched": "our GNNExplainer, all in batches, the same masks",
    "vgib": "a fitted `fidelity-gate`",
    "vgib_explanations": "a fitted `vgib`, with one `Explanation` for each graph",
}
RECOGNIZE = {
    "scores": "predictions and atom scores",
    "part": "with the best part as a fragment",
    "ensemble": "with three seeds, spread and stability",
    "prediction": "one seed, the predictor chooses among the parts",
    "full": "the full answer: a part that suffices, effects, interval, neighbors, alerts",
}
EPOCHS = ("none", "gib", "vgib", "gsat")


def speed() -> str:
    """The ratios of the training benchmark."""
    found = benchmark("train.json")
    rows = ["| comparison | ratio |", "| --- | --- |"]
    rows += [f"| {text} | {found[key]:.1f} |" for key, text in SPEED.items()]
    return "\n".join(rows)


def explain() -> str:
    """Seconds to explain a thousand molecules."""
    found = benchmark("explain.json")
    loop = found["gnnexplainer_loop_seconds"]
    rows = [
        f"| explaining {found['graphs']:,} molecules | seconds | times faster |",
        "| --- | ---: | ---: |",
        f"| PyG's GNNExplainer, graph by graph (scaled from {found['sample']}) | {loop:.0f} | 1 |",
    ]
    for key, text in EXPLAIN.items():
        seconds = found[f"{key}_seconds"]
        rows.append(f"| {text} | {seconds:.2f} | {found[f'{key}_times_faster']:,.0f} |")
    return "\n".join(rows)


def pgexplainer() -> str:
    """Our PGExplainer beside PyG's on one network, seed by seed."""
    rows = [
        "| seed | accuracy | when every message counts one half | edge AUC, ours | PyG's |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for seed, found in benchmark("pgexplainer.json")["seeds"].items():
        names = ("accuracy", "accuracy_at_half", "ours", "pyg")
        rows.append(f"| {seed} | {' | '.join(f'{found[name]:.2f}' for name in names)} |")
    return "\n".join(rows)


def epochs() -> str:
    """Seconds of an epoch of each bottleneck."""
    rows = [
        f"| dataset | encoder | {' | '.join(EPOCHS)} | vgib / none |",
        "| --- | --- |" + " ---: |" * (len(EPOCHS) + 1),
    ]
    for name, found in benchmark("epochs.json")["epochs"].items():
        dataset, encoder = name.split("/")
        cells = [f"{found[each]:.3f}" for each in EPOCHS]
        cells.append(f"{found['vgib_over_none']:.2f}")
        rows.append(f"| {dataset} | {encoder} | {' | '.join(cells)} |")
    return "\n".join(rows)


def ray() -> str:
    """Times and costs of large runs, extrapolated from the measured rate of one core."""
    if not (RESULTS / "ray.json").is_file():
        return RAY_UNKNOWN
    rate = benchmark("ray.json")["runs"]["ray_1"]["rate"]
    rows = ["| molecules | cores | minutes | cost |", "| --- | --- | --- | --- |"]
    for count, cores in RAY_SIZES:
        minutes = count / (rate * cores * RAY_EFFICIENCY) / 60
        cost = minutes / 60 * cores * RAY_PRICE
        rows.append(f"| {count:,} | {cores} | {minutes:,.1f} | {cost:,.2f} $ |")
    return "\n".join(rows)


def ray_measured() -> str:
    """The runs on one machine, and what they are compared with."""
    if not (RESULTS / "ray.json").is_file():
        return RAY_UNKNOWN
    found = benchmark("ray.json")
    rows = [
        "| run | molecules | seconds | of processors | a second | driver's memory | load |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, run in found["runs"].items():
        cells = [
            f"{run['rows']:,}",
            f"{run['seconds']:.0f}",
            f"{run['cpu']:.0f}",
            f"{run['rate']:.0f}",
        ]
        cells += [f"{run['driver_mb']:.0f} MB", f"{run['load']:.1f}"]
        rows.append(f"| {RAY_RUNS[name]} | {' | '.join(cells)} |")
    verdict = "the same" if found["same_rows"] else "not the same"
    told = (
        f"Ray with one worker over the local process: {found['ray_over_local']:.2f} (wanted: 0.7; "
        f"by processor time {found['ray_over_local_by_cpu']:.2f}). "
        f"Two workers over one: {found['two_over_one']:.2f} from start to end, "
        f"{found['two_over_one_after_start']:.2f} without the {found['start_seconds']:.0f} s that "
        "Ray and the model take to start (wanted: 1.6, on two free cores). "
        f"The rows of all runs are {verdict}."
    )
    return "\n".join([*rows, "", told])


def recognize() -> str:
    """Molecules a second, and the share of RDKit's own rate."""
    found = benchmark("recognize.json")
    alone = found["rdkit_parsing_per_second"]
    rows = ["| what | molecules a second | share |", "| --- | ---: | ---: |"]
    rows.append(f"| RDKit's parsing alone | {alone:,.0f} | 100 % |")
    for key, text in RECOGNIZE.items():
        if f"{key}_per_second" not in found:
            continue
        rate = found[f"{key}_per_second"]
        rows.append(f"| {text} | {rate:,.0f} | {found.get(f'{key}_share', rate / alone):.0%} |")
    if "page_milliseconds" in found:
        rows += ["", _page_told(found)]
    return "\n".join(rows).replace("%", " %").replace("  %", " %")


def _page_told(found: dict[str, float]) -> str:
    return (
        f"One molecule on the page takes {found['page_milliseconds']:.0f} ms of processor time "
        f"(the slowest of a hundred {found['page_most_milliseconds']:.0f} ms), and the first one "
        f"{found['page_first_milliseconds']:.0f} ms."
    )


HEADLINES = {"r_squared": "R²", "roc_auc": "ROC AUC"}


def models() -> str:
    """The shipped models, from their cards."""
    heads = ("name", "trained on", "quality", "new scaffolds", "all members")
    rows = [[*heads, "the part, by all members", "a random part"]]
    for name, card in shipped.cards().items():
        told, best = card.metrics, HEADLINES[card.headline]
        rows.append(
            [
                *(name, ", ".join(card.data["sources"])),
                f"{best} {_interval(told[card.headline])}",
                _interval(told[f"{card.headline}_new_scaffolds"]),
                _interval(told[f"{card.headline}_all_members"]),
                *_part(told),
            ]
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _part(told: dict[str, Any]) -> tuple[str, str]:
    """How good the part is that users see, and a random one of its size."""
    if "iou_all_members" in told:
        kept = told["kept_share_all_members"]["value"]
        auc = told["node_auc_all_members"]["value"]
        found = f"IoU {_interval(told['iou_all_members'])}, node AUC {auc:.3f}, {kept:.0%} kept"
        return found.replace("%", " %"), f"IoU {_interval(told['control_random_iou'])}"
    return f"gap closed {_interval(told['gap_closed_half_all_members'])}", "0 by definition"


def _interval(told: dict[str, float]) -> str:
    return f"{told['value']:.3f} [{told['low']:.3f}, {told['high']:.3f}]"


BENCHMARKS: dict[str, Callable[[], str]] = {
    "models": models,
    "claims": claims,
    "recognize": recognize,
    "speed": speed,
    "epochs": epochs,
    "explain": explain,
    "pgexplainer": pgexplainer,
    "ray": ray,
    "ray measured": ray_measured,
}
"""What is measured by programs of this folder, not by an experiment."""


def table(name: str) -> str:
    """The table that a mark stands for, without its title, which the page gives it."""
    if name in BENCHMARKS:
        return BENCHMARKS[name]()
    experiment, _, wanted = name.partition(" ")
    tables = {each.name: each for each in drawn(experiment).tables if each.name}
    if wanted not in tables:
        raise unknown_name(f"table of {experiment}", wanted, tables)
    return tables[wanted].markdown().partition("\n\n")[2]


def filled(text: str) -> str:
    """A page with every table of it put between its marks."""
    return MARK.sub(
        lambda mark: f"<!-- {mark['name']} -->\n{table(mark['name'])}\n<!-- end -->", text
    )


if __name__ == "__main__":
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
