"""The tables of the README and of the docs, drawn from the committed results alone.

python -m benchmarks.tables            # writes them between their marks
"""

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable
from vgib.experiments.figure1 import table as terms
from vgib.experiments.figure2b import table as noise
from vgib.experiments.ground_truth import table as truth
from vgib.experiments.table1 import table as interpretation
from vgib.experiments.table1.cells import DivergenceCell, cells
from vgib.experiments.table2 import table as dynamics
from vgib.experiments.table3 import table as explanation
from vgib.experiments.table4 import table as classification

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "benchmarks"

SPEED = {
    "loop_32": "against a loop over graphs as published, batch 32",
    "loop_best": "likewise, our best batch size",
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


def ba2motifs() -> str:
    """Accuracy, node AUC and kept share of each variant."""
    rows = ["| variant | accuracy | node AUC | kept share |", "| --- | --- | --- | --- |"]
    for name, found in _load("ba2motifs.json").items():
        cells = [_spread(found["summary"][key]) for key in ("accuracy", "node_auc", "kept_share")]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def speed() -> str:
    """The ratios of the training benchmark."""
    found = _load("train.json")
    rows = ["| comparison | ratio |", "| --- | --- |"]
    rows += [f"| {text} | {found[key]:.1f} |" for key, text in SPEED.items()]
    return "\n".join(rows)


@cache
def _cells(name: str, version: str) -> list[DivergenceCell]:
    made = recipe(name)
    found = cells(made, Records(ROOT / "results" / name))
    return [cell for cell in found if cell.version == version]


def table1(version: str) -> str:
    """Divergence by the paper's rule, with the kept share."""
    return _rows(interpretation.divergence_table(_cells("table1", version), version))


def gap(version: str) -> str:
    """The share of the gap that is closed at half size."""
    return _rows(interpretation.gap_table(_cells("table1", version), version, "half", ""))


def ablation() -> str:
    """What the published result is made of."""
    return _rows(interpretation.paper_rule_table(_cells("ablation_interpretation", "list")))


def table2() -> str:
    """Seconds of training."""
    made = recipe("table2")
    found = dynamics.courses(made, Records(ROOT / "results" / made.name))
    return _rows(dynamics.time_table(found, str(made.control)))


def figure1() -> str:
    """Where the compression term goes."""
    made = recipe("figure1")
    return _rows(terms.stability_table(dynamics.courses(made, Records(ROOT / "results/figure1"))))


def figure2b() -> str:
    """Noise in the found half."""
    made = recipe("figure2b")
    return _rows(noise.table(noise.disturbances(made, Records(ROOT / "results" / made.name))))


@cache
def _explained(name: str) -> list[explanation.FidelityCell]:
    return explanation.cells(recipe(name), Records(ROOT / "results" / name))


def table3(name: str = "table3") -> str:
    """Both fidelities of each method at half size."""
    return _rows(explanation.compact_table(_explained(name)))


def table3_against(ours: str, name: str = "table3") -> str:
    """One row against every other, over networks and shares."""
    found = explanation.comparisons(_explained(name), ours)
    return _rows(explanation.comparison_table(found, ours))


def table3_judges(gnn: str, name: str = "table3") -> str:
    """What else is known of the explanations."""
    return _rows(explanation.other_judges_table(_explained(name), gnn))


def table3_networks() -> str:
    """The networks that are explained."""
    return _rows(explanation.network_table(_explained("table3")))


def ablation_explanation() -> str:
    """Both fidelities without each part."""
    return _rows(explanation.compact_table(_explained("ablation_explanation")))


def ground_truth(measure: str) -> str:
    """How well each method finds what is known."""
    made = recipe("ground_truth")
    found = truth.cells(made, Records(ROOT / "results" / made.name))
    return _rows(truth.measure_table(found, measure))


def ground_truth_gains(measure: str) -> str:
    """What the advised form gains on each method."""
    made = recipe("ground_truth")
    found = truth.cells(made, Records(ROOT / "results" / made.name))
    return _rows(truth.gains_table(found, measure))


def explain() -> str:
    """Seconds to explain a thousand molecules."""
    found = _load("explain.json")
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


EXPLAIN = {
    "gnnexplainer_batched": "our GNNExplainer, all in batches, the same masks",
    "vgib": "a fitted `vgib`",
    "vgib_explanations": "likewise, with one `Explanation` for each graph",
}


@cache
def _classified(name: str) -> list[classification.AccuracyCell]:
    return classification.cells(recipe(name), Records(ROOT / "results" / name))


def table4(readout: str) -> str:
    """One half of Table 4."""
    return _rows(classification.accuracy_table(_classified("table4"), readout))


def table4_summary() -> str:
    """Each bottleneck against the plain backbone."""
    found = classification.summaries(_classified("table4"), "none")
    return _rows(classification.summary_table(found, "none"))


def table4_gains() -> str:
    """Likewise, on each dataset."""
    return _rows(classification.gains_table(_classified("table4"), "none"))


def table4_view_gains() -> str:
    """The gains by what is pooled at test time."""
    return _rows(classification.view_gains_table(_classified("table4"), "none"))


def table4_hours() -> str:
    """What Table 4 took."""
    return _rows(classification.hours_table(_classified("table4")))


def table4_unseen() -> str:
    """The gains without the folds that judged in the studies: the test folds of jobs 0, 1 and 2."""
    return _rows(classification.unseen_table(_classified("table4"), "none", (8, 9, 0)))


def table4_views(
    name: str, part: Literal["val", "test"], by: Literal["dataset", "encoder"] = "dataset"
) -> str:
    """What each setting of a study reaches, by what it predicts from."""
    return _rows(classification.views_table(_classified(name), "none", part, by))


EPOCHS = ("none", "gib", "vgib", "gsat")


def epochs() -> str:
    """Seconds of an epoch of each bottleneck."""
    rows = [
        f"| dataset | encoder | {' | '.join(EPOCHS)} | vgib / none |",
        "| --- | --- |" + " ---: |" * (len(EPOCHS) + 1),
    ]
    for name, found in _load("epochs.json")["epochs"].items():
        dataset, encoder = name.split("/")
        cells = [f"{found[each]:.3f}" for each in EPOCHS]
        cells.append(f"{found['vgib_over_none']:.2f}")
        rows.append(f"| {dataset} | {encoder} | {' | '.join(cells)} |")
    return "\n".join(rows)


def ray() -> str:
    """Hours and costs of large runs, extrapolated from the measured rate of one core."""
    if not (RESULTS / "ray.json").is_file():
        return RAY_UNKNOWN
    rate = _load("ray.json")["runs"]["ray_1"]["rate"]
    rows = ["| molecules | cores | hours | cost |", "| --- | --- | --- | --- |"]
    for count, cores in RAY_SIZES:
        hours = count / (rate * cores * RAY_EFFICIENCY) / 3600
        rows.append(f"| {count:,} | {cores} | {hours:,.1f} | {hours * cores * RAY_PRICE:,.0f} $ |")
    return "\n".join(rows)


def ray_measured() -> str:
    """The runs on one machine, and what they are compared with."""
    if not (RESULTS / "ray.json").is_file():
        return RAY_UNKNOWN
    found = _load("ray.json")
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


def _rows(table: TextTable) -> str:
    """A table without its title, which the page gives it."""
    return table.markdown().partition("\n\n")[2]


RECOGNIZE = {
    "scores": "predictions and atom scores",
    "rationale": "with the best part as a fragment",
    "ensemble": "with three seeds, spread and stability",
    "guided": "one seed, the predictor chooses among the parts",
}


def recognize() -> str:
    """Molecules a second, and the share of RDKit's own rate."""
    found = _load("recognize.json")
    alone = found["rdkit_parsing_per_second"]
    rows = ["| what | molecules a second | share |", "| --- | ---: | ---: |"]
    rows.append(f"| RDKit's parsing alone | {alone:,.0f} | 100 % |")
    for key, text in RECOGNIZE.items():
        rate = found[f"{key}_per_second"]
        rows.append(f"| {text} | {rate:,.0f} | {found.get(f'{key}_share', rate / alone):.0%} |")
    return "\n".join(rows).replace("%", " %").replace("  %", " %")


TABLES: dict[str, Callable[[], str]] = {
    "recognize": recognize,
    "ba2motifs": ba2motifs,
    "speed": speed,
    "table1": partial(table1, "list"),
    "table1 full": partial(table1, "full"),
    "gap": partial(gap, "list"),
    "gap full": partial(gap, "full"),
    "table2": table2,
    "figure1": figure1,
    "figure2b": figure2b,
    "ablation": ablation,
    "table3": table3,
    "table3 against": partial(table3_against, "vgib"),
    "table3 warmed against": partial(table3_against, "vgib-warmed"),
    "table3 refined against": partial(table3_against, "vgib-refined"),
    "scaffold": partial(table3, "table3_scaffold"),
    "scaffold against": partial(table3_against, "vgib-warmed", "table3_scaffold"),
    "scaffold judges": partial(table3_judges, "gcn-2x16", "table3_scaffold"),
    "table3 judges 2x16": partial(table3_judges, "gcn-2x16"),
    "table3 judges 3x64": partial(table3_judges, "gcn-3x64"),
    "table3 networks": table3_networks,
    "ablation explanation": ablation_explanation,
    "ground truth": partial(ground_truth, "node_auc"),
    "ground truth edges": partial(ground_truth, "edge_auc"),
    "ground truth gains": partial(ground_truth_gains, "node_auc"),
    "table4 summary": table4_summary,
    "table4 gains": table4_gains,
    "table4 view gains": table4_view_gains,
    "table4 unseen": table4_unseen,
    "table4 hours": table4_hours,
    "table4 sum": partial(table4, "sum"),
    "table4 mean": partial(table4, "mean"),
    "table4 study": partial(table4_views, "table4_study", "test"),
    "table4 budget": partial(table4_views, "table4_budget", "test"),
    "table4 gib": partial(table4_views, "table4_gib", "val", "encoder"),
    "epochs": epochs,
    "explain": explain,
    "ray": ray,
    "ray measured": ray_measured,
}

PAGES = {
    "README.md": (
        *("ba2motifs", "speed", "recognize", "table1", "gap", "table2", "table3", "ground truth"),
        *("table4 summary", "table4 gains", "table4 sum", "table4 mean"),
    ),
    "docs/interpretation.md": (
        *("table1", "table1 full", "gap", "gap full", "table2", "figure1", "figure2b", "ablation"),
    ),
    "docs/explanation.md": (
        *("table3", "table3 against", "table3 warmed against", "table3 refined against"),
        *("scaffold", "scaffold against", "scaffold judges", "table3 judges 2x16"),
        *("table3 judges 3x64", "table3 networks", "ablation explanation", "ground truth"),
        *("ground truth edges", "ground truth gains", "explain"),
    ),
    "docs/classification.md": (
        *("table4 summary", "table4 gains", "table4 view gains", "table4 sum", "table4 mean"),
        *("table4 study", "table4 budget", "table4 unseen", "table4 hours", "table4 gib", "epochs"),
    ),
    "docs/ray.md": ("ray", "ray measured"),
    "docs/recognize.md": ("recognize",),
}
"""The tables of each page."""


def filled(page: str, text: str) -> str:
    """The text of a page with every table of it put between its marks."""
    for name in PAGES[page]:
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        drawn = TABLES[name]()
        text, count = pattern.subn(lambda mark, d=drawn: f"{mark[1]}{d}\n{mark[2]}", text)
        if count != 1:
            raise SystemExit(f"{page} has {count} places for the table {name!r}; expected one")
    return text


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return content


def _spread(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} ± {value['std']:.3f}"


if __name__ == "__main__":
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(page, path.read_text(encoding="utf-8")), encoding="utf-8")
