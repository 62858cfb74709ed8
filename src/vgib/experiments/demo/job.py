"""The demonstration: a small training, judged with controls, and what the shipped models say.

(a) BA-2Motifs: the subgraph that decides is known, so that the scores can be checked.
(b) Textbook mutagens: the part that the shipped model finds, beside the known toxicophore.
(c) The same drugs seen by every model that ships: a page each, with gallery and ledger.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from vgib.chem.draw import draw
from vgib.data.files import ensure_writable, write_text
from vgib.data.packed import PackedGraphs
from vgib.data.splits import random_split
from vgib.data.synthetic import generate_ba2motifs
from vgib.experiments.panel.score import PanelAnswer, judge_panel, summary
from vgib.metrics import in_words
from vgib.model.recognizer import SubgraphRecognizer
from vgib.model.results import Recognition
from vgib.model.shipped import cards
from vgib.page.graphs import draw_graph
from vgib.page.html import figure, gallery, list_of, page, paragraph, section, table
from vgib.select.policy import Selection
from vgib.stream.run import Writing, recognize_source
from vgib.stream.work import Recognize

Bar = Callable[[int, str], AbstractContextManager[Callable[[dict[str, float]], None]]]
Say = Callable[[str], None]

MOTIF_GRAPHS = 1000
MOTIF_EPOCHS = 40
SHOWN_MUTAGENS = 30
SHOWN_GRAPHS = 6
SHIPPED_PARTS = 2


@dataclass(frozen=True)
class Demo:
    """What was measured, and where the pages are: the report, and one for each shipped model."""

    motifs: dict[str, Any]
    mutagens: dict[str, Any]
    report: Path
    pages: tuple[Path, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        pages = [str(page) for page in self.pages]
        found = {"motifs": self.motifs, "mutagens": self.mutagens}
        return found | {"report": str(self.report), "pages": pages}


def run_demo(out: Path, *, bar: Bar, say: Say, seed: int = 0) -> Demo:
    """Trains a model, asks the shipped ones, and writes ``out/report.html`` and its pages."""
    ensure_writable(out)
    motifs, motif_section = recognize_motifs(bar, say, seed)
    mutagens, mutagen_section = find_toxicophores(say)
    pages, shipped_section = ask_shipped_models(out, say)
    report = out / "report.html"
    write_text(
        report,
        page(
            "Subgraph recognition, demonstrated",
            "The variational graph information bottleneck scores every node, keeps the few that "
            "carry the property and drowns the rest in noise. The outline marks the recognized "
            "subgraph. In the first section darker means a higher score; on molecules colors say "
            "what raises the prediction and what lowers it.",
            [motif_section, mutagen_section, shipped_section],
        ),
    )
    return Demo(motifs, mutagens, report, pages)


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


def find_toxicophores(say: Say) -> tuple[dict[str, Any], str]:
    """(b) Textbook mutagens: is the part that the shipped model finds the known alert?"""
    judged = judge_panel("mutagen")
    told = summary("mutagen", judged)
    say("Textbook mutagens, by the shipped model:")
    say(f"  known alert inside the part found       {told['hits']} of {told['molecules']}")
    say(f"  random parts of the same sizes          {told['hits by chance']}")
    say(f"  mean share of the atoms in the part     {told['kept share']:.2f}")
    model = SubgraphRecognizer.load("mutagenicity")
    found = model.recognize([one.entry.smiles for one in judged], effects=True)
    unit = model.answer(["C"]).effect_unit
    pictures = [
        _mutagen_picture(one, shown, unit)
        for one, shown in zip(judged[:SHOWN_MUTAGENS], found, strict=False)
    ]
    text = paragraph(
        f"Thirty mutagens whose toxicophore textbooks name. For {told['hits']} of them the part "
        "that the model answers with when nothing else is asked holds the whole toxicophore, "
        f"at {told['kept share']:.0%} of the atoms; random parts of the same sizes hold it "
        f"{told['hits by chance']} times. Most of these molecules were in the training set, with "
        "their label; nobody marked the part. Orange raises the odds of a mutagen, blue lowers "
        "them; the outline is the part."
    )
    quality = _quality_of_parts(model.card_.metrics)
    return dict(told), section("Textbook mutagens", text, *quality, gallery(pictures))


def _mutagen_picture(one: PanelAnswer, shown: Recognition, unit: str) -> str:
    """A molecule of the panel with the part that was found, and whether that is the known one."""
    lines = [f"{'Found' if one.is_hit else 'Missed'}: {one.entry.part}"]
    if one.part:
        lines.append(f"{one.kept:.0%} of the atoms")
    if one.why_none:
        lines.append(f"{'why this part' if one.part else 'no part'}: {one.why_none}")
    svg = draw(one.entry.smiles, selected=one.part, effects=shown.effects, unit=unit)
    title = f"{one.entry.name}: {one.statement}"
    return figure(svg, title, *lines, code=one.smiles or None)


def _quality_of_parts(quality: dict[str, Any]) -> list[str]:
    """A paragraph on how good parts are on held-out mutagens, where the model's card says so."""
    if (overlap := quality.get("iou_all_members")) is None:
        return []
    return [
        paragraph(
            f"On {overlap['n']} held-out mutagens with a marked nitro or amino group, the "
            f"overlap (IoU) of the part with the marks is {overlap['value']:.2f}; of random "
            f"parts {quality['control_random_iou']['value']:.2f}. A part holds the ring too that "
            "such a group sits on, which is not marked."
        )
    ]


def ask_shipped_models(out: Path, say: Say) -> tuple[tuple[Path, ...], str]:
    """(c) The drugs as every shipped model sees them, a page each."""
    say("The drugs as the shipped models see them:")
    pages = []
    links = []
    for name, card in cards().items():
        page_file = out / "recognized" / f"{name}.html"
        with as_file(files("vgib.data") / "drugs.csv") as source:
            work = Recognize(name, Selection(n=SHIPPED_PARTS))
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


def _line(name: str, estimate: dict[str, Any]) -> str:
    return f"  {name:40s}{estimate['value']:6.3f}   [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _table(found: dict[str, Any]) -> str:
    rows = [
        (
            in_words(name),
            f"{value['value']:.3f}",
            f"{value['low']:.3f} to {value['high']:.3f}",
        )
        for name, value in found.items()
    ]
    controls = [place for place, name in enumerate(found) if name.startswith("control_")]
    return table(("measured on held-out graphs", "value", "95 % interval"), rows, controls)
