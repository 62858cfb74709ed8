"""A trained model's predictions explained, from graphs to a folder: what ``vgib explain`` does.

Scores come from any post-hoc method, subgraphs from the scores, and both are judged by the model
itself: the prediction without the explanation, and from it alone, beside random nodes and random
subgraphs of the same sizes.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from vgib.config import DEFAULT_EXPLAINER
from vgib.data.capped import atom_features
from vgib.data.files import json_text, replacing_folder, write_text
from vgib.data.molecules import Molecules
from vgib.data.packed import PackedGraphs
from vgib.errors import InputError
from vgib.explain.explainer import Explainer, explainers
from vgib.explain.fidelity import KEEP_RATIOS, Definition, Judge, mean_shares, with_control
from vgib.explain.truth import ground_truth
from vgib.metrics import Array
from vgib.model.answer import Answer
from vgib.model.labels import as_targets
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.results import Recognitions
from vgib.page.html import gallery, page, paragraph, section, short, table
from vgib.select.masks import mask_of
from vgib.select.policy import By, Rule, Selection

Tell = Callable[[str, int, int | None], None]
"""Called with a stage, how much of it is done, and of how much, where that is known."""

FILES = ("scores.csv", "subgraphs.csv", "metrics.json", "report.html")
BATCH_SIZE = 256

MEANINGS: dict[Definition, str] = {
    "accuracy": "accuracy against the true label that is lost",
    "agreement": "share of graphs whose predicted class changes",
    "probability": "probability of the predicted class that is lost",
    "change": "absolute change of the predicted value",
}


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations and what they are worth.

    Attributes:
        found: Name, prediction, scores and subgraph of each graph.
        numbers: The number of each graph, or row of its table, among those given, from 0; graphs
            without a node are left out.
        metrics: Everything measured, as plain values.
    """

    found: Recognitions
    numbers: Array
    metrics: dict[str, Any]

    def headline(self) -> dict[str, dict[str, float]]:
        """Both fidelities of the chosen subgraphs, each with its control, and the ground truth."""
        shown = {}
        for row in self.metrics["subgraphs"]:
            for side in ("plus", "minus"):
                shown[f"{row['definition']}_fidelity_{side}"] = row[side]
                shown[f"control_random_{row['definition']}_{side}"] = row[f"random_{side}"]
        known = self.metrics.get("ground_truth", {})
        return shown | {name: value for name, value in known.items() if value is not None}


def explain_graphs(
    model: SubgraphRecognizer,
    graphs: Any,
    method: str | type[Explainer] | Explainer = DEFAULT_EXPLAINER,
    *,
    keep_ratio: float = 0.5,
    rule: Rule | None = None,
    by: By | None = None,
    fit_on: Any = None,
    seed: int = 0,
    tell: Tell = lambda *_: None,
) -> Explained:
    """Explains a model's predictions and measures the explanations.

    Args:
        model: A trained model, with whatever bottleneck; only its predictions matter.
        graphs: Of any kind that the model takes. Labels are used where there are some.
        method: A name, class or instance of an explainer.
        keep_ratio: The share of nodes in the subgraph of each graph.
        rule: Which subgraphs are allowed, a name of :data:`vgib.select.policy.RULES`.
        by: What decides between them, a name of :data:`vgib.select.policy.CRITERIA`; the scores,
            unless the model's prediction is to decide.
        fit_on: Graphs that the method learns from, if it learns; ``graphs`` when ``None``.
        seed: Of the method and of the random controls.
        tell: Told of the progress.
    """
    asked = Selection.of(keep_ratio, rule, by)  # a wrong name or share fails before the work
    explainer = explainers.make(method, **({"seed": seed} if isinstance(method, str) else {}))
    packed = model.pack(graphs)
    data, numbers = _with_nodes(packed)
    is_read = isinstance(graphs, Molecules)
    rows, rejected = (graphs.rows, graphs.rejected) if is_read else (np.arange(len(packed)), ())
    selection = asked.for_graphs(molecules=atom_features(data) is not None)
    start = perf_counter()
    if explainer.needs_fit:
        tell("fitting", 0, None)
        explainer.fit(model.net_, data if fit_on is None else _with_nodes(model.pack(fit_on))[0])
    fitted = perf_counter()
    scores = _scores(explainer, model, data, tell)
    scored = perf_counter()
    tell("choosing", 0, None)
    answer = model.members()[0].answer(data).with_scores(scores)
    found = answer.recognitions(selection)
    tell("measuring", 0, None)
    metrics = {
        "method": method if isinstance(method, str) else type(explainer).__name__,
        "removal": explainer.removal,
        "model": model.card_.summary,
        "task": model.card_.task,
        "graphs": len(data),
        "without_nodes": len(packed) - len(data),
        "refused": [line._asdict() for line in rejected],
        "keep_ratio": keep_ratio,
        "rule": selection.rule,
        "by": selection.by,
        "seed": seed,
        "seconds_to_fit": round(fitted - start, 3),
        "milliseconds_each": round(1000 * (scored - fitted) / len(data), 3),
        **_measured(model, answer, found, selection, seed),
    }
    return Explained(found, rows[numbers], metrics)


def _with_nodes(graphs: PackedGraphs) -> tuple[PackedGraphs, Array]:
    """The graphs that have a node, and their numbers."""
    present = (graphs.sizes > 0).nonzero().flatten()
    if not len(present):
        raise InputError(
            f"none of the {len(graphs)} graphs has a node; there is nothing to explain"
        )
    return (graphs if len(present) == len(graphs) else graphs[present]), present.numpy()


def _scores(
    explainer: Explainer, model: SubgraphRecognizer, data: PackedGraphs, tell: Tell
) -> Tensor:
    parts, done = [], 0
    for batch in data.batches(BATCH_SIZE):
        tell("explaining", done, len(data))
        parts.append(explainer.scores(model.net_, batch))
        done += batch.num_graphs
    tell("explaining", done, len(data))
    return torch.cat(parts)


def _measured(
    model: SubgraphRecognizer,
    answer: Answer,
    found: Recognitions,
    selection: Selection,
    seed: int,
) -> dict[str, Any]:
    """Fidelity at every share and of the chosen subgraphs; the ground truth where it is known."""
    data, scores, card = answer.graphs, torch.from_numpy(answer.node_scores), model.card_
    y: Tensor | None = None
    definitions: list[Definition] = ["change"]
    if card.task == "classification":
        definitions = ["agreement", "probability"]
        if data.y is not None:  # true classes, as the model counts them
            y = as_targets(data, card.task, card.classes).y
            definitions = ["accuracy", *definitions]
    judge = Judge(model.net_, replace(data, y=None), y=y)
    shares = sorted({*KEEP_RATIOS, *(selection.sizes_asked or ())})
    best, chance = with_control(data, scores, shares, torch.Generator(), seed)
    mask, control = _masks(answer, found, selection, seed)
    rows = judge.fidelities(best, chance, shares, definitions)
    chosen = judge.fidelities(mask, control, mean_shares(mask, data), definitions)
    metrics: dict[str, Any] = {
        "fidelity": [row.to_json() for row in rows],
        "subgraphs": [row.to_json() for row in chosen],
    }
    if data.node_truth is not None:
        metrics["ground_truth"] = asdict(ground_truth(data, scores, seed=seed))
    return metrics


def _masks(
    answer: Answer, found: Recognitions, selection: Selection, seed: int
) -> tuple[Tensor, Tensor]:
    """The chosen nodes and random ones of the same kind and number, ``bool [1, nodes]`` each."""
    chosen = [[one.subgraphs[0].nodes] for one in found]
    sizes = np.array([len(nodes) for (nodes,) in chosen])
    blocks = answer.parts.blocks if selection.rule == "ring_intact" else None
    rng = np.random.default_rng(seed)
    control = selection.control(answer.graphs, sizes, rng, blocks)
    mask = mask_of(chosen, answer.graphs.node_ptr)
    return torch.from_numpy(mask)[None], torch.from_numpy(control)[None]


# ---- the folder ----------------------------------------------------------------------------------


def write_explained(
    explained: Explained,
    folder: Path,
    *,
    source: str,
    pictures: int = 60,
    tell: Tell = lambda *_: None,
) -> None:
    """Writes scores, subgraphs, metrics and a page; all of them, or none.

    Args:
        folder: Made, or replaced if it holds nothing but what an earlier run wrote.
        pictures: How many graphs are drawn, the first ones.
        tell: Told of the progress.
    """
    with replacing_folder(folder, FILES) as place:
        _score_table(explained).to_csv(place / "scores.csv", index=False, float_format="%.6f")
        _subgraph_table(explained).to_csv(place / "subgraphs.csv", index=False)
        write_text(place / "metrics.json", json_text({"source": source} | explained.metrics))
        write_text(place / "report.html", _report(explained, source, pictures, tell))


def _score_table(explained: Explained) -> pd.DataFrame:
    sizes = [len(one.scores) for one in explained.found]
    return pd.DataFrame(
        {
            "graph": np.repeat(explained.numbers, sizes),
            "node": np.concatenate([np.arange(size) for size in sizes]),
            "score": np.concatenate([one.scores for one in explained.found]),
        }
    )


def _subgraph_table(explained: Explained) -> pd.DataFrame:
    rows = [
        {
            "graph": number,
            "name": one.name,
            "prediction": short(one.prediction),
            "subgraph": one.subgraphs[0].smiles,
            "nodes": " ".join(map(str, one.subgraphs[0].nodes)),
            "score": round(one.subgraphs[0].score, 4),
            "keep_ratio": round(one.subgraphs[0].keep_ratio, 4),
        }
        for number, one in zip(explained.numbers.tolist(), explained.found, strict=True)
    ]
    return pd.DataFrame(rows)


def _report(explained: Explained, source: str, pictures: int, tell: Tell) -> str:
    metrics, found = explained.metrics, explained.found[:pictures]
    figures = []
    for place, one in enumerate(found):
        tell("drawing", place, len(found))
        kind = "row" if one.edges is None else "graph"
        figures.append(one.figure(f"{kind} {explained.numbers[place]}"))
    tell("drawing", len(found), len(found))
    of = f"the first {len(found)} of " if len(found) < len(explained.found) else ""
    return page(
        f"What {metrics['method']} says about {source}",
        f"{metrics['graphs']} graphs, predicted by a model ({metrics['model'] or 'no summary'}), "
        f"explained by {metrics['method']}. Darker nodes matter more; the outline marks the chosen "
        "subgraph.",
        [
            section("What the explanations are worth", *_worth(metrics)),
            section("At every share", *_shares(metrics)),
            section(f"Pictures: {of}{metrics['graphs']} graphs", gallery(figures)),
        ],
    )


def _worth(metrics: dict[str, Any]) -> list[str]:
    rows, controls = [], []
    for row in metrics["subgraphs"]:
        meaning = MEANINGS[row["definition"]]
        for side, what in (("plus", "without the subgraph"), ("minus", "from the subgraph alone")):
            rows.append((f"{meaning}, {what}", *_estimate(row[side])))
            controls.append(len(rows))
            rows.append(("  random subgraph of the same size", *_estimate(row[f"random_{side}"])))
    for name, value in metrics.get("ground_truth", {}).items():
        if value is not None:
            if name.startswith("random"):
                controls.append(len(rows))
            rows.append((f"known explanation: {name.replace('_', ' ')}", *_estimate(value)))
    share = metrics["subgraphs"][0]["keep_ratio"]
    return [
        paragraph(
            f"Subgraphs of {share:.0%} of the nodes on average (asked for: "
            f"{metrics['keep_ratio']:.0%}, rule {metrics['rule']}). A good explanation loses much "
            "without the subgraph (Fidelity+) and little from it alone (Fidelity-). Gray rows are "
            "controls."
        ),
        table(("measured", "value", "95 % interval"), rows, controls),
        paragraph(
            f"Explaining took {metrics['milliseconds_each']:.3g} ms for each graph after "
            f"{metrics['seconds_to_fit']:.3g} s of fitting. While it looked, the method took nodes "
            f"away by: {metrics['removal']}. The numbers above are measured on exactly induced "
            "subgraphs, whatever the method."
        ),
    ]


def _shares(metrics: dict[str, Any]) -> list[str]:
    rows = [
        (
            row["definition"],
            f"{row['keep_ratio']:g}",
            *(_interval(row[name]) for name in ("plus", "random_plus", "minus", "random_minus")),
        )
        for row in metrics["fidelity"]
    ]
    header = ("definition", "share", "Fidelity+", "random nodes", "Fidelity-", "random nodes")
    return [
        paragraph("The best-scored nodes of each graph, connected or not, against random nodes."),
        table(header, rows),
    ]


def _estimate(value: dict[str, Any]) -> tuple[str, str]:
    return f"{value['value']:.3f}", f"{value['low']:.3f} to {value['high']:.3f}"


def _interval(value: dict[str, Any]) -> str:
    return f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
