"""The demonstration: two small trainings, judged with controls, and what the shipped models say.

(a) BA-2Motifs: the subgraph that decides is known, so that the scores can be checked.
(b) Well-known drugs: the halves of held-out drugs that carry their drug-likeness, by name.
(c) The same drugs seen by every model that ships: a page each, with gallery and ledger.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from vgib import metrics
from vgib.chem.blocks import blocks_of
from vgib.chem.draw import draw
from vgib.chem.fragment import fragment
from vgib.chem.properties import qed
from vgib.data.files import ensure_writable, write_text
from vgib.data.molecules import from_smiles, load_drugs
from vgib.data.packed import PackedGraphs
from vgib.data.splits import random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.results import Recognition
from vgib.model.shipped import cards
from vgib.page.graphs import draw_graph
from vgib.page.html import figure, gallery, list_of, page, paragraph, section, table
from vgib.select.policy import Selection
from vgib.select.random import random_ring_intact
from vgib.stream.run import Writing, recognize_source
from vgib.stream.work import Recognize

Array = npt.NDArray[Any]
Bar = Callable[[int, str], AbstractContextManager[Callable[[dict[str, float]], None]]]
Say = Callable[[str], None]

MOTIF_GRAPHS = 1000
MOTIF_EPOCHS = 40
DRUG_EPOCHS = 60
FRAGMENTS_EACH = 16
KEEP_RATIO = 0.5
SHOWN_DRUGS = 12
SHOWN_GRAPHS = 6
SHIPPED_PARTS = 2
SHIPPED_SHARE = 0.4


@dataclass(frozen=True)
class Demo:
    """What was measured, and where the pages are: the report, and one for each shipped model."""

    motifs: dict[str, Any]
    drugs: dict[str, Any]
    report: Path
    pages: tuple[Path, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        pages = [str(page) for page in self.pages]
        found = {"motifs": self.motifs, "drugs": self.drugs}
        return found | {"report": str(self.report), "pages": pages}


def run_demo(out: Path, *, bar: Bar, say: Say, seed: int = 0) -> Demo:
    """Trains both models, asks the shipped ones, and writes ``out/report.html`` and its pages."""
    ensure_writable(out)
    motifs, motif_section = recognize_motifs(bar, say, seed)
    drugs, drug_section = recognize_drugs(bar, say, seed)
    pages, shipped_section = ask_shipped_models(out, say)
    report = out / "report.html"
    write_text(
        report,
        page(
            "Subgraph recognition, demonstrated",
            "The variational graph information bottleneck scores every node, keeps the few that "
            "carry the property and drowns the rest in noise. Darker means a higher score; the "
            "outline marks the recognized subgraph.",
            [motif_section, drug_section, shipped_section],
        ),
    )
    return Demo(motifs, drugs, report, pages)


def recognize_motifs(bar: Bar, say: Say, seed: int) -> tuple[dict[str, Any], str]:
    """(a) A random tree with a five-cycle or a house on it: which one decides the class."""
    graphs = generate_ba2motifs(MOTIF_GRAPHS, seed=seed)
    split = random_split(len(graphs), (0.8, 0.1, 0.1), seed=seed)
    model = SubgraphRecognizer("gin", "vgib", epochs=MOTIF_EPOCHS, seed=seed)
    with bar(MOTIF_EPOCHS, "BA-2Motifs") as on_epoch:
        model.fit(graphs[split.train], val=graphs[split.val], on_epoch=on_epoch)
    test = graphs[split.test]
    found = model.evaluate(test, seed=seed)
    say(f"BA-2Motifs, {len(test)} held-out graphs of 25 nodes, 5 of them the motif:")
    say(_line("accuracy", found["accuracy"]))
    say(_line("node AUC against the known motif", found["node_auc"]))
    say(_line("  random scores", found["control_random_node_auc"]))
    say(_line("kept share", found["kept_share"]))
    say(_line("same class from the kept part alone", found["subgraph_same_class"]))
    say(_line("  random part of the same size", found["control_random_subgraph_same_class"]))
    pictures = [
        figure(
            _motif_picture(test, number, recognition),
            "house" if recognition.prediction else "five-cycle",
            f"recognized nodes {_listed(recognition.subgraphs[0].nodes)}; the motif is 20 to 24",
        )
        for number, recognition in enumerate(model.recognize(test[:SHOWN_GRAPHS], keep_ratio=0.2))
    ]
    text = paragraph(
        f"A model of three GIN layers, trained on {len(split.train)} generated graphs whose class "
        "is decided by the motif that hangs on a random tree. Nobody told it where the motif is. "
        "The gray rows are controls: the commonest class, random scores, random connected parts of "
        "the same size."
    )
    return found, section("A known answer: BA-2Motifs", text, _table(found), gallery(pictures))


def _motif_picture(graphs: PackedGraphs, number: int, recognition: Recognition) -> str:
    edges = graphs.to_data(number).edge_index.t().tolist()
    return draw_graph(
        [(a, b) for a, b in edges], recognition.scores, recognition.subgraphs[0].nodes, seed=number
    )


def recognize_drugs(bar: Bar, say: Say, seed: int) -> tuple[dict[str, Any], str]:
    """(b) Which half of a drug is as drug-like as the whole."""
    drugs = load_drugs()
    split = random_split(len(drugs), (0.75, 0.1, 0.15), seed=seed)
    fitted = {
        name: with_fragments(drugs.iloc[index], seed=seed + place)
        for place, (name, index) in enumerate((("train", split.train), ("val", split.val)))
    }
    # QED does not grow with the molecule, hence the mean; beta is the largest of 0.001 to 0.3 that
    # does not lower R squared on the validation drugs.
    model = SubgraphRecognizer(
        "gin", "vgib", readout="mean", beta=0.1, epochs=DRUG_EPOCHS, seed=seed
    )
    with bar(DRUG_EPOCHS, "drugs") as on_epoch:
        model.fit(fitted["train"], val=fitted["val"], on_epoch=on_epoch)
    held_out = drugs.iloc[split.test]
    smiles = held_out["smiles"].tolist()
    test = from_smiles(smiles, qed(smiles)).graphs
    found = model.evaluate(test, seed=seed)
    recognitions = model.recognize(test, keep_ratio=KEEP_RATIO, by="prediction")
    found |= divergences(test, recognitions, seed)
    ours, control = found["divergence"], found["control_random_divergence"]
    say(f"Drugs, {len(test)} held out by name (trained on {len(split.train)} and their fragments):")
    say(_line("R squared of the predicted QED", found["r_squared"]))
    say(_line("kept share", found["half_share"]))
    say(_line("QED divergence of the recognized half", ours))
    say(_line("  random ring-intact half", control))
    verdict = _verdict(found["divergence_gain"])
    say(verdict)
    pictures = [
        figure(
            draw(recognition.name or "", recognition.scores, recognition.subgraphs[0].nodes),
            str(name),
            f"QED {value:.2f}, predicted {recognition.prediction:.2f}; "
            f"the outlined {recognition.subgraphs[0].keep_ratio:.0%} has {part:.2f}",
            code=recognition.subgraphs[0].smiles,
        )
        for name, value, part, recognition in list(
            zip(
                held_out["name"],
                qed(smiles),
                qed([_capped(r) for r in recognitions]),
                recognitions,
                strict=True,
            )
        )[:SHOWN_DRUGS]
    ]
    pieces = len(fitted["train"]) - len(split.train)
    text = paragraph(
        f"{len(split.train)} drugs and {pieces} of their fragments "
        "with RDKit's QED are a small training set: read the pictures as an illustration, not as "
        "medicinal chemistry. Among the halves that cut no ring and no multiple bond, the model "
        f"takes the one whose predicted QED is nearest to the drug's; RDKit judges it. {verdict}"
    )
    return found, section(
        "Held-out drugs: the half that carries the drug-likeness",
        text,
        _table(found),
        gallery(pictures),
    )


def ask_shipped_models(out: Path, say: Say) -> tuple[tuple[Path, ...], str]:
    """(c) The drugs as every shipped model sees them, a page each."""
    say("The drugs as the shipped models see them:")
    pages = []
    links = []
    for name, card in cards().items():
        page_file = out / "recognized" / f"{name}.html"
        with as_file(files("vgib.data") / "drugs.csv") as source:
            work = Recognize(name, Selection(SHIPPED_SHARE, n=SHIPPED_PARTS))
            tally = recognize_source(source, work, Writing((page_file,)))
        say(f"  {card.summary:52s} {tally.recognized} drugs, {page_file}")
        pages.append(page_file)
        links.append((f"recognized/{name}.html", card.summary or name))
    text = paragraph(
        "The models that come with the package, three seeds each, on all embedded drugs: "
        "predictions with their spread, atom scores, the parts that carry the prediction, how "
        "stable that choice is, and the fragments that recur. The same for your own file: "
        "vgib recognize FILE --model NAME --out page.html"
    )
    return tuple(pages), section("The drugs as the shipped models see them", text, list_of(links))


def with_fragments(drugs: pd.DataFrame, *, seed: int) -> PackedGraphs:
    """The drugs and random ring-intact fragments of theirs, labeled by RDKit."""
    whole = from_smiles(drugs["smiles"].tolist()).graphs
    blocks = blocks_of(whole, whole.x, whole.edge_attr)
    rng = np.random.default_rng(seed)
    found = dict.fromkeys(drugs["smiles"])
    for _ in range(FRAGMENTS_EACH):
        shares = rng.uniform(0.25, 0.9, len(whole))
        sizes = np.maximum(1, (shares * whole.sizes.numpy()).astype(np.int64))
        mask = random_ring_intact(whole, blocks, sizes, rng)
        for name, part in zip(whole.ids or (), _split(mask, whole), strict=True):
            piece = fragment(name, np.flatnonzero(part))
            if piece.valid:
                found[piece.capped_smiles] = None
    smiles = list(found)
    return from_smiles(smiles, qed(smiles)).graphs


def divergences(
    graphs: PackedGraphs, recognitions: list[Recognition], seed: int
) -> dict[str, dict[str, Any]]:
    """|QED(drug) - QED(half)| of the recognized halves and of random ones of the same sizes."""
    sizes = np.array([len(r.subgraphs[0].nodes) for r in recognitions])
    names = graphs.ids or ()
    whole = qed(names)
    found = np.abs(qed([_capped(r) for r in recognitions]) - whole)
    rng = np.random.default_rng(seed)
    blocks = blocks_of(graphs, graphs.x, graphs.edge_attr)
    draws = []
    for _ in range(20):
        masks = _split(random_ring_intact(graphs, blocks, sizes, rng), graphs)
        pieces = [
            fragment(name, np.flatnonzero(mask)).capped_smiles
            for name, mask in zip(names, masks, strict=True)
        ]
        draws.append(np.abs(qed(pieces) - whole))
    random = np.nanmean(draws, axis=0)
    estimates = {
        "divergence": metrics.mean(found),
        "control_random_divergence": metrics.mean(random),
        "divergence_gain": metrics.mean(random - found),
        "half_share": metrics.mean(sizes / graphs.sizes.numpy()),
    }
    return {name: estimate.to_json() for name, estimate in estimates.items()}


def _capped(recognition: Recognition) -> str:
    return fragment(recognition.name or "", recognition.subgraphs[0].nodes).capped_smiles


def _split(mask: Array, graphs: PackedGraphs) -> list[Array]:
    return np.split(mask, graphs.node_ptr.numpy()[1:-1])


def _verdict(gain: dict[str, float]) -> str:
    if gain["low"] > 0:
        return "The recognized halves are better than random ones, beyond the 95 % interval."
    if gain["high"] < 0:
        return "The recognized halves are worse than random ones, beyond the 95 % interval."
    return "Recognized and random halves cannot be told apart on so few drugs."


def _line(name: str, estimate: dict[str, Any]) -> str:
    return f"  {name:40s}{estimate['value']:6.3f}   [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _table(found: dict[str, Any]) -> str:
    rows = [
        (
            name.removeprefix("control_").replace("_", " "),
            f"{value['value']:.3f}",
            f"{value['low']:.3f} to {value['high']:.3f}",
        )
        for name, value in found.items()
    ]
    controls = [place for place, name in enumerate(found) if name.startswith("control_")]
    return table(("measured on held-out graphs", "value", "95 % interval"), rows, controls)
