"""The one table of the README: each claim beside its control and what was published.

Every number is a cell of a table that ``vgib report`` draws, or of a record in
``results/benchmarks``. A claim whose records do not exist yet has no line.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vgib.errors import unknown_name
from vgib.experiments.engine.drawing import Drawn, draw
from vgib.experiments.engine.recipe import recipe
from vgib.experiments.engine.records import Records
from vgib.experiments.engine.tables import TextTable

RESULTS = Path(__file__).resolve().parents[1] / "results"
MISSING = ("", "...")
KNOWN = {
    "BA-2Motifs": "BA-2Motifs",
    "fluoride_carbonyl": "fluoride-carbonyl",
    "benzene": "benzene",
    "Mutagenicity": "Mutagenicity",
}
"""The sets whose parts are known that the README shows, and what it calls them."""


@dataclass(frozen=True)
class Claim:
    """One line: what is claimed, our number, its control, what was published, how it is made."""

    text: str
    ours: str
    control: str
    published: str
    command: str

    def row(self) -> str:
        """The line in Markdown; a number that nobody published is a dash."""
        cells = (self.text, self.ours, self.control, self.published or "-", f"`{self.command}`")
        return f"| {' | '.join(cells)} |"


@cache
def drawn(experiment: str) -> Drawn:
    """The tables of an experiment, from the committed records."""
    made = recipe(experiment)
    return draw(made, Records(RESULTS / made.folder))


def find_table(experiment: str, wanted: str) -> TextTable:
    """The table of that name, or else the first one whose title begins so."""
    tables = drawn(experiment).tables
    for each in tables:
        if each.name == wanted:
            return each
    for each in tables:
        if each.title.startswith(wanted):
            return each
    raise unknown_name(
        f"table of {experiment}", wanted, [each.name or each.title for each in tables]
    )


def cell(experiment: str, table: str, row: tuple[str, ...], column: str) -> str:
    """The text at the row that begins with ``row``, in the column of that name; empty if none."""
    found = find_table(experiment, table)
    for each in found.rows:
        if each[: len(row)] == row:
            return each[found.headers.index(column)]
    return ""


def benchmark(name: str) -> dict[str, Any]:
    """What a program of this folder measured."""
    content: dict[str, Any] = json.loads((RESULTS / "benchmarks" / name).read_text("utf-8"))
    return content


def known_answers() -> list[Claim]:
    """How well the part that ``vgib`` cuts out agrees with the known one; a rival by its paper."""
    made = []
    for column, name in KNOWN.items():
        ours, control = (
            cell("known_answers", "trained iou", (column,), each) for each in ("vgib", "vgib-beta0")
        )
        text = f"`vgib` cuts out the known part of {name}: IoU, no size given"
        made.append(Claim(text, ours, f"without a price {control}", "", "vgib run known_answers"))
    alone, without, whole = (
        cell("known_answers", f"trained {name}", ("SPMotif-0.5",), method)
        for name, method in (
            ("part_accuracy_explained", "vgib"),
            ("part_accuracy_explained", "vgib-beta0"),
            ("accuracy", "none"),
        )
    )
    text = "Where training misleads (SPMotif, bias 0.5), the part alone predicts better: accuracy"
    control = f"without a price {without}; the plain network {whole}"
    made.append(Claim(text, alone, control, "", "vgib run known_answers"))
    place = ("Rivals by their authors' protocol", ("gsat", "BA-2Motifs-published"))
    ours, published = (cell("known_answers", *place, name) for name in ("edge AUC", "published"))
    text = "GSAT reaches its published number by its own protocol: edge AUC, BA-2Motifs"
    return [*made, Claim(text, ours, "0.5 by chance", published, "vgib run known_answers")]


def paper_tables() -> list[Claim]:
    """The four tables of the paper."""
    half, guided = "gap half list", "vgib-paper-guided, exactly as many atoms"
    plain = "none-guided, exactly as many atoms"
    against, summary, views, times = "against", "summary", "views", "times"
    whole = cell("table4", views, ("vgib-paper", "clean"), "gain")
    return [
        Claim(
            "A predictor that has seen fragments chooses a good half of a molecule (QED):"
            " share of the way from a random half to the best one",
            cell("table1", half, (guided,), "qed"),
            f"without a bottleneck {cell('table1', half, (plain,), 'qed')}; 0 % by chance",
            "",
            "vgib run table1",
        ),
        Claim(
            "The atom scores of the paper's form choose no better half than chance: the same share",
            cell("table1", half, ("vgib-paper",), "qed"),
            "0 % by chance",
            "",
            "vgib run table1",
        ),
        Claim(
            "The paper's form trains in little more than the time of attention",
            f"{cell('table2', times, ('vgib-paper',), 'seconds')} s",
            f"attention {cell('table2', times, ('att05',), 'seconds')} s",
            f"{cell('table2', times, ('vgib-paper',), 'paper, seconds')} s;"
            f" attention {cell('table2', times, ('att05',), 'paper, seconds')} s",
            "vgib run table2",
        ),
        Claim(
            "`fidelity-gate`, trained on what is measured, is not behind integrated gradients:"
            " in how many places its Fidelity+ is better / tied / worse",
            cell("table3", against, ("ig",), "Fidelity+"),
            f"against random atoms {cell('table3', against, ('random',), 'Fidelity+')}",
            "",
            "vgib run table3",
        ),
        Claim(
            "The paper's form does not gain accuracy: its own less the plain network's",
            cell("table4", summary, ("vgib-paper",), "gain"),
            f"predicting from the whole graph {whole}",
            cell("table4", summary, ("vgib-paper",), "the paper's gain"),
            "vgib run table4",
        ),
    ]


def speeds() -> list[Claim]:
    """How fast it is, each measured in one run."""
    train, explain, recognize = map(benchmark, ("train.json", "explain.json", "recognize.json"))
    return [
        Claim(
            "Training is this many times as fast as the published loop over graphs, batch 32",
            f"{train['loop_32']:.1f}",
            f"as idiomatic PyG {train['pyg_32']:.1f}",
            "",
            "python -m benchmarks.train",
        ),
        Claim(
            "GNNExplainer in batches is this many times as fast as PyG's, graph by graph",
            f"{explain['gnnexplainer_batched_times_faster']:.0f}",
            "1, the same masks",
            "",
            "python -m benchmarks.explain",
        ),
        Claim(
            "Molecules a second on one core: prediction, atom scores and the best part",
            f"{recognize['part_per_second']:,.0f}",
            f"RDKit's parsing alone {recognize['rdkit_parsing_per_second']:,.0f}",
            "",
            "python -m benchmarks.recognize",
        ),
    ]


PARTS: tuple[Callable[[], list[Claim]], ...] = (known_answers, paper_tables, speeds)


def claims() -> str:
    """The table of all claims that have records."""
    rows = ["| claim | ours | control | published | command |", "| --- | --- | --- | --- | --- |"]
    found = (claim for part in PARTS for claim in part())
    return "\n".join([*rows, *(each.row() for each in found if each.ours not in MISSING)])
