"""The demonstration at toy size: its numbers, its sentence and its page."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem

from vgib.data.molecules import load_drugs
from vgib.errors import UnwritableError
from vgib.experiments.demo import job as demo
from vgib.experiments.demo.job import Demo, run_demo
from vgib.model import shipped as zoo

pytestmark = pytest.mark.xdist_group("demo")  # which runs once

VOID = {"meta", "br"}
DRUGS = load_drugs().head(24)


@contextmanager
def no_bar(epochs: int, title: str) -> Iterator[Any]:
    yield lambda epoch: None


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Demo, str, list[str]]:
    """The result, its page and what was said."""
    sizes = {"MOTIF_GRAPHS": 60, "MOTIF_EPOCHS": 2}
    said: list[str] = []
    place = tmp_path_factory.mktemp("drugs")
    DRUGS.to_csv(place / "drugs.csv", index=False)  # all of them take long
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "files", {"vgib.data": place}.__getitem__)
        for name, value in (sizes | {"SHOWN_MUTAGENS": 3, "SHOWN_GRAPHS": 2}).items():
            patch.setattr(demo, name, value)
        found = run_demo(tmp_path_factory.mktemp("demo"), bar=no_bar, say=said.append, seed=1)
    return found, found.report.read_text(encoding="utf-8"), said


def test_it_measures_both_parts_with_their_controls(toy: tuple[Demo, str, list[str]]) -> None:
    found = toy[0]
    assert {"accuracy", "node_auc", "kept_share", "control_random_node_auc"} < set(found.motifs)
    assert {"hits", "hits by chance", "kept share", "molecules"} < set(found.mutagens)
    record = json.loads(json.dumps(found.to_json()))
    assert record["report"].endswith("report.html")
    assert record["mutagens"]["molecules"] == 30


def test_it_says_what_it_measured(toy: tuple[Demo, str, list[str]]) -> None:
    found, text, said = toy
    joined = "\n".join(said)
    assert f"{found.motifs['accuracy']['value']:.3f}" in joined
    assert f"{found.mutagens['hits']} of 30" in joined
    assert f"For {found.mutagens['hits']} of them" in text


class Balance(HTMLParser):
    """Fails where tags are not closed in order; remembers what the page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.references: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.references += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(toy: tuple[Demo, str, list[str]]) -> None:
    text = toy[1]
    reader = Balance(text)
    assert reader.open == []
    pages = [page.relative_to(toy[0].report.parent).as_posix() for page in toy[0].pages]
    assert reader.references == pages and len(pages) == len(zoo.names())
    assert not reader.names & {"script", "link", "img", "iframe", "object"}
    without_namespaces = re.sub(r"xmlns(:\w+)?=['\"][^'\"]*['\"]", "", text)
    assert not re.search(r"https?://|@import|url\((?!#)", without_namespaces)
    assert "nan" not in re.sub(r"<[^>]*>", " ", text).lower().split()


def test_every_shipped_model_has_its_page(toy: tuple[Demo, str, list[str]]) -> None:
    for name, page in zip(zoo.names(), toy[0].pages, strict=True):
        text = page.read_text(encoding="utf-8")
        assert f"{len(DRUGS)} molecules" in text and zoo.cards()[name].summary in text
        assert '"id":"aspirin"' in text and '"stability"' in text
    assert sorted(toy[0].pages[0].parent.iterdir()) == sorted(toy[0].pages)  # and nothing else


def test_every_picture_is_well_formed(toy: tuple[Demo, str, list[str]]) -> None:
    pictures = re.findall(r"<svg.*?</svg>", toy[1], flags=re.DOTALL)
    assert len(pictures) == 5
    assert all(ET.fromstring(picture).tag.endswith("svg") for picture in pictures)
    assert "<?xml" not in toy[1]  # no prologue in the middle of a page


def test_the_shown_fragments_are_molecules(toy: tuple[Demo, str, list[str]]) -> None:
    shown = re.findall(r"<code>(.*?)</code>", toy[1])
    assert 1 <= len(shown) <= 3
    assert all(Chem.MolFromSmiles(smiles) is not None for smiles in shown)


def test_a_place_that_cannot_be_written_is_found_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableError):
        run_demo(tmp_path / "file", bar=no_bar, say=lambda text: pytest.fail(text))
